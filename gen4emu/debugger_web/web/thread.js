// Screen 4: the stopped thread: its code, its lanes as 2x2 blocks, its registers, steps and breakpoints.
import { add, button, hex } from "../dom.js";

const FORMATS = ["float", "int", "hex", "words", "color"];
const CHANNELS = 16;
const LOOKS = new Set(["thread", "list", "disasm", "regs", "where", "help", "x", "surfaces", "gl", "source"]);  // commands that change nothing

// Breakpoints for the whole trace: the text of a button, its command, and what it means.
const STOPS = [["NaN", "break nan", "the first NaN or infinity that a thread computes"],
  ["denormal", "break denormal", "the first denormal that a thread reads or computes"],
  ["message", "break opcode send", "every message to a shared function"]];

// The eight dwords of a register as texts.
function texts(words, format) {
  const raw = new Uint32Array(words);
  if (format === "float") return [...new Float32Array(raw.buffer)].map(n => Number.isFinite(n) ? String(Number(n.toPrecision(6))) : String(n));
  if (format === "int") return [...new Int32Array(raw.buffer)].map(String);
  if (format === "words") return [...raw].map(n => `${(n >>> 16).toString(16).padStart(4, "0")} ${(n & 0xffff).toString(16).padStart(4, "0")}`);
  return [...raw].map(n => n.toString(16).padStart(8, "0"));
}

// Types of `set` by the format that is shown.
const TYPES = { float: "f", int: "d", hex: "ud" };

// "g4.2", "g4": the value of a lane, eight lanes a register, as a float; of one dword if it is named.
export function watched(text, grf) {
  const found = /^g(\d{1,3})(?:\.(\d))?$/.exec(text.trim());
  if (!found || !grf[found[1]]) return null;
  const floats = new Float32Array(new Uint32Array([...grf[found[1]], ...(grf[Number(found[1]) + 1] ?? [])]).buffer);
  return found[2] === undefined ? [...floats] : [floats[Number(found[2])]];
}

export class ThreadPane {
  constructor(parent, app) {
    this.app = app;
    this.format = "float";
    this.lane = "g2";
    this.watched = [];
    this.executed = null;  // instructions of the thread before the next one; null: not counted
    this.turn = this.shown = 0;  // the last refresh that began, and the one that is shown
    this.bar = add(parent, "div", undefined, "bar");
    this.note = add(parent, "p", "", "faint note");
    const rest = add(parent, "div", undefined, "split thread");
    this.code = add(rest, "div", undefined, "scroll listing");
    const right = add(rest, "div", undefined, "scroll right");
    this.lanes = add(right, "section", undefined, "lanes");
    this.watches = add(right, "section", undefined, "watches");
    this.stops = add(right, "section", undefined, "stops");
    this.registers = add(right, "section", undefined, "registers");
    this.buttons();
  }

  buttons() {
    const { bar } = this;
    this.backwards = button(bar, "◀◀ continue back", () => this.send("reverse-continue"));
    this.backwards.title = "back to the previous stop at a trap or breakpoint";
    this.back = button(bar, "◀ back", () => this.send("reverse-step"));
    this.back.title = "one instruction of the thread back";
    for (const [text, command, title] of [["step ▶", "step", "one instruction"], ["step 10", "step 10", ""],
      ["to its end", "finish", "the instruction that ends the thread"], ["continue", "continue", "to the next stop"],
      ["next draw", "next", ""]]) button(bar, text, () => this.send(command)).title = title;
    for (const format of FORMATS) button(bar, format, () => { this.format = format; this.paint(); }, format === this.format).dataset.format = format;
  }

  // Nothing while the pane goes to a thread: a breakpoint would end that at another one.
  send(command) { return this.isGoing ? Promise.resolve() : this.app.console.run(command).catch(() => {}); }

  show() { return this.refresh(); }

  // A command has been answered: a thread may be somewhere else now.
  stopped(reply, command) {
    if (this.isGoing || LOOKS.has(command.trim().split(/\s+/)[0])) return;
    if (this.app.pane === "thread") this.refresh();
  }

  // To an instruction of the thread, unless it is the next one already.
  async reach(address) {
    const at = hex(address);
    if (!this.currentLine?.textContent.includes(at)) await this.send(`until ${at}`);
  }

