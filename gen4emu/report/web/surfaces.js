// Screen 5: every surface that a draw used, and which draws wrote and read it.
import { add, hex, link, plural, short, table } from "./dom.js";
import { PictureView } from "./picture.js";

export class SurfacesPane {
  constructor(parent, app) {
    this.app = app;
    const rest = add(parent, "div", undefined, "split two");
    this.table = add(rest, "div", undefined, "scroll");
    const right = add(rest, "div", undefined, "middle");
    this.about = add(right, "div", undefined, "about");
    this.picture = new PictureView(right);
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
    if (this.surfaces.length) this.choose(Math.max(0, this.surfaces.findIndex(s => s.picture)));
    else add(this.table, "p", "No draw used a surface.", "faint");
  }

  first(surface) {
    if (surface.first_written === null) return "uploaded";
    return link(document.createDocumentFragment(), `draw ${surface.first_written}`, `draw=${surface.first_written}&pane=draw`);
  }

  show() {}

  async choose(i) {
    const surface = this.surfaces[i];
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
      for (const draw of draws.slice(0, 40)) {
        link(line, String(draw), `draw=${draw}&pane=draw`);
        add(line, "span", " ");
      }
      if (draws.length > 40) add(line, "span", `and ${draws.length - 40} more`, "faint");
    }
    this.picture.show(surface.picture ? await this.app.source.picture(surface.picture) : null);
    if (!surface.picture) add(this.about, "p", "This report holds no picture of this surface.", "faint");
  }
}
