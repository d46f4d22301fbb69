// Screen 2: all draws as a list that can be sorted and filtered.
import { add, button, short } from "./dom.js";
import { compile } from "./filter.js";
import { VirtualList } from "./list.js";
import { thumbnail } from "./thumbnail.js";

const COLUMNS = [["draw", "draw"], ["thumb", ""], ["frame", "frame"], ["name", "command"], ["target", "target"],
  ["vertices", "vertices"], ["written", "written"], ["instructions", "instructions"], ["changes", "changes"]];
const RIGHT = new Set(["draw", "frame", "vertices", "written", "instructions", "changes"]);
const ROW_HEIGHT = 44;

export class Events {
  constructor(parent, app) {
    this.app = app;
    this.sort = ["draw", 1];
    const bar = add(parent, "div", undefined, "bar");
    this.input = add(bar, "input");
    this.input.type = "search";
    this.input.placeholder = "filter (press /): ps=6 and written>1000 and blend";
    this.input.spellcheck = false;
    this.input.addEventListener("input", () => this.apply());
    for (const text of ["written=0", "finding", "blend", "changes:SAMPLER_STATE"])
      button(bar, text, () => { this.input.value = text; this.apply(); }).className = "chip";
    this.message = add(bar, "span", "", "faint");
    this.head = add(parent, "div", undefined, "row head");
    this.list = new VirtualList(parent, ROW_HEIGHT, (row, i) => this.fill(row, this.order[i]),
      i => app.go({ draw: this.order[i] }));
    this.list.box.addEventListener("dblclick", () => app.go({ pane: "draw" }));
    this.input.value = app.place.get("filter") ?? "";
    this.apply();
  }

  show() {
    const at = this.order.indexOf(this.app.draw);
    for (const [index, row] of this.list.shown) row.classList.toggle("current", index === at);
    this.list.update();
    if (at >= 0) this.list.show(at);
  }

  focus() { this.input.focus(); this.input.select(); }

  apply() {
    const { rows, source } = this.app;
    let test;
    try {
      test = compile(this.input.value, rows, source.overview.flags);
    } catch (error) {
      this.message.textContent = error.message;
      this.message.className = "bad";
      return;
    }
    this.order = [];
    for (let draw = 0; draw < rows.count; draw++) if (test(draw)) this.order.push(draw);
    const [name, direction] = this.sort;
    if (name !== "draw" || direction < 0) {
      const key = name === "draw" ? draw => draw : draw => rows[name][draw];
      this.order.sort((a, b) => direction * (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0) || a - b);
    }
    this.message.textContent = `${this.order.length} of ${rows.count} draws`;
    this.message.className = "faint";
    this.headings();
    this.list.reset(this.order.length);
    this.app.remember({ filter: this.input.value });
    this.show();
  }

  headings() {
    this.head.replaceChildren();
    for (const [name, text] of COLUMNS) {
      const [sorted, direction] = this.sort;
      const made = add(this.head, "span", text + (sorted === name ? direction > 0 ? " ▲" : " ▼" : ""), cell(name));
      if (name === "thumb") continue;
      made.addEventListener("click", () => {
        this.sort = sorted === name ? [name, -direction] : [name, name === "draw" || !RIGHT.has(name) ? 1 : -1];
        this.apply();
      });
    }
  }

  fill(row, draw) {
    const { app } = this, { rows } = app;
    if (rows.idle[draw]) { row.classList.add("idle"); row.title = "this draw writes no fragment"; }
    if (rows.flags[draw].includes("finding")) row.classList.add("flagged");
    if (draw === app.draw) row.classList.add("current");
    for (const [name] of COLUMNS) {
      const place = add(row, "span", undefined, cell(name));
      if (name === "draw") place.textContent = String(draw);
      else if (name === "thumb") thumbnail(add(place, "i"), app, draw);
      else if (name === "name") {
        place.textContent = app.title(draw);
        for (const flag of rows.flags[draw]) add(place, "em", flag);
        if (rows.group?.[draw]) add(place, "span", rows.group[draw], "group");
      } else place.textContent = RIGHT.has(name) && name !== "frame" ? short(rows[name][draw]) : String(rows[name][draw]);
    }
  }
}

function cell(name) { return `cell ${name}${RIGHT.has(name) ? " number" : ""}`; }
