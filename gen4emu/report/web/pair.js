// Two pictures of one size: side by side, with a swipe, as flicker, one above the other, and as a map of their differences.
import { add, SIDES } from "./dom.js";
import { PictureView } from "./picture.js";

export const MODES = ["side by side", "swipe", "flicker", "onion skin", "heat map"];
const FLICKER = 600;  // milliseconds

class PairCanvas extends PictureView {
  constructor(parent, label) {
    super(parent);
    this.label = add(this.box.firstChild, "b", label);
    this.mode = "";
    this.share = 0.5;
    this.canvas.addEventListener("pointermove", event => {
      if (this.mode !== "swipe" || event.buttons) return;
      this.share = event.offsetX / this.canvas.clientWidth;
      this.paint();
    });
  }

  // `image` is shown, `other` may cover it, and both pictures give the values of a pixel.
  pair(image, other, mode, both) {
    this.mode = mode;
    this.both = both;
    this.other = other ? this.offscreen(other) : null;
    this.show(image);
  }

  paint() {
    const { mode, other, pixels, canvas } = this;
    if (!other || !pixels) super.paint();
    else if (mode === "flicker") this.with(this.isOther ? other : pixels);
    else {
      super.paint();
      const context = canvas.getContext("2d"), ratio = devicePixelRatio || 1;
      context.save();
      if (mode === "swipe") {
        context.setTransform(1, 0, 0, 1, 0, 0);
        const at = Math.round(canvas.width * this.share);
        context.beginPath();
        context.rect(at, 0, canvas.width - at, canvas.height);
        context.clip();
        this.with(other);
        context.setTransform(1, 0, 0, 1, 0, 0);
        context.fillStyle = "#fff";
        context.fillRect(at, 0, ratio, canvas.height);
        context.fillStyle = "#000";
        context.fillRect(at + ratio, 0, ratio, canvas.height);
      } else {
        context.globalAlpha = this.share;
        context.drawImage(other, 0, 0);
      }
      context.restore();
    }
    if (this.twin && !this.isFollowing) this.twin.follow(this);
  }

  with(pixels) {
    const own = this.pixels;
    this.pixels = pixels;
    super.paint();
    this.pixels = own;
  }

  // The same place as another canvas.
  follow({ zoom, x, y, picked }) {
    this.isFollowing = true;
    Object.assign(this, { zoom, x, y, picked, isFitting: false });
    this.paint();
    if (picked) this.tell(...picked);
    this.isFollowing = false;
  }

  tell(x, y) {
    super.tell(x, y);
    if (!this.both || !this.value.textContent) return;
    this.value.textContent = [`${x},${y}`, ...this.both.map((image, i) => `${SIDES[i]} ${valueAt(image, x, y)}`)].join(" · ");
  }
}

export class PairView {
  constructor(parent) {
    this.box = add(parent, "div", "", "pairs");
    this.first = new PairCanvas(this.box, "left");
    this.second = new PairCanvas(this.box, "right");
    this.opacity = add(this.first.box.firstChild, "input");
    Object.assign(this.opacity, { type: "range", min: 0, max: 100, value: 50, title: "opacity of the right picture" });
    this.opacity.addEventListener("input", () => { this.first.share = Number(this.opacity.value) / 100; this.first.paint(); });
    setInterval(() => {
      const { first } = this;
      if (first.mode !== "flicker" || !first.both || document.hidden || !this.box.offsetParent) return;
      first.isOther = !first.isOther;
      first.label.textContent = first.isOther ? "right" : "left";
      first.paint();
    }, FLICKER);
  }

  // Pictures of two sizes can only be seen side by side.  Returns what the map shows: its pixels and the largest error.
  show(left, right, mask, mode) {
    const { first, second } = this;
    const isAlike = left && right && left.width === right.width && left.height === right.height;
    const shown = isAlike ? mode : MODES[0], isPair = Boolean(right) && shown === MODES[0];
    if (second.box.hidden === isPair) first.isFitting = true;  // its width changes
    second.box.hidden = !isPair;
    this.opacity.hidden = shown !== "onion skin";
    first.twin = second.twin = null;
    first.share = 0.5;
    first.isOther = false;
    this.opacity.value = 50;
    first.label.textContent = { "swipe": "left | right", "onion skin": "left, right above", "heat map": "black: equal" }[shown] ?? "left";
    const both = isAlike ? [left, right] : null;
    const map = isAlike && shown === "heat map" ? heatMap(left, right, mask) : null;
    first.pair(map?.image ?? left, isPair || map ? null : right, shown, isPair ? null : both);
    if (isPair) {
      second.pair(right, null, shown, null);
      if (isAlike) { first.twin = second; second.twin = first; first.paint(); }
    }
    return map;
  }
}

// Black where pixels are equal; blue, red, yellow, white the more they differ (white: the largest error).
export function heatMap(left, right, mask) {
  const { width, height } = left, size = width * height;
  const errors = new Uint16Array(size);
  let largest = 0, count = 0;
  for (let i = 0; i < size; i++) {
    if (left.grey && right.grey) errors[i] = Math.abs(left.grey[i] - right.grey[i]);
    else for (let c = 4 * i; c < 4 * i + 4; c++) errors[i] = Math.max(errors[i], Math.abs(left.rgba[c] - right.rgba[c]));
    largest = Math.max(largest, errors[i]);
  }
  const rgba = new Uint8ClampedArray(4 * size), bound = n => Math.floor(255 * Math.max(0, Math.min(1, n)));
  for (let i = 0; i < size; i++) {
    rgba[4 * i + 3] = 255;
    if (mask ? !mask[i] : !errors[i]) continue;
    count++;
    const hot = 0.25 + 0.75 * (largest ? errors[i] / largest : 0);
    rgba[4 * i] = bound(hot * 3 - 0.75);
    rgba[4 * i + 1] = bound(hot * 3 - 1.5);
    rgba[4 * i + 2] = hot < 0.5 ? bound(hot * 4) : bound(hot * 4 - 3);
  }
  return { image: { width, height, rgba, grey: null }, largest, count };
}

function valueAt(image, x, y) {
  const at = y * image.width + x;
  return image.grey ? String(image.grey[at]) : [...image.rgba.slice(4 * at, 4 * at + 4)].join(" ");
}
