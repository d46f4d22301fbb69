// Screen 4: the vertices of a draw after each stage, as a table and as wire frames of two stages side by side.
import { add, button } from "./dom.js";
import { VirtualList } from "./list.js";

// The objects of one stage on a canvas.
class Wire {
  constructor(parent, choose) {
    this.box = add(parent, "div", "", "middle");
    this.label = add(this.box, "div", "", "faint label");
    this.canvas = add(this.box, "canvas", "", "wire");
    this.choose = choose;
    this.chosen = new Set();
    this.canvas.addEventListener("click", event => this.pick(event));
    new ResizeObserver(() => this.paint()).observe(this.canvas);
  }

  show(stage, chosen) {
    this.box.hidden = !stage;
    this.label.textContent = stage?.name ?? "";
    this.stage = stage;
    this.mark(chosen);
  }

  mark(chosen) {
    this.chosen = chosen;
    this.paint();
  }

  // Positions on the canvas, which the bounds of all finite ones fill.
  places() {
    const { stage: { rows, position, flip }, canvas } = this;
    if (!position) return null;
    const points = rows.map(row => {
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
    const { canvas, stage, chosen } = this, ratio = devicePixelRatio || 1, context = canvas.getContext("2d");
    canvas.width = canvas.clientWidth * ratio;
    canvas.height = canvas.clientHeight * ratio;
    context.scale(ratio, ratio);
    this.points = stage && this.places();
    if (!this.points) return;
    const style = getComputedStyle(canvas);
    context.lineWidth = 1;
    for (const { vertices, culled } of stage.objects) {
      const corners = vertices.map(i => this.points[i]);
      if (corners.some(p => !p)) continue;
      context.beginPath();
      corners.forEach(([x, y], i) => i ? context.lineTo(x, y) : context.moveTo(x, y));
      if (corners.length > 2) context.closePath();
      context.strokeStyle = style.getPropertyValue(culled ? "--warn" : "--accent");
      context.stroke();
    }
    this.points.forEach((p, i) => {
      const isChosen = chosen.has(i);
      if (!p || (this.points.length > 2000 && !isChosen)) return;
      const size = isChosen ? 9 : 3;
      context.fillStyle = style.getPropertyValue(isChosen ? "--bad" : "--text");
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

export class MeshPane {
  constructor(parent, app) {
    this.app = app;
    this.bar = add(parent, "div", "", "bar");
    const rest = add(parent, "div", "", "split two");
    const left = add(rest, "div", "", "middle");
    this.head = add(left, "div", "", "row head mesh");
    this.list = new VirtualList(left, 22, (row, i) => this.fill(row, i), i => this.choose(this.stage, i));
    this.list.box.addEventListener("scroll", () => { this.head.scrollLeft = this.list.box.scrollLeft; });
    const wires = add(rest, "div", "", "wires");
    this.before = new Wire(wires, i => this.choose(this.stage - 1, i));
    this.after = new Wire(wires, i => this.choose(this.stage, i));
  }

  async show() {
    const { app } = this, { draw, rows } = app;
    this.mesh = null;
    const name = rows.count ? (await app.source.details(draw)).counters.mesh : null;
    const mesh = name ? await app.source.extra(name) : null;
    if (draw !== app.draw) return;
    this.bar.replaceChildren();
    this.head.replaceChildren();
    if (!mesh) {
      add(this.bar, "span", !rows.count ? "This trace has no draws." : app.link ? "This draw has no mesh." : "This report holds no mesh of this draw. Use --draws-full to choose others.", "faint");
      this.list.reset(0);
      this.before.show(null, new Set());
      this.after.show(null, new Set());
      return;
    }
    this.mesh = mesh;
    this.chosen = mesh.stages.map(() => new Set());
    const wanted = mesh.stages.findIndex(stage => stage.name === this.name);
    this.present(wanted < 0 ? mesh.stages.length - 1 : wanted);
  }

  present(index) {
    const { stages } = this.mesh, stage = stages[index];
    this.stage = index;
    this.name = stage.name;
    this.bar.replaceChildren();
    stages.forEach((one, i) => button(this.bar, one.name, () => this.present(i), i === index));
    add(this.bar, "span", stage.note, "faint");
    this.head.replaceChildren();
    for (const column of stage.columns) add(this.head, "span", column, "cell");
    this.list.inner.style.width = `${Math.max(1, stage.columns.length) * 92}px`;
    this.list.reset(stage.rows.length);
    this.before.show(stages[index - 1], this.chosen[index - 1]);
    this.after.show(stage, this.chosen[index]);
    this.reveal();
  }

  fill(row, i) {
    row.classList.toggle("current", this.chosen[this.stage].has(i));
    for (const value of this.mesh.stages[this.stage].rows[i]) {
      const isOdd = typeof value === "string" && /nan|inf/i.test(value);
      add(row, "span", typeof value === "number" ? String(Number(value.toPrecision(6))) : value ?? "", isOdd ? "cell bad" : "cell");
    }
  }

  // Marks a vertex of a stage, those that it was made of, and those that were made of it.
  choose(stage, i) {
    const { stages } = this.mesh, chosen = stages.map(() => new Set());
    chosen[stage].add(i);
    for (let at = stage; at > 0; at--)
      for (const row of chosen[at]) for (const source of stages[at].from[row]) chosen[at - 1].add(source);
    for (let at = stage + 1; at < stages.length; at++)
      stages[at].from.forEach((sources, row) => { if (sources.some(source => chosen[at - 1].has(source))) chosen[at].add(row); });
    this.chosen = chosen;
    for (const [index, row] of this.list.shown) row.classList.toggle("current", chosen[this.stage].has(index));
    this.before.mark(chosen[this.stage - 1]);
    this.after.mark(chosen[this.stage]);
    this.reveal();
  }

  reveal() {
    const [first] = this.chosen[this.stage];
    if (first !== undefined) this.list.show(first);
  }
}
