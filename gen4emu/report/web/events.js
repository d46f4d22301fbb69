// Screen 2: all draws as a list that can be sorted and filtered; in their order, below their frames and debug groups.
import { add, button, plural, short } from "./dom.js";
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
    this.closed = new Set();  // keys of groups
    const bar = add(parent, "div", "", "bar");
    this.input = add(bar, "input");
    this.input.type = "search";
    this.input.placeholder = "filter (press /): ps=6 and written>1000 and blend";
    this.input.spellcheck = false;
    this.input.addEventListener("input", () => this.apply());
    for (const text of ["written=0", "finding", "blend", "changes:SAMPLER_STATE"])
      button(bar, text, () => { this.input.value = text; this.apply(); }).className = "chip";
    this.folder = button(bar, "", () => {
      this.closed = new Set(this.closed.size ? [] : this.groups().filter(({ level }) => !level).map(({ key }) => key));
      this.reset();
    });
    this.message = add(bar, "span", "", "faint");
    this.head = add(parent, "div", "", "row head");
    this.list = new VirtualList(parent, ROW_HEIGHT, (row, i) => this.fill(row, this.items[i]), i => this.choose(this.items[i]));
    this.list.box.addEventListener("dblclick", () => app.go({ pane: "draw" }));
    this.input.value = app.place.get("filter") ?? "";
    this.apply();
  }

  show() {
    const { draw } = this.app;
    if (this.order.includes(draw) && !this.items.includes(draw)) {
      for (const { key } of this.above(draw)) this.closed.delete(key);
      this.reset();
      return;
    }
    const at = this.items.indexOf(draw);
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
    this.app.remember({ filter: this.input.value });
    this.reset();
  }

  // Draws are numbers among the items of the list, groups are objects.
  reset() {
    const [name, direction] = this.sort;
    this.items = name === "draw" && direction > 0 ? this.grouped() : this.order;
    this.folder.hidden = this.items === this.order || !this.groups().length;
    this.folder.textContent = this.closed.size ? "open all" : "frames only";
    this.list.reset(this.items.length);
    if (!this.closed.size || this.items.includes(this.app.draw)) this.show();
  }

  groups() { return this.items.filter(item => typeof item === "object"); }

  // What a draw stands below: its frame, its submission if its frame has several, and its debug groups.
  above(draw) {
    const { frame, submission, group } = this.app.rows;
    const names = this.manyFrames ? [`frame ${frame[draw]}`] : [];
    if (this.split.has(frame[draw])) names.push(`submission ${submission[draw]}`);
    if (group?.[draw] && !/^program \d/.test(group[draw])) names.push(...group[draw].split(/, program \d/)[0].split(" / "));
    return names.map((text, level) => ({ text, level, key: [frame[draw], ...names.slice(0, level + 1)].join("\n") }));
  }

  grouped() {
    const { frame, submission, count, written, instructions } = this.app.rows, found = [];
    this.manyFrames = count > 0 && frame[0] !== frame[count - 1];
    this.split = new Set(frame?.filter((one, i) => i && one === frame[i - 1] && submission[i] !== submission[i - 1]));
    let path = [];
    for (const draw of this.order) {
      const above = this.above(draw);
      let kept = 0;
      while (kept < above.length && path[kept]?.key === above[kept].key) kept++;
      path = [...path.slice(0, kept), ...above.slice(kept).map(one => ({ ...one, draws: 0, written: 0, instructions: 0 }))];
      path.forEach((one, level) => {
        if (level >= kept && !path.slice(0, level).some(({ key }) => this.closed.has(key))) found.push(one);
        one.last = draw;
        one.draws++;
        one.written += written[draw];
        one.instructions += instructions[draw];
      });
      if (!path.some(({ key }) => this.closed.has(key))) found.push(draw);
    }
    return found;
  }

  choose(item) {
    if (typeof item === "number") { this.app.go({ draw: item }); return; }
    if (!this.closed.delete(item.key)) this.closed.add(item.key);
    const { scrollTop } = this.list.box;
    this.reset();
    this.list.box.scrollTop = scrollTop;
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

  fill(row, item) {
    if (typeof item === "number") { this.draw(row, item); return; }
    row.classList.add("above");
    row.style.paddingLeft = `${14 + 16 * item.level}px`;
    const texts = { draw: this.closed.has(item.key) ? "▸" : "▾", name: item.text, target: plural(item.draws, "draw"),
      written: short(item.written), instructions: short(item.instructions) };
    for (const [name] of COLUMNS) {
      const place = add(row, "span", texts[name], cell(name));
      if (name === "thumb" && !item.level) thumbnail(add(place, "i"), this.app, item.last);
    }
  }

  draw(row, draw) {
    const { app } = this, { rows } = app;
    if (rows.idle[draw]) { row.classList.add("idle"); row.title = "this draw writes no fragment"; }
    if (rows.flags[draw].includes("finding")) row.classList.add("flagged");
    if (draw === app.draw) row.classList.add("current");
    for (const [name] of COLUMNS) {
      const place = add(row, "span", "", cell(name));
      if (name === "draw") place.textContent = String(app.numberOf(draw));
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
