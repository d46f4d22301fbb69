// The page: its panes, the current draw, keys, and the place in the URL's fragment ("#draw=7&pane=draw").
import { add, button, plural, SIDES } from "./dom.js";
import { DrawPane } from "./draw.js";
import { Events } from "./events.js";
import { KernelsPane } from "./kernel.js";
import { MeshPane } from "./mesh.js";
import { Overview } from "./overview.js";
import { ReportSource } from "./source.js";
import { StatisticsPane } from "./statistics.js";
import { SurfacesPane } from "./surfaces.js";

export const PANES = [["overview", Overview], ["events", Events], ["draw", DrawPane], ["mesh", MeshPane], ["surfaces", SurfacesPane],
  ["kernels", KernelsPane], ["statistics", StatisticsPane]];

export class App {
  // `kinds` are names and classes of panes.
  constructor(source, kinds = PANES) {
    this.source = source;
    this.kinds = kinds;
    this.panes = new Map();
  }

  // Panes see the app through a view, which has the source and the rows of one side of a comparison.
  async start() {
    const { overview } = this.source;
    const sources = overview.sides?.map((side, i) => new ReportSource(side, `${SIDES[i]}-`)) ?? [this.source];
    const rows = await Promise.all(sources.map(source => source.rows()));
    this.views = sources.map((source, i) => Object.create(this, { source: { value: source }, rows: { value: rows[i] } }));
    document.title = `${overview.title}: gen4emu report`;
    if (overview.band) add(document.body, "div", overview.band, "band");
    const head = add(document.body, "header");
    add(head, "h1", overview.title);
    const tabs = add(head, "nav");
    this.tabs = this.kinds.map(([name], i) => {
      const made = button(tabs, name, () => this.go({ pane: name }), false);
      made.title = `key ${i + 1}`;
      return made;
    });
    if (overview.comparison) {
      const box = add(head, "div", "", "steps");
      this.sides = SIDES.map((side, i) => {
        const made = button(box, side, () => this.go({ side, ...(this.pane === "compare" ? { pane: "overview" } : {}) }), false);
        made.title = overview.comparison.names[i];
        return made;
      });
    }
    const steps = add(head, "div", "", "steps");
    button(steps, "◀", () => this.step(-1)).title = "previous draw: k";
    this.number = add(steps, "input");
    this.number.title = "go to a draw: g";
    this.number.inputMode = "numeric";
    this.number.addEventListener("change", () => {
      const wanted = Number(this.number.value) || 0;
      this.go(this.pane === "compare" ? { pair: wanted } : { draw: this.rowOf(wanted) });
    });
    button(steps, "▶", () => this.step(1)).title = "next draw: j";
    this.total = add(steps, "span", "", "faint");
    this.main = add(document.body, "main");
    addEventListener("hashchange", () => this.show());
    document.addEventListener("keydown", event => this.key(event));
    this.show();
  }

  get rows() { return this.view.rows; }

  // Read from the URL at each use: a copy would be old between a click on a link and its "hashchange".
  get place() { return new URLSearchParams(location.hash.slice(1)); }

  get view() { return this.views[Math.max(0, SIDES.indexOf(this.place.get("side"))) % this.views.length]; }

  // A row; the address has its number in the trace.
  get draw() { return this.rowOf(Number(this.place.get("draw") ?? 0) || 0); }

  numberOf(row) { return this.rows.draw?.[row] ?? row; }

  // Or of the last draw before it.
  rowOf(number) { return Math.max(0, (this.rows.draw ?? []).findLastIndex(n => n <= number)); }

  get pane() {
    const wanted = this.place.get("pane");
    return this.kinds.some(([name]) => name === wanted) ? wanted : this.views.length > 1 ? "compare" : this.kinds[0][0];
  }

  // A draw in a few words: "RECTLIST 3" or the name of its command.
  title(draw) {
    const { topology, name, vertices, instances } = this.rows;
    if (!topology[draw]) return name[draw];
    return `${topology[draw]} ${vertices[draw]}${instances[draw] > 1 ? ` x ${instances[draw]}` : ""}`;
  }

