// Screen 7: counters of all draws as charts, and as files.
import { add, button, hex, save, short } from "./dom.js";

const CHARTS = [["instructions", "EU instructions"], ["written", "fragments written"], ["fragments", "fragments"], ["vertices", "vertices"],
  ["depth_failed", "fragments that failed the depth test"], ["killed", "fragments killed by the pixel shader"],
  ["read_bytes", "bytes read"], ["written_bytes", "bytes written"]];

export class StatisticsPane {
  constructor(parent, app) {
    this.app = app;
    const bar = add(parent, "div", "", "bar");
    add(bar, "span", "Click a bar to see its draw. Save the counters:", "faint");
    button(bar, "CSV", () => save("counters.csv", "text/csv", this.csv()));
    button(bar, "JSON", () => save("counters.json", "application/json", this.json()));
    button(bar, "Chrome trace", () => save("trace.json", "application/json", this.timeline()));
    const page = add(parent, "div", "", "scroll charts");
    this.charts = CHARTS.filter(([name]) => app.rows[name]?.some(n => n)).map(([name, title]) => {
      const box = add(page, "section");
      const head = add(box, "h3", title);
      add(head, "span", ` ${short(app.rows[name].reduce((a, b) => a + b, 0))} in all`, "faint");
      const canvas = add(box, "canvas");
      canvas.addEventListener("click", event =>
        app.go({ draw: Math.min(app.rows.count - 1, Math.floor(event.offsetX / canvas.clientWidth * app.rows.count)), pane: "draw" }));
      new ResizeObserver(() => this.paint(canvas, name)).observe(canvas);
      return { canvas, name };
    });
    if (!this.charts.length) add(page, "p", "Nothing was counted.", "faint");
  }

  show() { for (const { canvas, name } of this.charts) this.paint(canvas, name); }

  // One bar a draw; of several draws in one column of pixels, the largest.
  paint(canvas, name) {
    const { rows, draw } = this.app, ratio = devicePixelRatio || 1, context = canvas.getContext("2d");
    const width = canvas.width = canvas.clientWidth * ratio, height = canvas.height = canvas.clientHeight * ratio;
    const values = rows[name], most = values.reduce((a, b) => Math.max(a, b), 1), style = getComputedStyle(canvas);
    const step = width / rows.count, columns = new Float64Array(Math.ceil(width));
    const current = Math.floor(draw * step);
    context.fillStyle = style.getPropertyValue("--accent");
    if (step < 1) {
      values.forEach((n, i) => { const x = Math.floor(i * step); columns[x] = Math.max(columns[x], n); });
      columns.forEach((n, x) => context.fillRect(x, height - n / most * (height - 14), 1, height));
    } else {
      values.forEach((n, i) => context.fillRect(i * step, height - n / most * (height - 14), Math.max(1, Math.min(40, step - 1)), height));
    }
    context.fillStyle = style.getPropertyValue("--bad");
    context.fillRect(current, 0, Math.max(1, ratio), height);
    context.fillStyle = style.getPropertyValue("--faint");
    context.font = `${11 * ratio}px system-ui, sans-serif`;
    context.fillText(short(most), 4 * ratio, 11 * ratio);
  }

  columns() {
    const { rows } = this.app;
    return Object.keys(rows).filter(name => Array.isArray(rows[name]) && name !== "thumb");
  }

  csv() {
    const names = this.columns(), { rows } = this.app;
    const places = value => value.map(one => typeof one === "number" ? hex(one) : one).join(" ");
    const quote = value => typeof value === "number" ? value :
      `"${(Array.isArray(value) ? places(value) : value).replaceAll('"', '""')}"`;
    const lines = Array.from({ length: rows.count }, (_, i) => names.map(name => quote(rows[name][i])).join(","));
    return [names.join(","), ...lines, ""].join("\n");
  }

  json() {
    const names = this.columns(), { rows } = this.app;
    return JSON.stringify(Array.from({ length: rows.count }, (_, row) =>
      Object.fromEntries(names.map(name => [name, rows[name][row]]))), null, 1);
  }

  // For Perfetto and chrome://tracing: a microsecond stands for 1,000 instructions.
  timeline() {
    const { rows } = this.app;
    const events = [["process_name", 0, this.app.source.overview.title], ["thread_name", 1, "frames"], ["thread_name", 2, "draws"]]
      .map(([name, tid, text]) => ({ name, ph: "M", pid: 1, tid, args: { name: text } }));
    let [at, frame, begin] = [0, null, 0];
    const end = () => frame !== null && events.push({ name: `frame ${frame}`, ph: "X", pid: 1, tid: 1, ts: begin, dur: at - begin });
    for (let draw = 0; draw < rows.count; draw++) {
      if (rows.frame[draw] !== frame) { end(); [frame, begin] = [rows.frame[draw], at]; }
      const dur = rows.instructions[draw] / 1000;
      events.push({ name: `${this.app.numberOf(draw)} ${this.app.title(draw)}`, ph: "X", pid: 1, tid: 2, ts: at, dur,
        args: { written: rows.written[draw], instructions: rows.instructions[draw] } });
      at += dur;
    }
    end();
    return JSON.stringify({ displayTimeUnit: "ms", traceEvents: events });
  }
}
