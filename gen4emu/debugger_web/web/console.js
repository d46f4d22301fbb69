// The command line below the page: it takes the debugger's commands, and shows those that buttons send.
import { add, button } from "../dom.js";

const MOST_LINES = 2000;

export class Console {
  // `changed(reply)` is called after every command of the debugger.
  constructor(parent, link, changed) {
    this.link = link;
    this.changed = changed;
    this.typed = [];
    this.at = 0;
    this.box = add(parent, "footer", undefined, "console");
    this.log = add(this.box, "div", undefined, "log");
    const line = add(this.box, "div", undefined, "bar");
    this.prompt = add(line, "code", "(draw 0)");
    this.input = add(line, "input");
    this.input.placeholder = "a command of the debugger; help lists them";
    this.input.spellcheck = false;
    this.input.addEventListener("keydown", event => this.key(event));
    this.busy = add(line, "span", "", "faint busy");
    this.stopper = button(line, "pause", () => link.ask("pause"));
    this.stopper.title = "stop before the next draw";
    this.stopper.hidden = true;
    button(line, "clear", () => this.log.replaceChildren());
    button(line, "larger", () => this.box.classList.toggle("large"));
  }

  key(event) {
    const { input, typed } = this;
    if (event.key === "Enter") {
      const text = input.value.trim();
      if (!text) return;
      typed.push(text);
      this.at = typed.length;
      input.value = "";
      this.run(text).catch(() => {});
      event.stopPropagation();
    } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      this.at = Math.max(0, Math.min(typed.length, this.at + (event.key === "ArrowUp" ? -1 : 1)));
      input.value = typed[this.at] ?? "";
      event.preventDefault();
    }
  }

  // Runs a command and shows its answers.  With `quiet` only errors are shown.
  // With `silent` nothing is shown.
  async run(command, quiet = false, silent = false) {
    if (!quiet) this.write(`${this.prompt.textContent} ${command}`, "command");
    this.running = (this.running ?? 0) + 1;
    this.stopper.hidden = false;
    try {
      const reply = await this.link.ask(command);
      for (const answer of reply.answers ?? []) {
        const isBad = answer.kind === "error" || answer.kind === "hang";
        if (silent || (quiet && !isBad)) continue;
        for (const line of answer.lines ?? []) this.write(line, isBad ? "bad" : "");
      }
      if (reply.prompt) this.prompt.textContent = reply.prompt;
      if (reply.fields) for (const [name, text] of reply.fields) this.write(`${name} ${text}`);
      if (reply.answers) this.changed(reply, command);
      return reply;
    } catch (error) {
      this.write(error.message, "bad");
      throw error;
    } finally {
      if (!--this.running) { this.stopper.hidden = true; this.busy.textContent = ""; }
    }
  }

  // The first answer of a kind; an error if the command failed.
  async answer(command, kind, quiet = true, silent = false) {
    const { answers } = await this.run(command, quiet, silent);
    const failed = answers.find(answer => answer.kind === "error" || answer.kind === "hang");
    const found = answers.find(answer => !kind || answer.kind === kind);
    if (!found || failed === found) throw new Error(failed?.error ?? `${command}: no answer`);
    return found;
  }

  write(text, kind = "") {
    const isAtEnd = this.log.scrollTop + this.log.clientHeight >= this.log.scrollHeight - 4;
    add(this.log, "div", text || " ", kind);
    while (this.log.childElementCount > MOST_LINES) this.log.firstChild.remove();
    if (isAtEnd) this.log.scrollTop = this.log.scrollHeight;
  }
}
