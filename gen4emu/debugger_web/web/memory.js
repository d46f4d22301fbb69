// Screen 5: memory after the current draw: as dwords or floats, as a state block, or as a picture.
import { add, button, hex } from "../dom.js";
import { PictureView } from "../picture.js";

const KINDS = ["dwords", "floats", "struct", "picture"];
const ROW_BYTES = 32, PAGE_BYTES = 1024, LAST_PAGE = 2 ** 48 - PAGE_BYTES;

export class MemoryPane {
  constructor(parent, app) {
    this.app = app;
    this.kind = "dwords";
    this.isFresh = true;  // no address was chosen
    this.bar = add(parent, "div", undefined, "bar");
    this.fields = {};
    this.note = add(parent, "p", "", "faint note");
    this.origin = add(parent, "p", "", "faint note");
    this.text = add(parent, "div", undefined, "scroll dump");
    this.picture = new PictureView(parent);
    this.picture.box.hidden = true;
    this.inputs();
  }

  field(parent, name, value, width, list) {
    const label = add(parent, "label", `${name} `);
    const input = add(label, "input");
    input.defaultValue = input.value = value;
    input.style.width = `${width}px`;
    input.spellcheck = false;
    if (list) input.setAttribute("list", list);
    input.addEventListener("change", () => { this.isFresh = false; this.show(); });
    this.fields[name] = input;
  }

  inputs() {
    const { bar } = this;
    this.field(bar, "address", "0x00000000", 126);
    button(bar, "◀", () => this.move(-PAGE_BYTES)).title = "1 KiB back";
    button(bar, "▶", () => this.move(PAGE_BYTES)).title = "1 KiB forward";
    this.tabs = KINDS.map(kind => button(bar, kind, () => { this.kind = kind; this.show(); }, kind === this.kind));
    this.block = add(bar, "span", undefined, "options");
    this.field(this.block, "block", "SURFACE_STATE", 220, "blocks");
    this.names = add(this.block, "datalist");
    this.names.id = "blocks";
    this.image = add(bar, "span", undefined, "options");
    for (const [name, value, width] of [["format", "B8G8R8A8_UNORM", 160], ["width", "256", 56], ["height", "256", 56],
      ["pitch", "1024", 64], ["tiling", "x", 56]]) this.field(this.image, name, value, width);
  }

  inputsOf(kind) {
    return ["address", ...kind === "struct" ? ["block"] : kind === "picture" ? ["format", "width", "height", "pitch", "tiling"] : []];
  }

  value(name) { return this.fields[name].value.trim(); }

  look(address) {
    this.fields.address.value = hex(address);
    this.isFresh = false;
    this.show();
  }

  // Begin with a surface that the draw has written, or with any other.
  async begin() {
    const { draw } = this.app, known = this.surfaces = await this.app.source.surfaces();
    const one = known.find(s => s.width && s.writers.includes(draw)) ?? known.find(s => s.width) ?? known[0];
    if (!this.isFresh || !one) return;
    this.fields.address.value = hex(one.address);
    for (const name of ["format", "width", "height", "pitch", "tiling"]) if (one[name]) this.fields[name].value = one[name];
  }

  // The blocks of this device, of which later ones have other names.
  async nameBlocks() {
    const { names } = await this.app.link.ask(`struct ${this.app.numberOf(this.app.draw)}`).catch(() => ({ names: [] })), { block } = this.fields;
    for (const name of names) add(this.names, "option").value = name;
    if (block.value === block.defaultValue && names.length && !names.includes(block.value))
      block.value = names.find(name => name.endsWith(block.value)) ?? names[0];
  }

  move(by) {
    const address = Math.max(0, Math.min(LAST_PAGE, (Number(this.value("address")) || 0) + by));
    this.fields.address.value = hex(address);
    this.show();
  }

