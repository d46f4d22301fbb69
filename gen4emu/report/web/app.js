// The page: its panes, the current draw, keys, and the place in the URL's fragment ("#draw=7&pane=draw").
import { add, button, plural } from "./dom.js";
import { DrawPane } from "./draw.js";
import { Events } from "./events.js";
import { KernelsPane } from "./kernel.js";
import { MeshPane } from "./mesh.js";
import { Overview } from "./overview.js";
import { ReportSource } from "./source.js";
import { StatisticsPane } from "./statistics.js";
import { SurfacesPane } from "./surfaces.js";

const PANES = [["overview", Overview], ["events", Events], ["draw", DrawPane], ["mesh", MeshPane], ["surfaces", SurfacesPane],
  ["kernels", KernelsPane], ["statistics", StatisticsPane]];

export class App {
  constructor(source) {
    this.source = source;
    this.panes = new Map();
    this.place = new URLSearchParams(location.hash.slice(1));
  }

  async start() {
    this.rows = await this.source.rows();
    const { overview } = this.source;
    document.title = `${overview.title}: gen4emu report`;
    if (overview.band) add(document.body, "div", overview.band, "band");
    const head = add(document.body, "header");
    add(head, "h1", overview.title);
    const tabs = add(head, "nav");
    this.tabs = PANES.map(([name], i) => {
      const made = button(tabs, name, () => this.go({ pane: name }), false);
      made.title = `key ${i + 1}`;
      return made;
    });
    const steps = add(head, "div", undefined, "steps");
    button(steps, "◀", () => this.step(-1)).title = "previous draw: k";
    this.number = add(steps, "input");
    this.number.title = "go to a draw: g";
    this.number.inputMode = "numeric";
    this.number.addEventListener("change", () => this.go({ draw: Number(this.number.value) || 0 }));
    button(steps, "▶", () => this.step(1)).title = "next draw: j";
    add(steps, "span", `of ${plural(this.rows.count, "draw")}`, "faint");
    this.main = add(document.body, "main");
    addEventListener("hashchange", () => {
      this.place = new URLSearchParams(location.hash.slice(1));
      this.show();
    });
    document.addEventListener("keydown", event => this.key(event));
    this.show();
  }

  get draw() {
    const wanted = Number(this.place.get("draw") ?? 0) || 0;
    return Math.max(0, Math.min(this.rows.count - 1, Math.trunc(wanted)));
  }

  get pane() {
    const wanted = this.place.get("pane");
    return PANES.some(([name]) => name === wanted) ? wanted : "overview";
  }

  // A draw in a few words: "RECTLIST 3" or the name of its command.
  title(draw) {
    const { topology, name, vertices, instances } = this.rows;
    if (!topology[draw]) return name[draw];
    return `${topology[draw]} ${vertices[draw]}${instances[draw] > 1 ? ` x ${instances[draw]}` : ""}`;
  }

  go(change) {
    const next = new URLSearchParams(this.place);
    for (const [name, value] of Object.entries(change)) next.set(name, String(value));
    if (next.toString() === this.place.toString()) this.show();
    else location.hash = next.toString();
  }

  // Changes the place without a new entry in the history of the browser.
  remember(change) {
    for (const [name, value] of Object.entries(change)) {
      if (value) this.place.set(name, value);
      else this.place.delete(name);
    }
    history.replaceState(null, "", "#" + this.place);
  }

  step(by) {
    const { order } = this.panes.get("events")?.pane ?? {};
    if (this.pane === "events" && order) {
      const at = order.indexOf(this.draw);
      const next = order[at < 0 ? 0 : Math.max(0, Math.min(order.length - 1, at + by))];
      if (next !== undefined) this.go({ draw: next });
    } else this.go({ draw: Math.max(0, Math.min(this.rows.count - 1, this.draw + by)) });
  }

  // The first draw of the next frame, or of this one and then of the one before.
  stepFrame(by) {
    const { frame, count } = this.rows;
    let draw = this.draw;
    if (by > 0) {
      while (draw < count && frame[draw] === frame[this.draw]) draw++;
      if (draw === count) return;
    } else {
      if (draw > 0) draw--;
      while (draw > 0 && frame[draw - 1] === frame[draw]) draw--;
    }
    this.go({ draw });
  }

  show() {
    const { pane } = this;
    PANES.forEach(([name], i) => this.tabs[i].setAttribute("aria-pressed", String(name === pane)));
    this.number.value = String(this.draw);
    for (const [name, { box }] of this.panes) box.hidden = name !== pane;
    if (!this.panes.has(pane)) {
      const box = add(this.main, "div", undefined, "pane " + pane);
      const made = PANES.find(([name]) => name === pane)[1];
      this.panes.set(pane, { box, pane: new made(box, this) });
    }
    Promise.resolve(this.panes.get(pane).pane.show()).catch(error => this.complain(error));
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
      "/": () => { if (this.pane !== "events") this.go({ pane: "events" }); setTimeout(() => this.panes.get("events")?.pane.focus(), 50); },
      Enter: () => this.pane === "events" && this.go({ pane: "draw" }) };
    const [pane] = PANES[Number(event.key) - 1] ?? [];
    if (!keys[event.key] && !pane) return;
    event.preventDefault();
    if (pane) this.go({ pane });
    else keys[event.key]();
  }
}

new App(new ReportSource()).start();
