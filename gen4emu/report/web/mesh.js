// Screen 4: the vertices of a draw as a table and as a wire frame.
import { add, button } from "./dom.js";
import { VirtualList } from "./list.js";

export class MeshPane {
  constructor(parent, app) {
    this.app = app;
    this.bar = add(parent, "div", undefined, "bar");
    const rest = add(parent, "div", undefined, "split two");
    const left = add(rest, "div", undefined, "middle");
    this.head = add(left, "div", undefined, "row head mesh");
    this.list = new VirtualList(left, 22, (row, i) => this.fill(row, i), i => this.choose(i));
    this.list.box.addEventListener("scroll", () => { this.head.scrollLeft = this.list.box.scrollLeft; });
    this.canvas = add(rest, "canvas", undefined, "wire");
    this.canvas.addEventListener("click", event => this.pick(event));
    new ResizeObserver(() => this.paint()).observe(this.canvas);
  }

  async show() {
    const { app } = this, { draw, rows } = app;
    this.mesh = null;
    this.current = -1;
    this.bar.replaceChildren();
    this.head.replaceChildren();
    const name = rows.count ? (await app.source.details(draw)).counters.mesh : null;
    if (draw !== app.draw) return;
    if (!name) {
      add(this.bar, "span", "This report holds no mesh of this draw.", "faint");
      this.list.reset(0);
      this.paint();
      return;
    }
    const mesh = await app.source.extra(name);
    if (draw !== app.draw) return;
    this.mesh = mesh;
    this.stage = Math.min(this.stage ?? mesh.stages.length - 1, mesh.stages.length - 1);
    this.present();
  }

  present() {
    const { mesh } = this;
    this.bar.replaceChildren();
    mesh.stages.forEach((stage, i) => button(this.bar, stage.name, () => { this.stage = i; this.present(); }, i === this.stage));
    add(this.bar, "span", mesh.note, "faint");
    this.columns = mesh.stages[this.stage].columns;
    this.head.replaceChildren();
    for (const column of this.columns) add(this.head, "span", mesh.columns[column], "cell");
    this.list.inner.style.width = `${Math.max(1, this.columns.length) * 92}px`;
    this.list.reset(mesh.rows.length);
    this.paint();
  }

  fill(row, i) {
    row.classList.toggle("current", i === this.current);
    for (const column of this.columns) {
      const value = this.mesh.rows[i][column];
      const isOdd = typeof value === "string" && /nan|inf/i.test(value);
      add(row, "span", typeof value === "number" ? String(Number(value.toPrecision(6))) : value ?? "", isOdd ? "cell bad" : "cell");
    }
  }

  choose(i) {
    this.current = i;
    for (const [index, row] of this.list.shown) row.classList.toggle("current", index === i);
    this.list.show(i);
    this.paint();
  }

  // Positions of the stage on the canvas, which the bounds of all finite ones fill.
  places() {
    const { mesh, canvas } = this, { position, flip } = mesh.stages[this.stage];
    if (!position) return null;
    const points = mesh.rows.map(row => {
      const [x, y, w] = position.map(column => column === null ? 1 : row[column]);
      return [x, y, w].every(Number.isFinite) && w ? [x / w, y / w] : null;
    });
    const known = points.filter(Boolean);
    if (!known.length) return null;
    const [low, high] = [0, 1].map(axis => known.reduce(([a, b], p) => [Math.min(a, p[axis]), Math.max(b, p[axis])], [Infinity, -Infinity]))
      .reduce(([a, b], [c, d]) => [[...a, c], [...b, d]], [[], []]);
    const [width, height] = [canvas.clientWidth - 40, canvas.clientHeight - 40];
    const scale = Math.min(width / (high[0] - low[0] || 1), height / (high[1] - low[1] || 1));
    const [left, top] = [20 + (width - scale * (high[0] - low[0])) / 2, 20 + (height - scale * (high[1] - low[1])) / 2];
    return points.map(p => p && [left + (p[0] - low[0]) * scale,
      flip ? top + (high[1] - p[1]) * scale : top + (p[1] - low[1]) * scale]);
  }

  paint() {
    const { canvas, mesh } = this, ratio = devicePixelRatio || 1, context = canvas.getContext("2d");
    canvas.width = canvas.clientWidth * ratio;
    canvas.height = canvas.clientHeight * ratio;
    context.scale(ratio, ratio);
    this.points = mesh && this.places();
    if (!this.points) return;
    const style = getComputedStyle(canvas);
    context.lineWidth = 1;
    for (const { vertices, culled } of mesh.objects) {
      const corners = vertices.map(i => this.points[i]);
      if (corners.some(p => !p)) continue;
      context.beginPath();
      corners.forEach(([x, y], i) => i ? context.lineTo(x, y) : context.moveTo(x, y));
      if (corners.length > 2) context.closePath();
      context.strokeStyle = style.getPropertyValue(culled ? "--warn" : "--accent");
      context.stroke();
    }
    this.points.forEach((p, i) => {
      if (!p || (this.points.length > 2000 && i !== this.current)) return;
      const size = i === this.current ? 9 : 3;
      context.fillStyle = style.getPropertyValue(i === this.current ? "--bad" : "--text");
      context.fillRect(p[0] - size / 2, p[1] - size / 2, size, size);
    });
  }

  pick({ offsetX, offsetY }) {
    let [nearest, best] = [-1, 200];
    (this.points ?? []).forEach((p, i) => {
      const distance = p ? (p[0] - offsetX) ** 2 + (p[1] - offsetY) ** 2 : Infinity;
      if (distance < best) [nearest, best] = [i, distance];
    });
    if (nearest >= 0) this.choose(nearest);
  }
}
