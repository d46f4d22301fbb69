// Screen 3: one draw: its pipeline, its state, and what it changed.
import { add, button, fieldName, hex, link, plural, short, table } from "./dom.js";
import { PLANE_COLORS, PictureView, difference, layerColor } from "./picture.js";

// The overlays, in the order of their colors.
const MEANINGS = {
  covered: "how many fragments cover a pixel",
  "stencil failed": "fragments that fail the stencil test",
  "depth failed": "fragments that fail the depth test",
  discarded: "fragments that the pixel shader or the alpha test discards",
  written: "how often a pixel is written",
  unwritten: "fragments that pass all tests, but have no target to write",
  instructions: "instructions of the threads that shade a pixel",
};
export const PLANES = Object.keys(MEANINGS);
const VIEWS = ["after", "before", "difference"];

export class DrawPane {
  constructor(parent, app) {
    this.app = app;
    this.box = "";
    this.view = "after";
    this.active = new Set();
    this.counted = "draw";  // or "frame": the draws that overlays count
    this.pipeline = add(parent, "div", "", "pipeline");
    const rest = add(parent, "div", "", "split three");
    this.state = add(rest, "div", "", "scroll state");
    const middle = add(rest, "div", "", "middle");
    this.bar = add(middle, "div", "", "bar");
    this.legend = add(middle, "div", "", "ranges");
    this.note = add(middle, "p", "", "faint note");
    this.picture = new PictureView(middle);
    this.side = add(rest, "div", "", "scroll side");
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
      const made = add(this.state, "details", "", changed ? "changed" : "");
      made.open = changed || Boolean(this.box);
      const title = add(made, "summary");
      add(title, "b", block.title);
      if (changed) add(title, "em", before.has(block.key) ? "changed" : "new");
      const place = hex(block.address);
      add(made, "div", block.by.includes(place) ? block.by : `${place}, set by ${block.by}`, "faint by");
      for (const text of block.complaints ?? []) add(made, "div", text, "bad");
      const old = new Map(before.get(block.key)?.fields ?? []);
      const lines = add(add(made, "table", "", "fields"), "tbody");
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
    if (app.rows.group?.[app.draw]) add(this.side, "p", app.rows.group[app.draw], "group");
    for (const [title, values] of Object.entries(counters)) {
      if (!["vertices", "objects", "fragments", "media"].includes(title)) continue;
      const lines = Object.entries(values).filter(([, n]) => n);
      if (!lines.length) continue;
      add(this.side, "h3", title);
      table(this.side, [], lines.map(([name, n]) => [name.replaceAll("_", " "), n]), "counts");
    }
    const stages = Object.entries(counters.stages).filter(([, stage]) => stage.instructions);
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
    const { app, bar } = this, { draw } = app, turn = this.turn = {};
    const names = details.counters.pictures ?? [];
    bar.replaceChildren();
    this.legend.replaceChildren();
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
    this.note.textContent = `loading ${title}`;
    const image = await app.source.picture(after);
    const earlier = before && this.view !== "after" ? await app.source.picture(before) : null;
    const changed = earlier && this.view === "difference" ? difference(earlier, image) : null;
    const chunks = details.counters.maps ?? {};
    const counted = chunks[this.counted] ? this.counted : Object.keys(chunks)[0];
    let maps = counted ? await app.source.maps(chunks[counted]) : null;
    if (draw !== app.draw || turn !== this.turn) return;
    if (maps && (maps.width !== image.width || maps.height !== image.height)) maps = null;
    const planes = this.layers(maps);
    this.overlays(maps?.planes ?? [], details, Object.keys(chunks), counted);
    this.explain(planes);
    this.note.textContent = title;
    this.picture.show(this.view === "before" && earlier ? earlier : changed ?? image, planes);
  }

  // The overlays that the user has chosen, out of maps.
  layers(maps) {
    return (maps?.planes ?? []).filter(plane => this.active.has(plane.name))
      .map(plane => ({ ...plane, color: PLANE_COLORS[PLANES.indexOf(plane.name)], width: maps.width, height: maps.height }));
  }

  // `choices`: what overlays can count.
  overlays(planes, details, choices, counted) {
    if (!planes.length) return;
    add(this.bar, "span", "overlays of the", "faint");
    for (const which of choices)
      button(this.bar, which, () => { this.counted = which; this.pictures(details); }, which === counted);
    for (const { name } of planes) {
      const made = button(this.bar, name, () => {
        if (!this.active.delete(name)) this.active.add(name);
        this.pictures(details);
      }, this.active.has(name));
      made.title = MEANINGS[name];
      made.style.borderLeft = `6px solid ${PLANE_COLORS[PLANES.indexOf(name)]}`;
    }
  }

  // The range of the counts of each overlay, from faint to opaque.
  explain(planes) {
    this.legend.replaceChildren();
    for (const { name, counts, color } of planes) {
      let pixels = 0, low = Infinity, high = 0, sum = 0;
      for (const count of counts) {
        if (!count) continue;
        pixels++;
        sum += count;
        low = Math.min(low, count);
        high = Math.max(high, count);
      }
      const line = add(this.legend, "div");
      add(line, "b", name);
      add(line, "span", String(low));
      const ramp = add(line, "i");
      ramp.style.background = `linear-gradient(to right, ${layerColor(color, low / high)}, ${layerColor(color, 1)})`;
      add(line, "span", String(high));
      add(line, "span", `${plural(pixels, "pixel")}, ${short(sum)} in all`, "faint");
    }
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
    media: [[c.media.media_roots + c.media.media_children, "threads"], [c.stages.media.instructions, "instr."]],
    blt: [[c.pixels_blitted, "pixels"]],
  }[box] ?? [];
  return texts.filter(([n], i) => n || i === texts.length - 1).map(([n, text]) => `${short(n ?? 0)} ${text}`);
}
