// Screen 1: the trace at a glance.
import { add, link, plural, short, table, whole } from "./dom.js";
import { thumbnail } from "./thumbnail.js";

const MOST = 10;

export class Overview {
  constructor(parent, app) {
    const { overview } = app.source;
    const page = add(parent, "div", "", "scroll columns");
    this.facts(add(page, "section"), overview);
    this.findings(add(page, "section"), overview, app);
    this.frames(add(page, "section", "", "wide"), overview, app);
    this.costly(add(page, "section"), app);
    this.kernels(add(page, "section"), app);
    this.features(add(page, "section", "", "wide"), overview);
  }

  show() {}

  facts(box, { title, device, container, application, comments, counts, version, left_out: leftOut }) {
    add(box, "h2", "Trace");
    table(box, [], [
      ["file", title], ["device", device ? `${device.marketing} (${device.name})` : "unknown"], ["container", container],
      ...application ? [["program", application]] : [], ...comments.map(text => ["comment", text]),
      ["contents", [plural(counts.frames, "frame"), plural(counts.submissions, "submission"), plural(counts.draws, "draw"),
        plural(counts.kernels, "kernel")].join(", ")],
      ["made by", `gen4emu ${version}`], ...leftOut.map(text => ["left out", text]),
    ], "facts");
  }

  findings(box, { findings }, app) {
    add(box, "h2", findings.length ? `Findings (${findings.length})` : "Findings");
    if (!findings.length) { add(box, "p", "No faults, no invalid state, no hang.", "faint"); return; }
    const list = add(box, "ul", "", "findings");
    for (const finding of findings) {
      const item = add(list, "li", "", finding.severity);
      add(item, "span", finding.text);
      if (finding.count > 1) add(item, "span", ` ${whole(finding.count)} times`, "faint");
      if (app.rows.draw?.includes(finding.draw)) link(add(item, "span", " "), `draw ${finding.draw}`, `draw=${finding.draw}&pane=draw`);
    }
  }

  frames(box, { frames }, app) {
    add(box, "h2", "Frames");
    const strip = add(box, "div", "", "filmstrip");
    const [cost, written] = ["instructions", "written"].map(name => Math.max(1, ...frames.map(frame => frame[name])));
    const fill = entries => entries.forEach(entry => entry.isIntersecting && entry.target.fill());
    const near = new IntersectionObserver(fill, { root: strip, rootMargin: "0px 500px" });
    for (const frame of frames.slice(0, 2000)) {
      const one = link(strip, "", `draw=${app.numberOf(frame.last ?? 0)}&pane=draw`);
      one.className = "frame";
      one.fill = () => {  // when the frame comes near
        near.unobserve(one);
        const image = add(one, "div", "", "thumb");
        if (frame.last !== null) thumbnail(image, app, frame.last);
        const { draws, instructions } = frame, name = add(one, "span", `frame ${frame.number}`).textContent;
        one.title = `${name}: ${plural(draws, "draw")}, ${whole(instructions)} instructions, ${whole(frame.written)} fragments written`;
        bar(one, frame.instructions / cost, "instructions");
        bar(one, frame.written / written, "fragments");
      };
      near.observe(one);
    }
    if (frames.length > 2000) add(strip, "span", `${frames.length - 2000} more frames`, "faint");
    const legend = add(box, "p", "", "legend faint");
    for (const [kind, text] of [["instructions", "EU instructions"], ["fragments", "fragments written"]]) {
      add(legend, "i", "", kind);
      add(legend, "span", text);
    }
  }

  costly(box, app) {
    const { rows } = app;
    add(box, "h2", "Costliest draws");
    const order = Array.from({ length: rows.count }, (_, i) => i).sort((a, b) => rows.instructions[b] - rows.instructions[a] || a - b);
    const total = rows.instructions?.reduce((a, b) => a + b, 0) || 1;
    table(box, ["draw", "", "written", "instructions", "share"], order.slice(0, MOST).map(draw => [
      link(document.createDocumentFragment(), String(app.numberOf(draw)), `draw=${app.numberOf(draw)}&pane=draw`), app.title(draw),
      rows.written[draw], rows.instructions[draw], share(rows.instructions[draw] / total)]));
  }

  async kernels(box, app) {
    add(box, "h2", "Costliest kernels");
    const kernels = [...await app.source.kernels()].sort((a, b) => b.cost - a.cost || a.number - b.number);
    const total = kernels.reduce((sum, kernel) => sum + kernel.cost, 0) || 1;
    table(box, ["kernel", "stage", "draws", "instructions", "share"], kernels.slice(0, MOST).map(kernel => [
      link(document.createDocumentFragment(), String(kernel.number), `pane=kernels&kernel=${kernel.number}`),
      kernel.stages.join(", "), kernel.draw_count, kernel.cost, share(kernel.cost / total)]));
  }

  features(box, { features }) {
    add(box, "h2", "Features");
    for (const { group, used, unused } of features) {
      const line = add(box, "p", "", "feature");
      add(line, "b", group);
      for (const [name, count] of used) add(line, "span", `${name} ${short(count)}`, "chip used");
      for (const name of unused) add(line, "span", name, "chip");
    }
  }
}

export function share(part) {
  const box = add(document.createDocumentFragment(), "div", "", "share");
  add(box, "i").style.width = `${Math.round(60 * part)}px`;
  add(box, "span", `${(100 * part).toFixed(1)} %`);
  return box;
}

function bar(parent, part, kind) {
  const box = add(parent, "div", "", "cost " + kind);
  add(box, "i").style.width = `${Math.round(100 * part)}%`;
}