  // The place changes at once, not with the next event: two quick keys are two steps.
  // With the row of a draw.
  go(change) {
    if ("draw" in change) change.draw = this.numberOf(change.draw);
    const next = changed(this.place, change);
    if (next !== location.hash) history.pushState(null, "", next);
    dispatchEvent(new HashChangeEvent("hashchange"));
  }

  // Changes the place without a new entry in the history of the browser.
  remember(change) { history.replaceState(null, "", changed(this.place, change)); }

  // Each side of a comparison has panes of its own.
  keyOf(pane) { return pane === "compare" ? pane : `${this.views.indexOf(this.view)} ${pane}`; }

  get paneKey() { return this.keyOf(this.pane); }

  // A pane that was shown before.
  paneNamed(name) { return this.panes.get(this.keyOf(name))?.pane; }

  // The pane in sight, if it was shown before.
  get shown() { return this.paneNamed(this.pane); }

  step(by) {
    const { draw, rows } = this.view, { order, step } = this.shown ?? {};
    if (step) this.shown.step(by);
    else if (this.pane === "events" && order) {
      const at = order.indexOf(draw);
      const next = order[at < 0 ? 0 : Math.max(0, Math.min(order.length - 1, at + by))];
      if (next !== undefined) this.go({ draw: next });
    } else this.go({ draw: Math.max(0, Math.min(rows.count - 1, draw + by)) });
  }

  // The first draw of the next frame, or of this one and then of the one before.
  stepFrame(by) {
    const { rows: { frame, count }, draw: now } = this.view;
    let draw = now;
    if (by > 0) {
      while (draw < count && frame[draw] === frame[now]) draw++;
      if (draw === count) return;
    } else {
      if (draw > 0) draw--;
      while (draw > 0 && frame[draw - 1] === frame[draw]) draw--;
    }
    this.go({ draw });
  }

  show() {
    const { pane, paneKey, view } = this;
    const isCompared = pane === "compare";
    this.kinds.forEach(([name], i) => this.tabs[i].setAttribute("aria-pressed", String(name === pane)));
    this.sides?.forEach((made, i) => made.setAttribute("aria-pressed", String(!isCompared && this.views[i] === view)));
    this.number.value = String(isCompared ? Number(this.place.get("pair") ?? 0) : view.numberOf(view.draw));
    this.total.textContent = isCompared ? `of ${plural(this.source.overview.comparison.pairs, "pair")}` :
      plural(view.rows.count, "draw");
    for (const [name, { box }] of this.panes) box.hidden = name !== paneKey;
    if (!this.panes.has(paneKey)) {
      const box = add(this.main, "div", "", "pane " + pane);
      const made = this.kinds.find(([name]) => name === pane)[1];
      this.panes.set(paneKey, { box, pane: new made(box, isCompared ? this : view) });
    }
    Promise.resolve(this.shown.show()).catch(error => this.complain(error));
  }

  complain(error) {
    const note = add(document.body, "div", error.message, "band");
    setTimeout(() => note.remove(), 6000);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.tagName === "INPUT") {
      if (event.key === "Escape" || event.key === "Enter") event.target.blur();
      return;
    }
    const keys = { j: () => this.step(1), k: () => this.step(-1), "]": () => this.stepFrame(1), "[": () => this.stepFrame(-1),
      g: () => { this.number.focus(); this.number.select(); },
      "/": () => { if (!this.shown?.focus) this.go({ pane: "events" }); setTimeout(() => this.shown?.focus?.(), 50); },
      Enter: () => this.pane === "events" && this.go({ pane: "draw" }) };
    const [pane] = this.kinds[Number(event.key) - 1] ?? [];
    if (!keys[event.key] && !pane) return;
    event.preventDefault();
    if (pane) this.go({ pane });
    else keys[event.key]();
  }
}

// A place as a fragment, with other values; empty ones are left out.
function changed(place, change) {
  for (const [name, value] of Object.entries(change)) {
    if (value === "") place.delete(name);
    else place.set(name, String(value));
  }
  return "#" + place;
}
