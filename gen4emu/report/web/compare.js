// Screen 8: two executions: all draws in pairs, and what differs in each pair.
import { add, button, fieldName, link, plural, short, SIDES, table, whole } from "./dom.js";
import { compile } from "./filter.js";
import { VirtualList } from "./list.js";
import { MODES, PairView } from "./pair.js";
import { thumbnail } from "./thumbnail.js";

const PAIR_HEIGHT = 44;
const SIGNS = [["only-left", "−", "only on the left"], ["only-right", "+", "only on the right"],
  ["picture", "≠", "other pixels"], ["state", "~", "other state, the same pixels"],
  ["counters", "~", "other counters, the same pixels"], ["equal", "=", "equal"]];

export class ComparePane {
  constructor(parent, app) {
    this.app = app;
    this.mode = MODES[0];
    this.order = [];
    this.about = app.source.overview.comparison;
    this.top(add(parent, "div", "", "first"));
    this.bar = add(parent, "div", "", "bar");
    const rest = add(parent, "div", "", "split pairwise");
    const left = add(rest, "div", "", "middle");
    const head = add(left, "div", "", "row head");
    for (const [kind, text] of [["mark", ""], ["which number", "left"], ["which number", "right"], ["thumbs", ""], ["name", "draw"],
      ["pixels number", "pixels"]]) add(head, "span", text, "cell " + kind);
    this.list = new VirtualList(left, PAIR_HEIGHT, (row, i) => this.fill(row, this.order[i]), i => app.go({ pane: "compare", pair: this.order[i] }));
    const right = add(rest, "div", "", "middle");
    this.title = add(right, "div", "", "bar");
    this.modes = add(right, "div", "", "bar");
    this.note = add(right, "p", "", "faint note");
    this.view = new PairView(right);
    this.tables = add(right, "div", "", "scroll differences");
  }

  // Where the executions part, as `gen4emu bisect` explains it.
  top(box) {
    const { about, app } = this, { finding } = about;
    const line = add(box, "div", "", "bar");
    for (const [i, name] of about.names.entries()) {
      add(line, "b", SIDES[i]);
      add(line, "span", name, "faint");
    }
    for (const text of app.source.overview.left_out) add(line, "span", `left out: ${text}`, "faint");
    const found = add(box, "details");
    const summary = add(found, "summary");
    if (about.first === null) { add(summary, "b", "No draw differs."); return; }
    add(summary, "b", about.first_picture === null ? "First difference: " : "First difference of pixels: ");
    link(summary, `pair ${about.first_picture ?? about.first}`, `pane=compare&pair=${about.first_picture ?? about.first}`);
    add(summary, "span", finding.length ? ` ${finding[0]}` : about.first_picture === null ? " (no pixels differ)" : "");
    const cause = finding.find(text => text.startsWith("cause:"));
    if (cause) add(summary, "span", cause, "cause");
    if (finding.length > 1) add(found, "pre", finding.slice(1).join("\n"));
  }

  load() {
    this.loading ??= this.app.source.pairs().then(rows => {
      this.rows = rows;
      this.controls();
      this.apply();
    });
    return this.loading;
  }

  controls() {
    const { bar, app } = this;
    this.input = add(bar, "input");
    this.input.type = "search";
    this.input.placeholder = "filter (press /): different and pixels>100";
    this.input.spellcheck = false;
    this.input.value = app.place.get("pairs") ?? "";
    this.input.addEventListener("input", () => this.apply());
    this.chips = Object.entries(this.about.marks).map(([mark, count]) => {
      const made = button(bar, `${mark} ${short(count)}`, () => {
        this.input.value = this.input.value === mark ? "" : mark;
        this.apply();
      }, false);
      made.classList.add("chip");
      return [mark, made];
    });
    this.message = add(bar, "span", "", "faint");
  }

  focus() { this.input.focus(); this.input.select(); }

  apply() {
    const { rows, app } = this;
    let test;
    try {
      test = compile(this.input.value, rows, this.about.flags);
    } catch (error) {
      this.message.textContent = error.message;
      this.message.className = "bad";
      return;
    }
    this.order = [];
    for (let pair = 0; pair < rows.count; pair++) if (test(pair)) this.order.push(pair);
    this.message.textContent = `${this.order.length} of ${plural(rows.count, "pair")}`;
    this.message.className = "faint";
    for (const [mark, made] of this.chips) made.setAttribute("aria-pressed", String(this.input.value === mark));
    this.list.reset(this.order.length);
    app.remember({ pairs: this.input.value });
    this.mark();
  }

