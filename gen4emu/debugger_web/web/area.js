// A rectangle of a picture, chosen by a drag with shift: its values, and the option that limits a replay to it.
import { add, button } from "../dom.js";

export class Area {
  // `onClick` gets a pixel that was clicked with shift.
  constructor(picture, onClick) {
    this.picture = picture;
    this.line = add(picture.box, "p", undefined, "faint note area");
    this.corners = null;  // [left, top, right, bottom], inclusive
    const { box, canvas } = picture, paint = picture.paint.bind(picture);
    picture.paint = () => { paint(); this.paint(); };
    const listen = (name, work) => box.addEventListener(name, event => {
      if (event.target !== canvas || !(event.shiftKey || this.from)) return;
      event.stopPropagation();
      work(this.place(event), event);
    }, true);
    listen("pointerdown", (at, event) => {
      this.from = at;
      this.isDrag = false;
      this.choose(null);
      canvas.setPointerCapture(event.pointerId);
    });
    listen("pointermove", at => {
      if (!this.from) return;
      this.isDrag ||= at.join() !== this.from.join();
      if (this.isDrag) this.choose(at);
    });
    listen("click", at => {
      if (!this.isDrag) onClick(...at);
      this.from = null;
    });
  }

  place(event) { return this.picture.at(event).map(Math.floor); }

  choose(to) {
    const { image } = this.picture, { from } = this;
    const inside = (n, size) => Math.max(0, Math.min(size - 1, n));
    this.corners = to && image ? [inside(Math.min(from[0], to[0]), image.width), inside(Math.min(from[1], to[1]), image.height),
      inside(Math.max(from[0], to[0]), image.width), inside(Math.max(from[1], to[1]), image.height)] : null;
    this.picture.paint();
    this.tell();
  }

  // The smallest and the largest value of something inside.
  range(value) {
    const [left, top, right, bottom] = this.corners, { width } = this.picture.image;
    let low = Infinity, high = -Infinity, sum = 0;
    for (let y = top; y <= bottom; y++) for (let x = left; x <= right; x++) {
      const found = value(y * width + x);
      low = Math.min(low, found);
      high = Math.max(high, found);
      sum += found;
    }
    return { low, high, sum };
  }

  // Another picture may be shown in the same place.
  tell() {
    const { line, corners, picture: { image, planes } } = this;
    line.replaceChildren();
    if (!corners || !image) return;
    const [left, top, right, bottom] = corners, texts = [`${left},${top} to ${right},${bottom}, ${right - left + 1}×${bottom - top + 1} pixels`];
    const channels = image.grey ? [["grey", i => image.grey[i]]] : [..."rgba"].map((name, c) => [name, i => image.rgba[4 * i + c]]);
    for (const [name, value] of channels) {
      const { low, high } = this.range(value);
      texts.push(low === high ? `${name} ${low}` : `${name} ${low} to ${high}`);
    }
    for (const { name, counts } of planes) {
      const { low, high, sum } = this.range(i => counts[i]);
      texts.push(`${name} ${low} to ${high}, ${sum} in all`);
    }
    add(line, "span", `${texts.join(" · ")} · gen4emu replay `);
    add(line, "code", `--clip ${corners.join(" ")}`);
    button(line, "×", () => this.choose(null)).title = "forget the rectangle";
  }

  paint() {
    const { corners, picture: { canvas, zoom, x, y, image } } = this;
    if (!corners) return;
    if (!image || corners[2] >= image.width || corners[3] >= image.height) { this.corners = null; this.tell(); return; }
    const [left, top, right, bottom] = corners, ratio = devicePixelRatio || 1, context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.lineWidth = 2;
    for (const [color, dash] of [["#000", []], ["#fff", [4, 4]]]) {
      context.setLineDash(dash);
      context.strokeStyle = color;
      context.strokeRect((left - x) * zoom, (top - y) * zoom, (right - left + 1) * zoom, (bottom - top + 1) * zoom);
    }
    context.setLineDash([]);
  }
}