  async show() {
    const { kind, app: { link, rows } } = this, draw = this.app.numberOf(this.app.draw);
    KINDS.forEach((one, i) => this.tabs[i].setAttribute("aria-pressed", String(one === kind)));
    this.block.hidden = kind !== "struct";
    this.image.hidden = kind !== "picture";
    this.picture.box.hidden = kind !== "picture";
    this.text.hidden = kind === "picture";
    if (!rows.count) { this.note.textContent = "This trace has no draws."; return; }
    if (this.isFresh) await this.begin();
    this.isFresh = false;
    if (kind === "struct" && !this.names.childElementCount) await this.nameBlocks();
    const at = this.value("address"), empty = this.inputsOf(kind).find(name => !/^\S+$/.test(this.value(name)));
    if (empty) { this.note.textContent = `${empty}: ${this.value(empty) ? "expected one word" : "missing"}`; return; }
    const command = kind === "struct" ? `struct ${this.value("block")} ${at} ${draw}` : kind === "picture"
      ? `image ${at} ${["format", "width", "height", "pitch", "tiling"].map(name => this.value(name)).join(" ")} ${draw}`
      : `memory ${at} ${PAGE_BYTES} ${draw}`;
    this.wanted = command;
    this.origin.textContent = "";
    let found;
    try {
      found = await (kind === "picture" ? link.picture(command) : link.ask(command));
    } catch (error) {
      if (this.wanted !== command) return;
      this.note.textContent = error.message;
      this.text.replaceChildren();
      this.picture.show(null);
      return;
    }
    if (this.wanted !== command) return;  // the user has moved on
    this.note.textContent = `after draw ${draw}${this.writers(found.address)}`;
    if (kind === "picture") { this.note.textContent = `after draw ${draw}: ${found.title}`; this.picture.show(found); }
    else if (kind === "struct") this.struct(found);
    else this.dump(found);
  }

  // The surface that holds an address: who wrote it last, who writes and reads it next.
  writers(address) {
    if (!this.surfaces) { this.app.source.surfaces().then(found => { this.surfaces = found; this.show(); }); return ""; }
    const { draw } = this.app, size = one => Math.max(1, (one.pitch || 0) * one.height);
    const known = this.surfaces.filter(one => one.address <= address && address < one.address + size(one)).pop();
    if (!known) return "";
    const last = known.writers.filter(one => one <= draw).pop(), next = known.writers.find(one => one > draw);
    const reader = known.readers.find(one => one > draw), named = row => `by draw ${this.app.numberOf(row)}`;
    const written = last === undefined ? "not written by a draw yet" : `last written ${named(last)}`;
    const then = [...next === undefined ? [] : [`next written ${named(next)}`], ...reader === undefined ? [] : [`next read ${named(reader)}`]];
    return `: in ${known.kind} ${hex(known.address)}, ${written}; ${then.join(", ") || "no later draw writes or reads it"}`;
  }

  // The draw or upload that changed a dword last.
  async from(address) {
    const { link } = this.app, draw = this.app.numberOf(this.app.draw);
    this.origin.textContent = `${hex(address)}: looking for its origin ...`;
    const found = await link.ask(`change ${hex(address)} 4 ${draw}`).catch(error => ({ text: error.message }));
    this.origin.textContent = `${hex(address)}: ${found.text}`;
  }

  dump({ address, bytes }) {
    this.text.replaceChildren();
    const view = new DataView(bytes.slice().buffer);
    for (let row = 0; row < bytes.length; row += ROW_BYTES) {
      const texts = [];
      for (let i = row; i + 4 <= Math.min(bytes.length, row + ROW_BYTES); i += 4) {
        const word = view.getUint32(i, true), number = view.getFloat32(i, true);
        texts.push(this.kind === "dwords" ? word.toString(16).padStart(8, "0")
          : (Number.isFinite(number) ? String(Number(number.toPrecision(6))) : String(number)).padStart(12));
      }
      const line = add(this.text, "div");
      add(line, "span", `${hex(address + row)} `, "faint");
      texts.forEach((text, i) => {
        add(line, "span", " ");
        const cell = add(line, "span", text, "dword");
        cell.title = "click: the draw or upload that wrote it";
        cell.addEventListener("click", () => this.from(address + row + 4 * i));
      });
      const letters = [...bytes.subarray(row, row + ROW_BYTES)].map(n => n > 31 && n < 127 ? String.fromCharCode(n) : "·").join("");
      add(line, "span", `  ${letters}`, "faint");
    }
  }

  struct({ name, address, bytes: size, fields }) {
    this.text.replaceChildren();
    add(this.text, "h2", `${name} at ${hex(address)}, ${size} bytes`);
    const table = add(add(this.text, "table", undefined, "facts"), "tbody");
    for (const [field, text, raw] of fields) {
      const line = add(table, "tr");
      add(line, "td", field);
      const cell = add(line, "td", text);
      add(cell, "span", text === String(raw) ? "" : ` (${raw})`, "faint");
    }
  }
}