  get pair() {
    const wanted = this.app.place.get("pair") ?? this.about.first_picture ?? this.about.first ?? 0;
    return Math.max(0, Math.min(this.rows.count - 1, Math.trunc(Number(wanted)) || 0));
  }

  step(by) {
    const at = this.order.indexOf(this.pair);
    const next = this.order[at < 0 ? 0 : Math.max(0, Math.min(this.order.length - 1, at + by))];
    if (next !== undefined) this.app.go({ pane: "compare", pair: next });
  }

  mark() {
    const at = this.order.indexOf(this.pair);
    for (const [index, row] of this.list.shown) row.classList.toggle("current", index === at);
    if (at >= 0) this.list.show(at);
  }

  async show() {
    await this.load();
    if (!this.rows.count) { this.note.textContent = "Neither side has draws."; return; }
    const { pair } = this;
    this.app.number.value = String(pair);
    this.mark();
    const found = await this.app.source.differences(pair);
    if (pair !== this.pair) return;
    this.heading(pair);
    this.differences(pair, found);
    await this.pictures(pair, found);
  }

  fill(row, pair) {
    const { rows, app } = this, marks = rows.flags[pair];
    const [kind, sign, text] = SIGNS.find(([mark]) => marks.includes(mark)) ?? SIGNS.at(-1);
    row.classList.add("mark-" + kind);
    row.title = text;
    if (pair === this.pair) row.classList.add("current");
    add(row, "span", sign, "cell mark");
    SIDES.forEach((side, i) => add(row, "span", rows[side][pair] < 0 ? "" : String(this.app.views[i].numberOf(rows[side][pair])), "cell which number"));
    const small = add(row, "span", "", "cell thumbs");
    SIDES.forEach((side, i) => {
      const image = add(small, "i");
      if (rows[side][pair] >= 0) thumbnail(image, app.views[i], rows[side][pair]);
      else image.style.cssText = `width: ${app.views[i].source.overview.thumbs.width}px; visibility: hidden`;
    });
    const name = add(row, "span", this.name(pair), "cell name");
    const also = ["state", "counters"].filter(mark => marks.includes(mark));
    if (also.length) add(name, "div", also.join(", "), "faint");
    add(row, "span", rows.pixels[pair] ? short(rows.pixels[pair]) : "", "cell pixels number");
  }

  name(pair) {
    const { topology, name, vertices, instances } = this.rows;
    if (!topology[pair]) return name[pair];
    return `${topology[pair]} ${vertices[pair]}${instances[pair] > 1 ? ` x ${instances[pair]}` : ""}`;
  }

  heading(pair) {
    const { title, rows } = this;
    title.replaceChildren();
    add(title, "b", `pair ${pair}: ${this.name(pair)}`);
    add(title, "span", `frame ${rows.frame[pair]}`, "faint");
    SIDES.forEach((side, i) => {
      const draw = this.app.views[i].numberOf(rows[side][pair]);
      if (rows[side][pair] < 0) add(title, "span", `no counterpart on the ${side}`, "faint");
      else link(title, `draw ${draw} ${side}`, `draw=${draw}&pane=draw&side=${side}`);
    });
  }

  async pictures(pair, found) {
    const { modes, app } = this;
    modes.replaceChildren();
    const targets = found.targets, index = Math.min(this.target ?? 0, Math.max(0, targets.length - 1)), target = targets[index];
    const again = () => this.pictures(pair, found).catch(error => app.complain(error));
    for (const mode of target?.left ? MODES : []) button(modes, mode, () => { this.mode = mode; again(); }, mode === this.mode);
    targets.forEach((one, i) => {
      if (targets.length > 1) button(modes, one.title.split(" ").slice(0, 2).join(" "), () => { this.target = i; again(); }, i === index);
    });
    if (target?.left) {
      const [left, right] = await Promise.all([app.source.picture(target.left), app.source.picture(target.right)]);
      const mask = target.mask ? await app.source.mask(target.mask) : null;
      if (pair !== this.pair) return;
      const map = this.view.show(left, right, mask, this.mode);
      this.note.textContent = `${target.title}: ${counts(target.pixels)}${map ? `, white is an error of ${map.largest}` : ""}`;
      return;
    }
    await this.substitute(pair, target);
  }