  // The thread that drew a fragment, from its start.
  async debug(entry, x, y) {
    const { app: { console } } = this;
    if (this.isGoing) return;
    this.isGoing = true;
    this.state = null;
    this.paint();
    this.note.textContent = "Going to the thread ...";
    try {
      const { items } = await console.answer("list");
      for (const { number, text } of items) if (text.startsWith("pixel ")) await console.run(`delete ${number}`, true);
      const { added } = await console.answer(`trap pixel ${x} ${y} object ${entry.object}`, "answer", false);
      await console.run(`draw ${entry.draw}`);
      const stop = await console.answer("continue", "stop", false);
      await console.run(`delete ${added}`, true);
      if (stop.draw !== entry.draw) throw new Error(`draw ${entry.draw} has no such thread now`);
    } catch (error) {
      this.app.complain(error);
    } finally {
      this.isGoing = false;
    }
    await this.refresh();
  }

  async refresh() {
    if (this.isGoing) return;
    const { console } = this.app;
    const turn = ++this.turn;
    let thread = null, state = null, executed = null, listing = null;
    try {
      ({ thread, state, executed } = await console.answer("thread", "", true, true));
      listing = (await console.answer("disasm all")).lines;
    } catch {
      state = null;  // no thread is stopped
    }
    const items = await console.answer("list").then(found => found.items, () => []);
    if (this.isGoing || turn < this.shown) return;  // a later answer has overtaken this one, or will
    const before = this.before = this.state?.grf ?? null;
    Object.assign(this, { shown: turn, thread, state, executed, items, listing });
    this.changed = new Set();
    if (state && before) state.grf.forEach((words, n) => words.forEach((word, i) => { if (before[n]?.[i] !== word) this.changed.add(`${n}.${i}`); }));
    this.paint();
  }

  paint() {
    const { thread, state } = this;
    for (const made of this.bar.querySelectorAll("[data-format]")) made.setAttribute("aria-pressed", String(made.dataset.format === this.format));
    this.back.disabled = !state || !this.executed;
    this.backwards.disabled = !this.items?.length;
    for (const box of [this.code, this.lanes, this.registers, this.stops]) box.replaceChildren();
    this.breakpoints();
    this.watch();
    if (!state) {
      this.note.textContent = "No thread is stopped. Click a pixel of a draw and choose `debug this`, or set a trap and continue.";
      return;
    }
    const object = thread.object === undefined ? "" : `, object ${thread.object}`;
    const at = this.executed === null ? "" : `, ${this.executed} instruction${this.executed === 1 ? "" : "s"} after its start`;
    this.note.textContent = `${thread.stage} thread ${thread.number}${object}, kernel ${hex(thread.kernel)}, EU ${thread.euid} slot ${thread.tid}${at}`;
    this.lines();
    this.laneBlocks();
    this.registerTable();
  }

  lines() {
    for (const text of this.listing) {
      const line = add(this.code, "div", text, "instruction");
      const address = /^(?:=>|  ) (0x[0-9a-f]{8})/.exec(text)?.[1];
      if (!address) { line.classList.add("label"); continue; }
      line.title = "click: a breakpoint here; double click: run to here";
      line.addEventListener("click", event => { if (event.detail < 2) this.send(`break ip ${address}`); });
      line.addEventListener("dblclick", () => this.send(`until ${address}`));
      if (this.items.some(item => item.text === `ip ${address}`)) line.classList.add("has-stop");
      if (text.startsWith("=>")) { line.classList.add("current"); this.currentLine = line; }
    }
    this.currentLine?.scrollIntoView({ block: "nearest" });
  }

