// Screen 6: kernels as disassembly with counts for each instruction.
import { add, button, copy, hex, link, plural, short } from "./dom.js";
import { share } from "./overview.js";

export class KernelsPane {
  constructor(parent, app) {
    this.app = app;
    const rest = add(parent, "div", "", "split narrow");
    this.list = add(rest, "div", "", "scroll side");
    this.code = add(rest, "div", "", "scroll code");
    this.load();
  }

  async load() {
    this.kernels = [...await this.app.source.kernels()].sort((a, b) => b.cost - a.cost || a.number - b.number);
    this.total = this.kernels.reduce((sum, kernel) => sum + kernel.cost, 0) || 1;
    this.kernels.forEach(kernel => {
      const one = link(this.list, "", `pane=kernels&kernel=${kernel.number}`);
      one.className = "kernel";
      one.dataset.number = String(kernel.number);
      add(one, "b", `${kernel.number} ${kernel.stages.join(", ")}`);
      add(one, "span", `${plural(kernel.lines.length, "instruction")}, ${plural(kernel.draw_count, "draw")}`, "faint");
      one.append(share(kernel.cost / this.total));
    });
    this.show();
  }

  show() {
    if (!this.kernels) return;
    const wanted = Number(this.app.place.get("kernel") ?? this.kernels[0]?.number);
    const kernel = this.kernels.find(one => one.number === wanted);
    for (const one of this.list.children) one.classList.toggle("current", one.dataset.number === String(wanted));
    this.code.replaceChildren();
    if (!kernel) { add(this.code, "p", this.kernels.length ? `There is no kernel ${wanted}.` : "The trace runs no kernel.", "faint"); return; }
    this.title(kernel);
    this.beside = add(this.code, "div", "", "beside");
    this.lines(kernel);
    this.sources(kernel);
  }

  title(kernel) {
    const bar = add(this.code, "div", "", "bar");
    add(bar, "h2", `Kernel ${kernel.number}`);
    add(bar, "span", `${kernel.stages.join(", ")} at ${kernel.addresses.map(hex).join(", ")}`, "faint");
    const made = button(bar, "copy as assembler", () => {
      made.textContent = copy(kernel.lines.map(line => line.text).join("\n") + "\n") ? "copied" : "not copied";
    });
    const draws = add(this.code, "p", "draws ", "faint");
    for (const [first, last] of kernel.draws.slice(0, 30).map(rows => rows.map(row => this.app.numberOf(row)))) {
      link(draws, first === last ? String(first) : `${first}-${last}`, `draw=${first}&pane=draw`);
      add(draws, "span", " ");
    }
    if (kernel.origin) add(this.code, "p", `compiled from ${kernel.origin}`, "origin");
    if (kernel.sources === null) add(this.code, "p", "GLSL and NIR of this kernel are left out: the page would become too large.", "faint");
    if (!kernel.live_known) add(this.code, "p", "Live registers are unknown: channels may continue anywhere, or any register may be read.", "faint");
    if (!kernel.complete) add(this.code, "p", "The end of this kernel is not in the trace.", "bad");
  }

  // GLSL and NIR beside the disassembly.  The form that was chosen stays for other kernels.
  sources(kernel) {
    if (!kernel.sources?.length) return;
    const box = add(this.beside, "div", "", "sources"), tabs = add(box, "div", undefined, "bar"), text = add(box, "ol", undefined, "scroll");
    const show = chosen => {
      text.replaceChildren();
      for (const line of chosen.text.replace(/\n$/, "").split("\n")) add(text, "li", line);
      kernel.sources.forEach((one, i) => tabs.children[i].setAttribute("aria-pressed", String(one === chosen)));
    };
    for (const one of kernel.sources) button(tabs, one.title, () => { this.chosen = one; show(one); });
    const like = part => this.chosen && kernel.sources.find(one => part(one.title) === part(this.chosen.title));
    show(like(title => title) ?? like(title => title.split(",")[0]) ?? kernel.sources[0]);
  }

  lines(kernel) {
    const most = Math.max(1, ...kernel.lines.map(line => line.executions ?? 0));
    const all = kernel.lines.reduce((sum, line) => sum + (line.executions ?? 0), 0) || 1;
    const counted = kernel.lines.some(line => line.executions !== null);
    const box = add(this.beside, "div", "", "listing");
    const arcs = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const made = add(box, "table", "", "lines");
    const head = add(add(made, "thead"), "tr");
    for (const text of ["", "offset", ...counted ? ["executed", "channels", "share", ""] : [], "live", "instruction"]) add(head, "th", text);
    head.cells[head.cells.length - 2].title = "registers that may be read again; those read as scalars, with strides or as payloads count everywhere";
    const body = add(made, "tbody");
    const at = new Map();
    kernel.lines.forEach((line, i) => {
      at.set(line.offset, i);
      const row = add(body, "tr");
      if (line.executions === 0) { row.className = "dead"; row.title = "never executed"; }
      add(row, "td", "", "arcs");
      add(row, "td", line.offset.toString(16).padStart(4, "0"), "number faint");
      if (counted) {
        add(row, "td", line.executions === null ? "" : short(line.executions), "number");
        add(row, "td", line.executions ? (line.channels / line.executions).toFixed(1) : "", "number");
        add(row, "td", line.executions ? `${(100 * line.executions / all).toFixed(1)} %` : "", "number faint");
        const heat = add(add(row, "td", "", "heat"), "i");
        heat.style.width = `${Math.round(48 * (line.executions ?? 0) / most)}px`;
        if (line.executions) row.style.setProperty("--heat", `${Math.round(30 * line.executions / most)}%`);
      }
      add(row, "td", line.live === null ? "" : String(line.live), "number faint");
      const text = add(row, "td", line.text, "text");
      if (line.nan || line.inf)
        add(text, "em", [line.nan && `${short(line.nan)} NaN`, line.inf && `${short(line.inf)} infinite`].filter(Boolean).join(", "));
      if (line.message) add(text, "span", line.message, "message");
    });
    box.append(arcs);
    this.arcs(arcs, kernel, at, body);
  }

  // Jumps as arcs from the instruction to its destination.
  arcs(svg, kernel, at, body) {
    svg.setAttribute("width", "56");
    svg.setAttribute("height", String(body.parentElement.offsetHeight));
    const middle = i => body.rows[i].offsetTop + body.rows[i].offsetHeight / 2;
    for (const [from, line] of kernel.lines.entries()) {
      const to = at.get(line.target);
      if (to === undefined || to === from) continue;
      const [y1, y2] = [middle(from), middle(to)], depth = Math.min(46, 8 + 4 * Math.sqrt(Math.abs(to - from)));
      const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
      path.setAttribute("d", `M54 ${y1} C${54 - depth} ${y1} ${54 - depth} ${y2} 54 ${y2}`);
      path.setAttribute("class", to < from ? "back" : "");
      svg.append(path);
      const arrow = document.createElementNS("http://www.w3.org/2000/svg", "path");
      arrow.setAttribute("d", `M54 ${y2} l-6 -3 v6 z`);
      arrow.setAttribute("class", "arrow");
      svg.append(arrow);
    }
  }
}
