// A list of which only the rows in sight exist.
import { add } from "./dom.js";

export class VirtualList {
  // `fill(row, index)` fills the element of a row; `choose(index)` is called for a click.
  constructor(parent, rowHeight, fill, choose) {
    this.height = rowHeight;
    this.fill = fill;
    this.count = 0;
    this.shown = new Map();
    this.box = add(parent, "div", "", "list");
    this.box.tabIndex = 0;
    this.inner = add(this.box, "div", "", "inner");
    this.box.addEventListener("scroll", () => this.update());
    this.inner.addEventListener("click", event => {
      const row = event.target.closest(".row");
      if (row) choose(Number(row.dataset.index));
    });
    new ResizeObserver(() => this.update()).observe(this.box);
  }

  reset(count) {
    this.count = count;
    this.inner.style.height = `${count * this.height}px`;
    this.inner.replaceChildren();
    this.shown.clear();
    this.update();
  }

  update() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / this.height) - 4);
    const last = Math.min(this.count, Math.ceil((this.box.scrollTop + this.box.clientHeight) / this.height) + 4);
    for (const [index, row] of this.shown)
      if (index < first || index >= last) { row.remove(); this.shown.delete(index); }
    for (let index = first; index < last; index++) {
      if (this.shown.has(index)) continue;
      const row = add(this.inner, "div", "", "row");
      row.style.transform = `translateY(${index * this.height}px)`;
      row.dataset.index = String(index);
      this.shown.set(index, row);
      this.fill(row, index);
    }
  }

  // Brings a row into sight.
  show(index) {
    const top = index * this.height, { scrollTop, clientHeight } = this.box;
    if (top < scrollTop || top + this.height > scrollTop + clientHeight)
      this.box.scrollTop = Math.max(0, top - clientHeight / 2);
    this.update();
  }
}
