// The page of `gen4emu debug --web`: the panes of the report on a live device, and those of the debugger.
import { App, PANES } from "../app.js";
import { add, button } from "../dom.js";
import { Link } from "../link.js";
import { Console } from "./console.js";
import { LiveSource } from "./live_source.js";
import { MemoryPane } from "./memory.js";
import { LiveDrawPane, ScrubBar } from "./scrub.js";
import { ThreadPane } from "./thread.js";

const KINDS = [["draw", LiveDrawPane], ["thread", ThreadPane], ["memory", MemoryPane], ...PANES.filter(([name]) => name !== "draw")];
const WITH_PICTURES = new Set(["draw", "memory"]);

class DebuggerApp extends App {
  constructor(link, console, overview) {
    super(new LiveSource(link, overview), KINDS);
    this.link = link;
    this.console = console;
  }

  async start() {
    await super.start();
    document.title = `${this.source.overview.title}: gen4emu debugger`;
    this.scrub = new ScrubBar(document.querySelector("header"), this);
    this.scrub.show();
  }

  get hasPictures() { return WITH_PICTURES.has(this.pane); }

  show() {
    super.show();
    this.scrub?.show();
  }

  // Stops at the thread that drew a fragment, at its start or at an instruction.
  async debug(entry, x, y, address) {
    this.go({ pane: "thread" });
    const pane = this.paneNamed("thread");
    await pane.debug(entry, x, y);
    if (address !== undefined) await pane.reach(address);
  }

  showMemory(address, draw) {
    this.go({ pane: "memory", draw: this.rowOf(draw) });
    this.paneNamed("memory").look(address);
  }

  // A command of the debugger has been answered.
  stopped(reply, command) { this.paneNamed("thread")?.stopped(reply, command); }
}

class Boot {
  constructor() {
    const place = new URLSearchParams(location.hash.slice(1));
    this.token = place.get("token") ?? sessionStorage.getItem("token") ?? "";
    sessionStorage.setItem("token", this.token);  // the page may be loaded again
    place.delete("token");
    history.replaceState(null, "", "#" + place);
    this.note = add(document.body, "p", "Connecting ...", "boot");
    this.link = new Link("debugger", message => this.told(message), text => this.ended(text));
    this.console = new Console(document.body, this.link, (reply, command) => this.app?.stopped(reply, command));
    this.link.open(this.token, false);
  }

  told(message) {
    if (message.kind === "hello") document.title = `${message.title}: gen4emu debugger`;
    else if (message.kind === "busy") this.isBusy = true;
    else if (message.kind === "progress") this.progress(message);
    else if (message.kind === "failed") this.note.textContent = message.error;
    else if (message.kind === "overview" && !this.app) {
      this.note.remove();
      this.app = new DebuggerApp(this.link, this.console, message.overview);
      this.app.start();
    }
  }

  progress({ of, draw, fraction }) {
    if (of === "shell") this.console.busy.textContent = `draw ${draw}`;
    else this.note.textContent = `Executing the trace: draw ${draw}${fraction ? `, ${Math.round(100 * fraction)} %` : ""}`;
  }

  ended(text) {
    if (this.isBusy) {
      this.isBusy = false;
      this.note.textContent = "This trace is open in another page. ";
      button(this.note, "take over", () => { this.note.textContent = "Connecting ..."; this.link.open(this.token, true); });
      return;
    }
    this.note.remove();
    add(document.body, "div", text, "band ended");
  }
}

new Boot();
