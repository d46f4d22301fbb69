// A picture on a canvas: zoom by wheel, move by drag, values of single pixels, planes of counts above it.
import { add, button } from "./dom.js";

export const PLANE_COLORS = ["#ff2d6f", "#ffb000", "#00c2ff", "#9d5cff", "#31d158", "#ff7a1a", "#e8e8e8"];

function opacity(share) { return 90 + 150 * share; }

// The color of a count that is this share of the largest.
export function layerColor(color, share) { return color + Math.round(opacity(share)).toString(16); }

export class PictureView {
  constructor(parent) {
    this.box = add(parent, "div", "", "picture");
    const bar = add(this.box, "div", "", "bar");
    button(bar, "fit", () => this.fit());
    for (const zoom of [1, 2, 4, 8]) button(bar, `${zoom}:1`, () => this.enlarge(zoom));
    this.value = add(bar, "span", "", "value");
    this.canvas = add(this.box, "canvas");
    this.canvas.tabIndex = 0;
    this.image = null;
    this.planes = [];
    this.zoom = 1;
    this.x = this.y = 0;  // the pixel in the upper left corner
    this.picked = null;
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.box);
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener("wheel", event => {
      event.preventDefault();
      const factor = event.deltaY < 0 ? 2 ** 0.5 : 0.5 ** 0.5;
      const [px, py] = this.at(event);
      this.zoom = Math.min(64, Math.max(0.05, this.zoom * factor));
      this.x = px - event.offsetX / this.zoom;
      this.y = py - event.offsetY / this.zoom;
      this.isFitting = false;
      this.paint();
    }, { passive: false });
    let last = null;
    canvas.addEventListener("pointerdown", event => { last = event; canvas.setPointerCapture(event.pointerId); });
    canvas.addEventListener("pointermove", event => {
      if (last && event.buttons) {
        this.x -= (event.offsetX - last.offsetX) / this.zoom;
        this.y -= (event.offsetY - last.offsetY) / this.zoom;
        last = event;
        this.isFitting = false;
        this.paint();
      }
      if (!this.picked) this.tell(...this.at(event).map(Math.floor));
    });
    canvas.addEventListener("click", event => {
      const at = this.at(event).map(Math.floor);
      this.picked = this.picked && this.picked.join() === at.join() ? null : at;
      this.tell(...at);
      this.paint();
    });
  }

  at(event) { return [this.x + event.offsetX / this.zoom, this.y + event.offsetY / this.zoom]; }

  // `image`: { width, height, rgba, grey }; the place is kept if the size stays.  `seen`: other colors for its pixels,
  // whose values are those of the image.
  show(image, planes = [], seen = image) {
    const isNew = image?.width !== this.image?.width || image?.height !== this.image?.height;
    this.image = image;
    this.planes = planes;
    this.pixels = image ? this.offscreen(seen) : null;
    this.layers = planes.map(plane => this.layer(plane));
    if (isNew || this.isFitting) this.fit();
    this.paint();
    if (this.picked) this.tell(...this.picked);
  }

  offscreen({ width, height, rgba }) {
    const made = new OffscreenCanvas(width, height);
    made.getContext("2d").putImageData(new ImageData(rgba, width, height), 0, 0);
    return made;
  }

  // Counts as one color whose opacity grows with the count.
  layer({ counts, color, width, height }) {
    const most = counts.reduce((a, b) => Math.max(a, b), 1);
    const rgba = new Uint8ClampedArray(4 * width * height);
    const parts = [1, 3, 5].map(i => parseInt(color.slice(i, i + 2), 16));
    for (let i = 0; i < counts.length; i++) {
      if (!counts[i]) continue;
      rgba.set(parts, 4 * i);
      rgba[4 * i + 3] = opacity(counts[i] / most);
    }
    return this.offscreen({ width, height, rgba });
  }

  resize() {
    const ratio = devicePixelRatio || 1;
    const { clientWidth, clientHeight } = this.canvas;
    if (!clientWidth || !clientHeight) return;
    if (this.size && this.isFitting === false) {  // what is in the middle stays there
      this.x += Math.round((this.size[0] - clientWidth) / 2) / this.zoom;
      this.y += Math.round((this.size[1] - clientHeight) / 2) / this.zoom;
    }
    this.size = [clientWidth, clientHeight];
    this.canvas.width = Math.round(clientWidth * ratio);
    this.canvas.height = Math.round(clientHeight * ratio);
    if (this.isFitting !== false) this.fit();
    this.paint();
  }

  fit() {
    this.isFitting = true;
    if (!this.image) return;
    const { clientWidth, clientHeight } = this.canvas;
    const fitting = Math.min(clientWidth / this.image.width, clientHeight / this.image.height);
    this.zoom = fitting >= 1 ? Math.min(8, Math.floor(fitting)) : fitting;
    this.x = (this.image.width - clientWidth / this.zoom) / 2;
    this.y = (this.image.height - clientHeight / this.zoom) / 2;
    this.paint();
  }

  enlarge(zoom) {
    this.isFitting = false;
    const { clientWidth, clientHeight } = this.canvas;
    const [cx, cy] = this.picked ?? [this.x + clientWidth / 2 / this.zoom, this.y + clientHeight / 2 / this.zoom];
    this.zoom = zoom;
    this.x = Math.round(cx - clientWidth / 2 / zoom);
    this.y = Math.round(cy - clientHeight / 2 / zoom);
    if (this.image && this.image.width * zoom <= clientWidth) this.x = Math.round((this.image.width - clientWidth / zoom) / 2);
    if (this.image && this.image.height * zoom <= clientHeight) this.y = Math.round((this.image.height - clientHeight / zoom) / 2);
    this.paint();
  }

  paint() {
    const context = this.canvas.getContext("2d"), ratio = devicePixelRatio || 1;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    if (!this.pixels) return;
    const { zoom, image: { width, height } } = this;
    context.setTransform(ratio * zoom, 0, 0, ratio * zoom, -this.x * zoom * ratio, -this.y * zoom * ratio);
    context.imageSmoothingEnabled = zoom < 1;
    context.drawImage(this.pixels, 0, 0);
    for (const layer of this.layers) context.drawImage(layer, 0, 0);
    if (zoom >= 12) this.grid(context);
    if (this.picked) {
      context.lineWidth = 1.5 / zoom;
      context.strokeStyle = "#fff";
      context.strokeRect(this.picked[0], this.picked[1], 1, 1);
      context.strokeStyle = "#000";
      context.strokeRect(this.picked[0] - 1.5 / zoom, this.picked[1] - 1.5 / zoom, 1 + 3 / zoom, 1 + 3 / zoom);
    }
    context.lineWidth = 1 / zoom;
    context.strokeStyle = "#8886";
    context.strokeRect(0, 0, width, height);
  }

  grid(context) {
    const { zoom, image: { width, height } } = this;
    context.beginPath();
    const right = Math.min(width, this.x + this.canvas.clientWidth / zoom);
    const bottom = Math.min(height, this.y + this.canvas.clientHeight / zoom);
    for (let x = Math.max(0, Math.floor(this.x)); x <= right; x++) { context.moveTo(x, 0); context.lineTo(x, bottom); }
    for (let y = Math.max(0, Math.floor(this.y)); y <= bottom; y++) { context.moveTo(0, y); context.lineTo(right, y); }
    context.lineWidth = 1 / zoom;
    context.strokeStyle = "#8884";
    context.stroke();
  }

  tell(x, y) {
    const { image } = this;
    if (!image || x < 0 || y < 0 || x >= image.width || y >= image.height) { this.value.textContent = ""; return; }
    const at = y * image.width + x;
    const shown = image.grey ? `${image.grey[at]} of 65535` : `rgba ${[...image.rgba.slice(4 * at, 4 * at + 4)].join(" ")}`;
    const counts = this.planes.map(plane => `${plane.name} ${plane.counts[at]}`);
    this.value.textContent = [`${x},${y}`, shown, ...counts].join(" · ");
  }
}