  // The picture of a pair without a difference, or of a draw without a counterpart, if its side has one.
  async substitute(pair, target) {
    const { app, rows } = this;
    const i = rows.left[pair] >= 0 ? 0 : 1, draw = rows[SIDES[i]][pair];
    const source = app.views[i].source, { counters } = await source.details(draw);
    const name = target ? undefined : counters.pictures?.[0]?.after;
    const image = name ? await source.picture(name) : null;
    if (pair !== this.pair) return;
    this.view.show(image, null, null, MODES[0]);
    const text = target ? `${target.title}: ${counts(target.pixels)}` :
      rows.left[pair] < 0 || rows.right[pair] < 0 ? "" : "The pixels of both sides are the same.";
    this.note.textContent = image ? text : `${text} The report holds only thumbnails of this pair.`;
    this.view.first.label.textContent = !image ? "" : rows.right[pair] < 0 ? "left" : rows.left[pair] < 0 ? "right" : "both";
  }

  // Kernels that differ, line by line.
  kernels(kernels) {
    for (const [stage, ...numbers] of kernels) {
      const made = add(this.tables, "details", "", "diff");
      const title = add(made, "summary");
      add(title, "b", `code of ${stage}`);
      SIDES.forEach((side, i) => link(title, `kernel ${numbers[i]} ${side}`, `pane=kernels&kernel=${numbers[i]}&side=${side}`));
      made.addEventListener("toggle", () => {
        if (made.open && !made.querySelector("table, p")) this.lines(made, numbers).catch(error => this.app.complain(error));
      });
    }
  }

  async lines(parent, numbers) {
    const { app } = this, runs = await app.source.kernelDiff(...numbers);
    if (!runs) { add(parent, "p", "This report has no kernels.", "faint"); return; }
    const lines = await Promise.all(app.views.map(async ({ source }, i) =>
      (await source.kernels()).find(kernel => kernel.number === numbers[i]).lines));
    const count = i => runs.reduce((sum, run) => sum + (run[0] ? 0 : run[2 + 2 * i] - run[1 + 2 * i]), 0);
    add(parent, "p", `${count(0)} of ${plural(lines[0].length, "instruction")} differ on the left, ${count(1)} of ${lines[1].length} on the right`, "faint");
    const body = add(add(parent, "table", "", "lines"), "tbody");
    for (const [isSame, ...places] of runs) {
      const parts = lines.map((all, i) => all.slice(places[2 * i], places[2 * i + 1]));
      for (let n = 0; n < Math.max(parts[0].length, parts[1].length); n++) {
        const row = add(body, "tr");
        parts.forEach((part, i) => {
          const line = part[n], kind = isSame ? "" : line ? SIDES[i] : "none";
          add(row, "td", line?.offset.toString(16).padStart(4, "0"), "number faint");
          add(row, "td", line?.text, `text ${kind}`);
        });
      }
    }
  }

  differences(pair, { state, counters, kernels }) {
    const { tables, rows, about } = this;
    tables.replaceChildren();
    if (rows.left[pair] < 0 || rows.right[pair] < 0) {
      add(tables, "p", `Only the ${rows.left[pair] < 0 ? "right" : "left"} execution has this draw.`, "faint");
      return;
    }
    this.kernels(kernels);
    const first = add(tables, "section"), second = add(tables, "section");
    add(first, "h3", `state (${rows.fields[pair]})`);
    if (state.length) table(first, ["", "", ...SIDES], state.map(([block, field, ...values]) => {
      const name = document.createElement("span");
      fieldName(name, field);
      return [block, name, ...values];
    }), "fields");
    else add(first, "p", "No field differs, except for addresses.", "faint");
    if (rows.fields[pair] > about.listed) add(first, "p", `Only the first ${about.listed} are listed.`, "faint");
    add(second, "h3", `counters (${counters.length})`);
    if (counters.length) table(second, ["", ...SIDES], counters.map(([name, ...values]) => [name.replaceAll("_", " "), ...values]), "counts");
    else add(second, "p", "No counter differs.", "faint");
  }
}

function counts(pixels) {
  if (!pixels) return "not comparable pixel by pixel";
  const { count, total, first, values, box } = pixels;
  return `${whole(count)} of ${plural(total, "pixel")} differ, first at ${first.join(",")} (${values.join(" left, ")} right), ` +
    `all within ${box.slice(0, 2).join(",")} to ${box.slice(2).join(",")}`;
}
