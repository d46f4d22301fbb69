// Screen 3: one draw: its pipeline, its state, and what it changed.
import { add, button, fieldName, hex, link, plural, short, table } from "./dom.js";
import { PLANE_COLORS, PictureView, difference } from "./picture.js";

const VIEWS = ["after", "before", "difference"];

export class DrawPane {
  constructor(parent, app) {
    this.app = app;
    this.box = "";
    this.view = "after";
    this.active = new Set();
    this.pipeline = add(parent, "div", undefined, "pipeline");
    const rest = add(parent, "div", undefined, "split three");
    this.state = add(rest, "div", undefined, "scroll state");
    const middle = add(rest, "div", undefined, "middle");
    this.bar = add(middle, "div", undefined, "bar");
    this.note = add(middle, "p", "", "faint note");
    this.picture = new PictureView(middle);
    this.side = add(rest, "div", undefined, "scroll side");
  }

  async show() {
    const { app } = this, { draw, rows } = app;
    if (!rows.count) { this.note.textContent = "This trace has no draws."; return; }
    const details = await app.source.details(draw);
    if (draw !== app.draw) return;  // the user has moved on
    this.boxes(details);
    this.blocks(details);
    this.counters(details);
    await this.pictures(details);
  }

  boxes(details) {
    this.pipeline.replaceChildren();
    const { counters, blocks } = details;
    const boxes = this.app.source.overview.boxes.filter(({ name }) => blocks.some(block => block.box === name));
    for (const { name, title } of boxes) {
      const own = blocks.filter(block => block.box === name);
      const changed = own.filter(block => isChanged(block, details)).length;
      const made = button(this.pipeline, "", () => {
        this.box = this.box === name ? "" : name;
        this.boxes(details);
        this.blocks(details);
      }, this.box === name);
      if (own.some(block => block.complaints?.length)) made.classList.add("complained");
      add(made, "b", title);
      const texts = numbers(name, counters);
      if (!texts.some(text => !text.startsWith("0 "))) made.classList.add("idle");
      for (const text of texts) add(made, "span", text);
      if (changed) add(made, "em", `${changed} changed`);
    }
  }

  blocks(details) {
    this.state.replaceChildren();
    const shown = details.blocks.filter(block => !this.box || block.box === this.box);
    const before = new Map((details.before ?? []).map(block => [block.key, block]));
    // Blocks that changed since the previous draw come first, opened.
    const order = [...shown.filter(block => isChanged(block, details)), ...shown.filter(block => !isChanged(block, details))];
    for (const block of order) {
      const changed = isChanged(block, details);
      const made = add(this.state, "details", undefined, changed ? "changed" : "");
      made.open = changed || Boolean(this.box);
      const title = add(made, "summary");
      add(title, "b", block.title);
      if (changed) add(title, "em", before.has(block.key) ? "changed" : "new");
      const place = hex(block.address);
      add(made, "div", block.by.includes(place) ? block.by : `${place}, set by ${block.by}`, "faint by");
      for (const text of block.complaints ?? []) add(made, "div", text, "bad");
      const old = new Map(before.get(block.key)?.fields ?? []);
      const lines = add(add(made, "table", undefined, "fields"), "tbody");
      for (const [name, value] of block.fields) {
        const line = add(lines, "tr");
        fieldName(add(line, "td"), name);
        const cell = add(line, "td", value);
        if (changed && old.has(name) && old.get(name) !== value) {
          line.className = "changed";
          add(cell, "span", ` was ${old.get(name)}`, "faint");
        }
      }
    }
    if (!shown.length) add(this.state, "p", "The report holds no state of this draw.", "faint");
  }

  counters({ counters }) {
    this.side.replaceChildren();
    const { app } = this;
    add(this.side, "h2", app.title(app.draw));
    add(this.side, "p", `frame ${app.rows.frame[app.draw]}, submission ${app.rows.submission[app.draw]}`, "faint");
    for (const [title, values] of Object.entries(counters)) {
      if (!["vertices", "objects", "fragments", "media"].includes(title)) continue;
      const lines = Object.entries(values).filter(([, n]) => n);
      if (!lines.length) continue;
      add(this.side, "h3", title);
      table(this.side, [], lines.map(([name, n]) => [name.replaceAll("_", " "), n]), "counts");
    }
    const stages = Object.entries(counters.stages).filter(([, stage]) => stage.threads);
    if (stages.length) {
      add(this.side, "h3", "EU");
      table(this.side, ["", "threads", "instr.", "kernel"], stages.map(([name, stage]) => [name, short(stage.threads),
        short(stage.instructions), this.kernel(name)]), "counts");
    }
    if (counters.surfaces.length) {
      add(this.side, "h3", "bytes");
      table(this.side, ["", "read", "written"], counters.surfaces.map(s => [`${s.role} ${hex(s.address)}`, short(s.read_bytes),
        short(s.written_bytes)]), "counts");
    }
  }

