// Screen 1: a draw, with the picture after it from the live device, and all draws beside it.
import { add, button } from "../dom.js";
import { DrawPane, PLANES } from "../draw.js";
import { VirtualList } from "../list.js";
import { difference } from "../picture.js";
import { thumbnail } from "../thumbnail.js";
import { Area } from "./area.js";
import { PixelPanel } from "./pixel.js";

const VIEWS = ["after", "before", "difference"];
const EDITED = ["debugger", "edited"];  // the device under the debugger, and what differs there
const COUNTED = ["draw", "frame so far"];  // what overlays count
const ROW_HEIGHT = 40;

export class LiveDrawPane extends DrawPane {
  constructor(parent, app) {
    super(parent, app);
    const list = document.createElement("div");
    list.className = "draws";
    this.state.before(list);
    this.list = new VirtualList(list, ROW_HEIGHT, (row, i) => this.fill(row, i), draw => app.go({ draw }));
    this.list.reset(app.rows.count);
    this.pixel = new PixelPanel(this.picture.box.parentNode, app);
    this.picture.canvas.addEventListener("click", () => this.pick());
    this.area = new Area(this.picture, (x, y) => this.ask(x, y));
  }

  fill(row, draw) {
    const { rows } = this.app;
    row.classList.toggle("current", draw === this.app.draw);
    row.classList.toggle("idle", Boolean(rows.idle[draw]));
    row.classList.toggle("flagged", rows.flags[draw].includes("finding"));
    add(row, "span", String(this.app.numberOf(draw)), "cell draw number");
    const cell = add(row, "span", undefined, "cell thumb");
    thumbnail(add(cell, "i"), this.app, draw);
    add(row, "span", this.app.title(draw), "cell name");
  }

  async show() {
    const { draw, rows } = this.app;
    if (rows.count) {
      for (const [index, row] of this.list.shown) row.classList.toggle("current", index === draw);
      this.list.show(draw);
    }
    await super.show();
  }

  // The pixel that is marked in the picture.
  pick() {
    const { picked } = this.picture, { shown } = this;
    const isInside = picked && shown && picked[0] >= 0 && picked[1] >= 0 && picked[0] < shown.width && picked[1] < shown.height;
    if (isInside) this.pixel.show(shown.draw, ...picked, this.target ?? 0);
    else this.pixel.hide();
  }

  // Why a pixel has its color: the tree of the fragment that was written last.
  async ask(x, y) {
    this.picture.picked = [x, y];
    this.picture.tell(x, y);
    this.picture.paint();
    const { shown } = this;
    if (!shown || x < 0 || y < 0 || x >= shown.width || y >= shown.height) return;
    await this.pixel.show(shown.draw, x, y, this.target ?? 0);
    this.pixel.box.querySelector("li.written button.ask")?.click();
  }

  // Pictures come one after the other; while one is on its way, only the last wish is remembered.
  async pictures() {
    this.isWanted = true;
    if (this.isLoading) return;
    this.isLoading = true;
    try {
      while (this.isWanted) {
        this.isWanted = false;
        await this.load();
      }
    } finally {
      this.isLoading = false;
    }
  }

  async load() {
    const { app } = this, { draw: row, link } = app, draw = app.numberOf(row);
    let after, before = null;
    try {
      after = await link.picture(`picture ${draw} after ${this.target ?? 0}`);
      if (["before", "difference"].includes(this.view) && after.targets.length && draw)
        before = await link.picture(`picture ${draw} before ${this.target ?? 0}`);
    } catch (error) {
      if (this.target) { this.target = 0; this.isWanted = true; return; }  // this draw has fewer targets
      this.bar.replaceChildren();
      this.shown = null;
      this.note.textContent = error.message;
      this.picture.show(null);
      return;
    }
    const live = EDITED.includes(this.view) && after.targets.length ? await this.live(draw) : null;
    const maps = after.targets.length && this.active.size ? await this.maps(row, after) : null;
    this.shown = { ...after, bytes: null };
    this.buttons(after, row);
    this.explain(this.layers(maps));
    this.note.textContent = after.targets.length ? `after draw ${draw}: ${after.title}` : "This draw has no picture.";
    if (!after.targets.length) { this.picture.show(null); return; }
    const changed = before && this.view === "difference" ? difference(before, after) : null;
    if (live) {
      this.note.textContent = `${this.view === "edited" ? "differences between the original and " : ""}the device under the debugger, at ${live.place}; original: after draw ${draw}`;
      this.picture.show(this.view === "edited" ? difference(after, live) : live, this.layers(maps));
      return;
    }
    if (before && this.view === "before") this.note.textContent = `before draw ${draw}: ${after.title}`;
    this.picture.show(this.view === "before" && before ? before : changed ?? after, this.layers(maps));
    this.area.tell();
    if (this.picture.picked) this.pick();
  }

