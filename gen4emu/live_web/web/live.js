// The page of `gen4emu run --web`: the frames of a live program as it shows them.
import { add, button } from "./dom.js";
import { Link } from "./link.js";
import { PictureView } from "./picture.js";

function count(number, noun) { return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`; }

class LivePage {
  constructor() {
    const place = new URLSearchParams(location.hash.slice(1));
    this.token = place.get("token") ?? sessionStorage.getItem("token") ?? "";
    sessionStorage.setItem("token", this.token);  // the page may be loaded again
    history.replaceState(null, "", location.pathname);
    this.leftOut = 0;
    this.facts = document.querySelector(".facts");
    this.main = document.querySelector("main");
    this.note = add(this.main, "p", "Connecting ...", "boot");
    this.makeButtons(document.querySelector(".steps"));
    this.link = new Link("program", message => this.told(message), text => this.ended(text));
    this.link.open(this.token, false);
  }

  makeButtons(bar) {
    this.pauser = button(bar, "pause", () => this.command(this.isPaused ? "resume" : "pause"));
    this.pauser.title = "pause the program after its next frame, or resume it (space)";
    this.stepper = button(bar, "one frame", () => this.command("step"));
    this.stepper.title = "run to the next frame, then pause the program (.)";
    this.saver = button(bar, "save PNG", () => this.save());
    this.saver.title = "as run --frames writes it (s)";
    this.buttons = [this.pauser, this.stepper, this.saver];
    for (const one of this.buttons) one.disabled = true;
    const keys = { " ": this.pauser, ".": this.stepper, s: this.saver };
    addEventListener("keydown", event => {
      if (event.ctrlKey || event.altKey || event.metaKey || !keys[event.key]) return;
      event.preventDefault();  // or a button in focus is pressed as well
      keys[event.key].click();
    });
  }

  told(message) {
    if (message.kind === "busy") { this.isBusy = true; return; }
    if (message.kind === "lost") { this.ended(message.error); return; }
    if (message.kind !== "hello") return;
    this.title = message.title;
    document.title = `${message.title}: gen4emu`;
    document.querySelector("h1").textContent = document.querySelector("h1").title = message.title;
    this.device = message.device;
    this.facts.textContent = `on ${message.device}`;
    this.note.textContent = "The program has shown no frame yet.";
    this.setPaused(message.paused);
    this.pauser.disabled = this.stepper.disabled = false;
    this.receiveFrames();
  }

  async receiveFrames() {
    for (;;) {
      let frame;
      try { frame = await this.link.picture("next"); }
      catch { return; }  // the connection is over, which `ended` shows
      this.show(frame);
    }
  }

  show(frame) {
    if (!this.view) {
      this.note.remove();
      this.view = new PictureView(this.main);
    }
    if (frame.bytes) this.view.show(frame);
    this.saver.disabled = false;
    this.leftOut += frame.left_out;
    const facts = [`frame ${frame.frame}`, `${frame.rate.toFixed(1)} frames/s`, count(frame.draws, "draw"),
      count(frame.objects, "object"), count(frame.instructions, "EU instruction"), `${frame.width}x${frame.height}`];
    if (this.leftOut) facts.push(`${count(this.leftOut, "frame")} not sent`);
    if (!frame.shown) facts.push("a render target, because the program shows none");
    const program = frame.program === this.title ? "" : `${frame.program} `;
    this.facts.textContent = [`${program}on ${this.device}`, ...facts].join(" · ");
  }

  setPaused(isPaused) {
    this.isPaused = isPaused;
    this.pauser.textContent = isPaused ? "resume" : "pause";
    this.pauser.setAttribute("aria-pressed", String(isPaused));
  }

  async command(name) {
    try { this.setPaused((await this.link.ask(name)).paused); }
    catch { /* the connection is over, which `ended` shows */ }
  }

  async save() {
    let found;
    try { found = await this.link.ask("png"); }
    catch { return; }
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([found.bytes], { type: "image/png" }));
    link.download = found.name;
    link.click();
    URL.revokeObjectURL(link.href);
  }

  ended(text) {
    if (this.isBusy) {
      this.isBusy = false;
      this.note.textContent = "This program is open in another page. ";
      button(this.note, "take over", () => { this.note.textContent = "Connecting ..."; this.link.open(this.token, true); });
      return;
    }
    for (const one of this.buttons) one.disabled = true;
    if (!this.view) this.note.remove();
    add(document.body, "div", text, "band ended");
  }
}

new LivePage();
