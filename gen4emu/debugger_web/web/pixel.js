// Screen 2: the history of a pixel: its verdict, and the fate of every fragment there.
import { add, button, hex, link } from "../dom.js";
import { why } from "./why.js";

const SHOWN = 60;  // entries at once

// A color as it is on the screen; channels beside red, green and blue are text only.
function swatch(parent, color) {
  const made = add(parent, "i", undefined, "swatch");
  const part = name => Math.max(0, Math.min(255, Math.round(255 * (Number(color?.[name]) || 0))));
  made.style.background = `rgb(${part("R")},${part("G")},${part("B")})`;
  made.title = colorText(color);
}

export function colorText(color) {
  return Object.entries(color ?? {}).map(([name, value]) => `${name} ${Math.round(value * 1e4) / 1e4}`).join(", ") || "unknown";
}

export class PixelPanel {
  constructor(parent, app) {
    this.app = app;
    this.box = add(parent, "section", undefined, "pixel");
    this.box.hidden = true;
  }

  hide() { this.box.hidden = true; this.wanted = ""; }

  async show(draw, x, y, index) {
    const command = `pixel ${draw} ${x} ${y} ${index}`;
    if (command === this.wanted) return;
    this.wanted = command;
    this.box.hidden = false;
    let found;
    try {
      found = await this.app.link.ask(command);
    } catch (error) {
      found = { verdict: error.message, entries: [], more: 0, hang: null };
    }
    if (command !== this.wanted) return;  // the user has moved on
    this.box.replaceChildren();
    const head = add(this.box, "h2", `${x},${y} after draw ${draw}: `);
    add(head, "span", found.verdict, "verdict");
    if (found.hang) add(this.box, "p", `The GPU hangs: ${found.hang}`, "bad");
    this.entries(found, x, y, SHOWN);
  }

  entries(found, x, y, most) {
    const list = add(this.box, "ol");
    for (const entry of found.entries.slice(0, most)) this.entry(add(list, "li"), entry, x, y);
    const left = found.entries.length - most;
    if (left > 0)
      button(this.box, `${left} older entries`, event => { list.remove(); event.target.remove(); this.entries(found, x, y, most + 500); });
    if (found.more) add(this.box, "p", `${found.more} more are not shown.`, "faint");
  }

  entry(line, entry, x, y) {
    line.className = entry.fate === "written" || entry.fate === "blit" ? "written" : "rejected";
    link(line, `draw ${entry.draw}`, `draw=${entry.draw}&pane=draw`);
    if (entry.object !== undefined) add(line, "span", ` object ${entry.object}`);
    add(line, "b", ` ${entry.text} `);
    if (entry.after && Object.keys(entry.after).length) {
      swatch(line, entry.before);
      add(line, "span", " → ", "faint");
      swatch(line, entry.after);
      add(line, "span", ` ${colorText(entry.after)}`, "faint");
    }
    const { depth_before: depth } = entry;
    if (depth) add(line, "span", ` z ${Number(entry.z).toPrecision(7)} against ${Number(depth.depth).toPrecision(7)}`, "faint");
    if (entry.thread) add(line, "span", ` kernel ${hex(entry.thread.kernel)}`, "faint");
    if (entry.thread) button(line, "debug this", () => this.app.debug(entry, x, y));
    const asked = button(line, "why?", async () => {
      asked.disabled = true;
      try {
        await why(line, entry, this.app, x, y);
      } catch (error) {
        add(line, "p", error.message, "bad");
      }
    });
    asked.classList.add("ask");
  }
}