  // The counts of overlays; null if they are those of another surface.
  async maps(draw, { width, height }) {
    const { app, app: { rows: { frame } } } = this;
    let first = draw;
    if (this.counted !== "draw") while (first > 0 && frame[first - 1] === frame[draw]) first--;
    try {
      const found = await app.source.maps(first === draw ? `maps-${app.numberOf(draw)}` : `maps-${app.numberOf(draw)}-${app.numberOf(first)}`);
      return found.width === width && found.height === height ? found : null;
    } catch (error) {
      app.complain(error);
      this.active.clear();
      return null;
    }
  }

  async live(draw) {
    try {
      return await this.app.link.picture(`live ${draw} ${this.target ?? 0}`);
    } catch (error) {
      this.app.complain(error);
      this.view = "after";
      return null;
    }
  }

  buttons({ targets, index }, draw) {
    const { bar } = this;
    bar.replaceChildren();
    for (const view of VIEWS)
      if (view === "after" || draw) button(bar, view, () => { this.view = view; this.pictures(); }, view === this.view);
    for (const view of EDITED) button(bar, view, () => { this.view = view; this.pictures(); }, view === this.view).title =
      view === "edited" ? "pixels that differ under the debugger, where registers and code may have been changed" : "as the device under the debugger has it now";
    if (targets.length > 1)
      targets.forEach((title, i) => button(bar, title.split(" ").slice(0, 2).join(" "), () => { this.target = i; this.pictures(); }, i === index));
    if (targets.length && this.app.rows.topology[draw]) this.overlays(PLANES.map(name => ({ name })), null, COUNTED, this.counted);
  }
}

// The bar above all panes that goes through the draws.
export class ScrubBar {
  constructor(parent, app) {
    this.app = app;
    this.box = document.createElement("div");
    this.box.className = "scrub";
    parent.after(this.box);
    this.marks = add(this.box, "canvas");
    this.input = add(this.box, "input");
    this.input.type = "range";
    this.input.title = "draws, from the first to the last";
    this.input.min = "0";
    this.input.max = String(Math.max(0, app.rows.count - 1));
    this.input.addEventListener("input", () => app.go({ draw: Number(this.input.value), ...(app.hasPictures ? {} : { pane: "draw" }) }));
    this.input.addEventListener("change", () => this.input.blur());
    new ResizeObserver(() => this.paint()).observe(this.marks);
  }

  show() { this.input.value = String(this.app.draw); }

  // Frames as stripes, and the instructions of each draw as bars.
  paint() {
    const { marks, app: { rows } } = this;
    marks.width = marks.clientWidth;
    marks.height = marks.clientHeight;
    const context = marks.getContext("2d"), step = marks.width / Math.max(1, rows.count);
    // The knob, 16 pixels wide, stands in the middle of its draw.
    this.input.style.marginLeft = `${step / 2}px`;
    this.input.style.width = `${Math.max(40, marks.width - step + 16)}px`;
    const most = (rows.instructions ?? []).reduce((a, b) => Math.max(a, b), 1);
    for (let i = 0; i < rows.count; i++) {
      context.fillStyle = rows.frame[i] % 2 ? "#8883" : "#8881";
      context.fillRect(i * step, 0, Math.ceil(step), marks.height);
      const height = marks.height * Math.sqrt(rows.instructions[i] / most);
      context.fillStyle = rows.flags[i].includes("finding") ? "#c62828" : "#0b62c4";
      context.fillRect(i * step, marks.height - height, Math.max(1, step - 1), height);
    }
  }
}
