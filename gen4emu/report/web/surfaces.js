// Screen 5: every surface that a draw used, which draws wrote and read it, and its contents at the end.
import { add, button, hex, link, plural, short, table } from "./dom.js";
import { VirtualList } from "./list.js";
import { PictureView, adjusted, histogram, toLinear, valueRange } from "./picture.js";

const LINE = 16;  // bytes of a line
const FORMS = {
  bytes: { size: 1, text: (data, at) => data.getUint8(at).toString(16).padStart(2, "0") },
  dwords: { size: 4, text: (data, at) => data.getUint32(at, true).toString(16).padStart(8, "0") },
  floats: { size: 4, text: (data, at) => String(Number(data.getFloat32(at, true).toPrecision(6))) },
};
const SELECTED = ["level", "slice", "sample"];

// The bytes of a surface in the order of their addresses.
class ByteView {
  constructor(parent) {
    this.box = add(parent, "div", "", "middle bytes");
    this.bar = add(this.box, "div", "", "bar");
    this.form = "bytes";
    this.list = new VirtualList(this.box, 18, (row, i) => this.fill(row, i), () => {});
  }

  show(found) {
    this.found = found;
    this.data = found && new DataView(found.bytes.buffer, found.bytes.byteOffset, found.bytes.byteLength);
    this.bar.replaceChildren();
    for (const form of Object.keys(FORMS)) button(this.bar, form, () => { this.form = form; this.show(found); }, form === this.form);
    add(this.bar, "span", !found ? "This report holds no bytes of this surface." :
      `${plural(found.bytes.length, "byte")}${found.size > found.bytes.length ? ` of ${found.size}` : ""}, tiled surfaces as they are in memory`, "faint");
    this.list.reset(found ? Math.ceil(found.bytes.length / LINE) : 0);
  }

  fill(row, i) {
    const { size, text } = FORMS[this.form], { data } = this;
    add(row, "span", hex(this.found.address + LINE * i), "faint");
    const parts = [];
    for (let at = LINE * i; at < LINE * (i + 1) && at + size <= data.byteLength; at += size) parts.push(text(data, at));
    add(row, "span", parts.join(" "), "value");
  }
}

export class SurfacesPane {
  constructor(parent, app) {
    this.app = app;
    const rest = add(parent, "div", "", "split two");
    this.table = add(rest, "div", "", "scroll");
    const right = add(rest, "div", "", "middle");
    this.about = add(right, "div", "", "about");
    this.bar = add(right, "div", "", "bar");
    this.range = add(right, "div", "", "bar range");
    this.picture = new PictureView(right);
    this.bytes = new ByteView(right);
    this.isDumped = false;
    this.channels = new Set("rgb");
    this.limits = [0, 1];
    this.isLinear = false;  // show sRGB as the sampler reads it
    this.wanted = {};
    this.load();
  }

  async load() {
    this.surfaces = await this.app.source.surfaces();
    const made = table(this.table, ["address", "kind", "format", "size", "first written", "written by", "read by"],
      this.surfaces.map(s => [hex(s.address), s.kind, s.format, s.width ? `${s.width}x${s.height}` : "", this.first(s),
        s.written_by, s.read_by]), "rows");
    this.lines = [...made.tBodies[0].rows];
    this.lines.forEach((line, i) => line.addEventListener("click", event => {
      if (event.target.tagName !== "A") this.choose(i);
    }));
    if (this.surfaces.length) this.choose(Math.max(0, this.surfaces.findIndex(s => s.images.length)));
    else add(this.table, "p", "No draw used a surface.", "faint");
  }

  first({ first_written: row }) {
    if (row === null) return "uploaded";
    const draw = this.app.numberOf(row);
    return link(document.createDocumentFragment(), `draw ${draw}`, `draw=${draw}&pane=draw`);
  }

  show() {}

  async choose(i) {
    const surface = this.surfaces[i];
    this.surface = surface;
    this.lines.forEach((line, at) => line.classList.toggle("current", at === i));
    this.about.replaceChildren();
    add(this.about, "h2", `${hex(surface.address)} ${surface.kind}`);
    const facts = [["format", surface.format], ["size", `${surface.width}x${surface.height}`],
      ["pitch", surface.pitch ? plural(surface.pitch, "byte") : ""], ["tiling", surface.tiling], ["level", surface.level ? String(surface.level) : ""],
      ["slice", surface.slice ? String(surface.slice) : ""],
      ["bytes written", short(surface.written_bytes)], ["bytes read", short(surface.read_bytes)], ["uploads", surface.uploads ?? ""]];
    table(this.about, [], facts.filter(([, text]) => text), "facts");
    for (const [text, draws] of [["written by", surface.writers], ["read by", surface.readers]]) {
      if (!draws.length) continue;
      const line = add(this.about, "p", `${text} `);
      for (const draw of draws.slice(0, 40).map(row => this.app.numberOf(row))) {
        link(line, String(draw), `draw=${draw}&pane=draw`);
        add(line, "span", " ");
      }
      if (draws.length > 40) add(line, "span", `and ${draws.length - 40} more`, "faint");
    }
    await this.contents();
  }