  // Pixels as the 2x2 blocks that they are; other threads as a row of channels.
  laneBlocks() {
    const { state, thread, lanes } = this;
    const enabled = (state.amask & state.imask & state.lmask & state.cmask) >>> 0;
    const head = add(lanes, "h3", "lanes ");
    const input = add(head, "input");
    input.value = this.lane;
    input.title = "the register that the lanes show: g4, g4.2";
    input.addEventListener("change", () => { this.lane = input.value; this.paint(); });
    const values = watched(this.lane, state.grf);
    if (!values) add(head, "span", " expected a register such as g4", "bad");
    const blocks = add(lanes, "div", undefined, "blocks");
    const count = thread.subspans ? thread.subspans.length : state.dmask > 0xffff ? 2 * CHANNELS / 4 : CHANNELS / 4;
    for (let block = 0; block < count; block++) {
      const made = add(blocks, "div", undefined, "block");
      const [x, y] = thread.subspans?.[block] ?? [0, 0];
      for (let i = 0; i < 4; i++) {
        const lane = 4 * block + i, isOn = enabled >> lane & 1;
        const cell = add(made, "div", undefined, isOn ? "lane on" : "lane off");
        add(cell, "b", thread.subspans ? `${x + i % 2},${y + (i >> 1)}` : `lane ${lane}`);
        const value = values?.length === 1 ? values[0] : values?.[lane];
        add(cell, "span", value === undefined ? "" : String(Number(value.toPrecision(6))));
        cell.title = `lane ${lane}, ${isOn ? "enabled" : "disabled"}`;
      }
    }
    add(lanes, "p", `channels ${enabled.toString(16).padStart(4, "0")}, dispatched ${state.dmask.toString(16).padStart(4, "0")}, `
      + `f0.0 ${state.flags[0].toString(16).padStart(4, "0")}, f0.1 ${state.flags[1].toString(16).padStart(4, "0")}`, "faint");
  }

  registerTable() {
    const table = add(add(this.registers, "table", undefined, "grf"), "tbody");
    this.state.grf.forEach((words, number) => {
      const line = add(table, "tr");
      add(line, "td", `g${number}`);
      texts(words, this.format).forEach((text, i) => {
        const cell = this.cell(line, number, i, text, words);
      });
    });
  }

  // A part of a register; a double click changes it.
  cell(line, number, i, text, words) {
    const cell = add(line, "td", text, this.changed.has(`${number}.${i}`) ? "changed" : words[i] ? "" : "faint");
    if (this.format === "color") cell.style.boxShadow = `inset 4px 0 0 #${(words[i] & 0xffffff).toString(16).padStart(6, "0")}`;
    const type = TYPES[this.format];
    if (!type) return;
    cell.title = `g${number}.${i}; double click: change it`;
    cell.addEventListener("dblclick", () => {
      cell.textContent = "";
      const input = add(cell, "input");
      input.value = text;
      input.focus();
      input.addEventListener("change", async () => {
        const value = type === "ud" ? `0x${input.value.replace(/^0x/, "")}` : input.value;
        await this.send(`set g${number}.${i}:${type} ${value.replace(/[^-+.\w]/g, "")}`);
        this.refresh();
      });
      input.addEventListener("blur", () => { cell.textContent = text; });
    });
  }

  // Registers that the user watches, as lanes, with the values of the stop before.
  watch() {
    const { watches } = this;
    watches.replaceChildren();
    add(watches, "h3", "watch");
    this.watched.forEach((text, at) => {
      const values = watched(text, this.state?.grf ?? []), before = this.before && watched(text, this.before);
      const line = add(watches, "div", undefined, "watched");
      button(line, "×", () => { this.watched.splice(at, 1); this.paint(); });
      add(line, "b", ` ${text} `);
      (values ?? []).forEach((value, i) => add(line, "span", ` ${Number(value.toPrecision(6))}`, before && before[i] !== value ? "changed" : ""));
      if (!values) add(line, "span", this.state ? "expected a register: g4, g4.2" : "no thread is stopped", "faint");
    });
    const input = add(watches, "input");
    input.placeholder = "g4, g4.2";
    input.addEventListener("change", () => { if (input.value.trim()) this.watched.push(input.value.trim()); this.paint(); });
  }

  breakpoints() {
    const { stops } = this;
    add(stops, "h3", "traps and breakpoints");
    if (!this.items?.length) add(stops, "p", "none; click a line of code, or use `trap` and `break`", "faint");
    for (const { number, text, hits } of this.items ?? []) {
      const line = add(stops, "div", `${number}: ${text}, ${hits} ${hits === 1 ? "hit" : "hits"} `, "stop");
      button(line, "delete", () => this.send(`delete ${number}`));
    }
    const more = add(stops, "div", "stop at ", "add-stop");
    for (const [text, command, title] of STOPS) button(more, text, () => this.send(command)).title = title;
    const write = add(more, "input");
    write.placeholder = "write to 0x0010e000..0x0010e0ff";
    write.title = "stop at messages that write there";
    write.addEventListener("change", () => { if (write.value.trim()) this.send(`break write ${write.value.trim()}`); });
  }
}