// The smallest and the largest value of some channels ("rgba"), from 0 to 1.
export function valueRange({ rgba, grey }, channels) {
  let low = Infinity, high = -Infinity;
  const take = (values, first, step, most) => {
    for (let i = first; i < values.length; i += step) {
      if (values[i] < low * most) low = values[i] / most;
      if (values[i] > high * most) high = values[i] / most;
    }
  };
  if (grey) take(grey, 0, 1, 65535);
  else for (const channel of channels) take(rgba, "rgba".indexOf(channel), 4, 255);
  return low <= high ? [low, high] : [0, 1];
}

// How many pixels have each of 256 values of a channel.
export function histogram({ rgba, grey, width, height }, channel) {
  const counts = new Uint32Array(256), at = "rgba".indexOf(channel);
  for (let i = 0; i < width * height; i++) counts[grey ? grey[i] >> 8 : rgba[4 * i + at]]++;
  return counts;
}

// A picture in sRGB with the linear values of its colors.
export function toLinear(image) {
  const values = Uint8Array.from({ length: 256 }, (_, i) => {
    const stored = i / 255;
    return Math.round(255 * (stored <= 0.04045 ? stored / 12.92 : ((stored + 0.055) / 1.055) ** 2.4));
  });
  return { ...image, rgba: image.rgba.map((value, i) => i % 4 === 3 ? value : values[value]) };
}

// Some channels of a picture, one alone as grey, with the values from low to high as black to white.
export function adjusted(image, channels, [low, high]) {
  const { rgba, grey, width, height } = image, scale = 1 / Math.max(high - low, 1e-6);
  const made = new Uint8ClampedArray(rgba.length), wanted = [..."rgba"].filter(channel => channels.has(channel));
  const level = value => 255 * (value - low) * scale;
  for (let i = 0; i < width * height; i++) {
    const at = 4 * i;
    made[at + 3] = 255;
    if (grey) made[at] = made[at + 1] = made[at + 2] = level(grey[i] / 65535);
    else if (wanted.length === 1) made[at] = made[at + 1] = made[at + 2] = level(rgba[at + "rgba".indexOf(wanted[0])] / 255);
    else for (const channel of wanted) {
      const c = "rgba".indexOf(channel);
      made[at + c] = c === 3 ? rgba[at + 3] : level(rgba[at + c] / 255);
    }
  }
  return { ...image, rgba: made };
}

// The pixels that differ, as bright as they differ; null if sizes do not match.
export function difference(before, after) {
  if (!before || before.width !== after.width || before.height !== after.height) return null;
  const rgba = new Uint8ClampedArray(after.rgba.length);
  for (let i = 0; i < rgba.length; i += 4) {
    let most = 0;
    for (let c = 0; c < 4; c++) most = Math.max(most, Math.abs(after.rgba[i + c] - before.rgba[i + c]));
    const isSame = before.grey ? before.grey[i >> 2] === after.grey[i >> 2] : most === 0;
    const level = isSame ? 0 : 80 + most;
    rgba[i] = level;
    rgba[i + 1] = level / 2;
    rgba[i + 3] = 255;
  }
  return { ...after, rgba, grey: null };
}