  // The selected image of the surface, or its bytes.
  async contents() {
    const { surface, bar, app } = this, { images } = surface;
    const again = () => this.contents().catch(error => app.complain(error));
    bar.replaceChildren();
    button(bar, "picture", () => { this.isDumped = false; again(); }, !this.isDumped);
    button(bar, "bytes", () => { this.isDumped = true; again(); }, this.isDumped);
    this.picture.box.hidden = this.range.hidden = this.isDumped || !images.length;
    this.bytes.box.hidden = !this.isDumped;
    if (this.isDumped) {
      const found = surface.bytes ? await app.source.surfaceBytes(surface.bytes).catch(() => null) : null;
      if (surface === this.surface) this.bytes.show(found);
      return;
    }
    const image = this.select(images, again);
    if (!image) add(bar, "span", "This report holds no picture of this surface.", "faint");
    const found = image ? await app.source.picture(image.picture) : null;
    if (surface !== this.surface) return;
    this.image = found && this.isLinear && surface.format.includes("SRGB") ? toLinear(found) : found;
    this.controls();
    this.look();
  }

  // The image with the wanted level, slice and sample, or one that is near it.
  select(images, again) {
    let left = images;
    for (const name of SELECTED) {
      const values = [...new Set(left.map(image => image[name]))].sort((a, b) => a - b);
      const value = values.includes(this.wanted[name]) ? this.wanted[name] : values[0];
      if (values.length > 1) {
        const made = add(add(this.bar, "label", `${name} `), "select");
        for (const one of values) add(made, "option", String(one)).selected = one === value;
        made.name = name;
        made.addEventListener("change", () => { this.wanted[name] = Number(made.value); again(); });
      }
      left = left.filter(image => image[name] === value);
    }
    if (left[0]) add(this.bar, "span", `${left[0].width}x${left[0].height}`, "faint");
    return left[0];
  }

  controls() {
    const { range, image } = this;
    range.replaceChildren();
    if (!image) return;
    for (const channel of image.grey ? "" : "rgba")
      button(range, channel, () => {
        if (!this.channels.delete(channel)) this.channels.add(channel);
        this.controls();
        this.look();
      }, this.channels.has(channel));
    const sliders = this.limits.map((value, i) => {
      const made = add(range, "input");
      Object.assign(made, { type: "range", min: 0, max: 1, step: "any", value, title: i ? "the value that is white" : "the value that is black" });
      made.addEventListener("input", () => { this.limits[i] = Number(made.value); tell(); this.look(); });
      return made;
    });
    const text = add(range, "span", "", "value");
    const tell = () => { text.textContent = this.limits.map(n => n.toFixed(4)).join(" to "); };
    const set = limits => {
      this.limits = limits;
      sliders.forEach((slider, i) => { slider.value = String(limits[i]); });
      tell();
      this.look();
    };
    button(range, "fit range", () => set(valueRange(image, [...this.channels].filter(channel => channel !== "a" || this.channels.size === 1))));
    button(range, "all", () => set([0, 1]));
    if (this.surface.format.includes("SRGB"))
      button(range, "linear", () => { this.isLinear = !this.isLinear; this.contents(); }, this.isLinear).title = "as a sampler reads it";
    this.counts = add(range, "canvas", "", "histogram");
    this.counts.title = "pixels by value, as square roots";
    tell();
  }

  // The pixels by their values, a curve a channel.
  paintHistogram() {
    const { counts: canvas, image, channels } = this, context = canvas.getContext("2d");
    Object.assign(canvas, { width: 256, height: 40 });
    const curves = (image.grey ? ["grey"] : [...channels]).map(channel => [channel, histogram(image, channel)]);
    const most = Math.sqrt(Math.max(1, ...curves.flatMap(([, counts]) => [...counts])));
    context.globalAlpha = 0.6;
    for (const [channel, counts] of curves) {
      context.fillStyle = { r: "red", g: "green", b: "blue" }[channel] ?? "gray";
      counts.forEach((n, i) => { const high = Math.ceil(40 * Math.sqrt(n) / most); context.fillRect(i, 40 - high, 1, high); });
    }
  }

  look() {
    const { image, channels, limits } = this;
    if (image) this.paintHistogram();
    const isPlain = channels.size === 3 && !channels.has("a") && limits[0] === 0 && limits[1] === 1;
    this.picture.show(image, [], image && !(isPlain && image.grey) ? adjusted(image, channels, limits) : image);
  }
}
