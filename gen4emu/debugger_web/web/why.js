// Screen 3: why a pixel has its value: from the color back to the vertices, and to the draws that wrote what was read.
import { add, button, hex, link } from "../dom.js";
import { colorText } from "./pixel.js";

function node(parent, text, isOpen = false) {
  const made = add(parent, "details", undefined, "why");
  made.open = isOpen;
  add(made, "summary", text);
  return made;
}

// A vertex, and those that it was made of.
function origin(parent, of, mesh) {
  if (!of) { add(parent, "p", "of unknown origin"); return; }
  if (of.unit === "vf") {
    const shader = of.vs_thread === null ? "not shaded" : `vertex shader thread ${of.vs_thread}`;
    const made = node(parent, `vertex ${of.index} of the vertex buffers, ${shader}`);
    const fetched = mesh?.stages.find(stage => stage.name === "vertex fetch");
    const row = fetched?.rows.find(one => one[0] === of.index);
    if (row) add(made, "p", fetched.columns.slice(1).map((name, i) => `${name} ${row[i + 1]}`).join(", "));
    else add(made, "p", "The mesh of this draw is not known.", "faint");
    return;
  }
  const made = node(parent, `vertex ${of.output} of ${of.unit} thread ${of.thread}, made of`);
  for (const one of of.object) origin(made, one, mesh);
}

// A value of the recorded threads and what it was computed from; deeper ones are made when they are opened.
function value(parent, one, at) {
  const written = one.written ? `, ${{ draw: `written by draw ${one.written.draw}`, upload: `uploaded before draw ${one.written.draw}` }[one.written.kind] ?? "never written"}` : "";
  const draw = one.kind === "fragment" ? one.draw : at.draw, here = { ...at, draw };
  if (!one.children.length) {
    links(add(parent, "p", `${one.text}${written} `, "computed"), one, here);
    return;
  }
  const made = node(parent, `${one.text}${written} `);
  made.classList.add("computed");
  links(made.firstChild, one, here);
  const fill = () => {
    if (made.open && made.childElementCount === 1) for (const child of one.children) value(made, child, here);
  };
  made.addEventListener("toggle", fill);
  if (at.isFirst) { made.open = true; fill(); }
}

// To the instruction in the thread, the bytes in memory, the draw that wrote them.
function links(parent, one, { app, entry, x, y, draw }) {
  if (one.address !== undefined && one.kind !== "again" && one.thread?.startsWith("wm ") && draw === entry.draw)
    button(parent, "stop here", () => app.debug(entry, x, y, one.address));
  if (one.memory !== undefined) button(parent, "bytes", () => app.showMemory(one.memory, draw));
  if (one.written?.kind === "draw") link(parent, `draw ${one.written.draw}`, `draw=${one.written.draw}&pane=draw`);
}

async function computed(parent, entry, app, x, y) {
  const made = node(parent, "computed from ...", true), note = add(made, "p", "Executing the threads again ...");
  try {
    const { tree } = await app.link.ask(`tree ${entry.draw} ${x} ${y} ${entry.object}`);
    note.remove();
    for (const child of tree.children) value(made, child, { app, entry, x, y, draw: entry.draw, isFirst: true });
  } catch (error) {
    note.textContent = error.message;
  }
}

// The tree below a fragment.  `app` has the tables of the report.
export async function why(parent, entry, app, x, y) {
  const { source } = app, row = app.rowOf(entry.draw);
  const made = add(parent, "div", undefined, "tree");
  if (!entry.thread && entry.fate === "blit") { add(made, "p", "A blit or a media object wrote it; the draw has its state."); return; }
  const details = await source.details(row);
  const mesh = details.counters.mesh ? await source.extra(details.counters.mesh) : null;
  if (entry.sent) {
    const sent = colorText(Object.fromEntries(["R", "G", "B", "A"].map((name, i) => [name, entry.sent[i]])));
    const output = node(made, `the shader sent ${sent}; the target held ${colorText(entry.before)}`, true);
    const state = details.blocks.filter(block => /COLOR_CALC|BLEND/.test(block.title));
    for (const block of state) {
      const fields = block.fields.filter(([name, value]) => /blend|logic|mask|write/.test(name) && value !== "false");
      if (fields.length) add(node(output, `${block.title} at ${hex(block.address)}, set by ${block.by}`), "p",
        fields.map(([name, value]) => `${name} ${value}`).join(", "));
    }
  }
  if (entry.thread) {
    const { thread } = entry, shader = node(made, `pixel shader thread ${thread.number}, kernel ${hex(thread.kernel)}`, true);
    const number = app.rows.ps?.[row];
    if (number > 0) link(add(shader, "p"), `disassembly of kernel ${number}`, `pane=kernels&kernel=${number}`);
    await sampled(shader, details, app);
  }
  if (entry.fate === "written") await computed(made, entry, app, x, y);
  const object = entry.from;
  if (!object) return;
  const setup = node(made, `object ${object.number}: ${object.topology.replace("_3DPRIM_", "")}${object.back_facing ? ", back facing" : ""}, `
    + `pixels ${object.bounds.slice(0, 2).join(",")} to ${object.bounds.slice(2).join(",")}`, true);
  for (const { position, origin: of } of object.vertices) {
    const corner = node(setup, `corner at (${position.slice(0, 3).map(n => Number(n).toPrecision(6)).join(", ")})`);
    corner.open = true;
    origin(corner, of, mesh);
  }
}

// The surfaces that the draw read, and the draws that wrote them before.
async function sampled(parent, details, app) {
  const read = details.counters.surfaces.filter(one => one.role === "texture" || (one.read_bytes && !/target|depth|stencil/.test(one.role)));
  const surfaces = await app.source.surfaces();
  for (const one of read) {
    const known = surfaces.find(({ address }) => address === one.address);
    const line = add(parent, "p", `reads ${one.role} ${hex(one.address)}${known?.format ? ` ${known.format} ${known.width}x${known.height}` : ""}, `);
    if (!known || known.first_written === null) add(line, "span", "which was uploaded");
    else {
      const first = app.numberOf(known.first_written);
      add(line, "span", `written by draws ${known.written_by}, first by `);
      link(line, `draw ${first}`, `draw=${first}&pane=draw`);
    }
  }
}