  kernel(stage) {
    const number = this.app.rows[stage === "wm" ? "ps" : stage]?.[this.app.draw];
    return number > 0 ? link(document.createDocumentFragment(), String(number), `pane=kernels&kernel=${number}`) : "";
  }

  async pictures(details) {
    const { app, bar } = this, { draw } = app;
    const names = details.counters.pictures ?? [];
    bar.replaceChildren();
    if (!names.length) {
      this.note.textContent = app.rows.thumb[draw] < 0 ? "This draw has no picture." :
        "This report holds only a thumbnail of this draw. Use --draws-full to choose others.";
      this.picture.show(null);
      return;
    }
    const index = Math.min(this.target ?? 0, names.length - 1);
    const { title, after, before } = names[index];
    for (const view of VIEWS)
      if (view === "after" || before) button(bar, view, () => { this.view = view; this.pictures(details); }, view === this.view);
    names.forEach((one, i) => {
      if (names.length > 1) button(bar, one.title.split(" ").slice(0, 2).join(" "), () => { this.target = i; this.pictures(details); }, i === index);
    });
    const image = await app.source.picture(after);
    const earlier = before && this.view !== "after" ? await app.source.picture(before) : null;
    const changed = earlier && this.view === "difference" ? difference(earlier, image) : null;
    const maps = details.counters.maps && index === 0 ? await app.source.maps(details.counters.maps) : null;
    if (draw !== app.draw) return;
    this.overlays(maps, details);
    const planes = (maps?.planes ?? []).map((plane, i) => ({ ...plane, color: PLANE_COLORS[i % PLANE_COLORS.length],
      width: maps.width, height: maps.height })).filter(plane => this.active.has(plane.name));
    this.note.textContent = title;
    this.picture.show(this.view === "before" && earlier ? earlier : changed ?? image, planes);
  }

  overlays(maps, details) {
    if (!maps) return;
    add(this.bar, "span", "overlays:", "faint");
    maps.planes.forEach((plane, i) => {
      const count = plane.counts.reduce((sum, n) => sum + (n > 0), 0);
      if (!count) return;
      const made = button(this.bar, plane.name, () => {
        if (!this.active.delete(plane.name)) this.active.add(plane.name);
        this.pictures(details);
      }, this.active.has(plane.name));
      made.title = plural(count, "pixel");
      made.style.borderLeft = `6px solid ${PLANE_COLORS[i % PLANE_COLORS.length]}`;
    });
  }
}

function isChanged(block, { before }) {
  if (!before) return false;
  const old = before.find(other => other.key === block.key);
  return old === undefined || (old.fieldsId !== block.fieldsId && JSON.stringify(old.fields) !== JSON.stringify(block.fields));
}

// The two numbers that matter in a box of the pipeline.
function numbers(box, c) {
  const texts = {
    vf: [[c.vertices.vertices, "vertices"], [c.vertices.vertices_fetched, "fetched"]],
    vs: [[c.vertices.vertices_shaded, "shaded"]],
    hs: [[c.stages.hs?.threads, "threads"]], ds: [[c.stages.ds?.threads, "threads"]],
    gs: [[c.stages.gs?.threads, "threads"]],
    clip: [[c.objects.assembled, "in"], [c.objects.clip_discarded, "discarded"]],
    sf: [[c.objects.objects, "in"], [c.objects.culled, "culled"], [c.objects.set_up, "set up"]],
    wm: [[c.fragments.shaded, "shaded"], [c.fragments.killed, "killed"]],
    cc: [[c.fragments.early_depth_failed + c.fragments.late_depth_failed, "depth failed"], [c.fragments.written, "written"]],
    media: [[c.media.media_roots + c.media.media_children, "threads"]],
    blt: [[c.pixels_blitted, "pixels"]],
  }[box] ?? [];
  return texts.filter(([n], i) => n || i === texts.length - 1).map(([n, text]) => `${short(n ?? 0)} ${text}`);
}
