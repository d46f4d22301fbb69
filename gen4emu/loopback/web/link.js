// The connection to the server: commands with numbers, and their answers.

const TAKEN_OVER = 4001;

export class Link {
  // `peer` names the other end in messages.  `told(message)` gets messages that answer no command; `ended(text)` is
  // called when the connection is over.
  constructor(peer, told, ended) {
    this.peer = peer;
    this.told = told;
    this.ended = ended;
    this.waiting = new Map();
    this.last = 0;
  }

  open(token, takeOver) {
    this.error = "";
    const socket = this.socket = new WebSocket(`ws://${location.host}/socket`);
    socket.binaryType = "arraybuffer";
    socket.addEventListener("open", () => socket.send(JSON.stringify({ token, take_over: takeOver })));
    socket.addEventListener("message", ({ data }) => this.receive(data));
    socket.addEventListener("close", ({ code, reason }) => {
      if (socket !== this.socket) return;
      for (const { reject } of this.waiting.values()) reject(new Error(`the ${this.peer} has gone`));
      this.waiting.clear();
      this.ended(code === TAKEN_OVER ? "Another page has taken over." : reason || `The ${this.peer} has ended.`);
    });
  }

  receive(data) {
    let message;
    if (typeof data === "string") message = JSON.parse(data);
    else {
      const size = new DataView(data).getUint32(0, true);
      message = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, size)));
      message.bytes = new Uint8Array(data, 4 + size);
    }
    const request = this.waiting.get(message.id);
    if (!request) { this.told(message); return; }
    this.waiting.delete(message.id);
    if (message.error) request.reject(new Error(message.error));
    else request.resolve(message);
  }

  // A command as one types it; the answer is an object, with `bytes` if there are any.
  ask(command) {
    return new Promise((resolve, reject) => {
      if (this.socket?.readyState !== WebSocket.OPEN) { reject(new Error(`the ${this.peer} has gone`)); return; }
      const id = ++this.last;
      this.waiting.set(id, { resolve, reject });
      this.socket.send(JSON.stringify({ id, command }));
    });
  }

  // A picture as picture.js shows it.
  async picture(command) {
    const found = await this.ask(command);
    if (!found.bytes) return found;
    const { width, height, wide, bytes } = found;
    if (!wide) return { ...found, rgba: new Uint8ClampedArray(bytes.slice().buffer), grey: null };
    const grey = new Uint16Array(bytes.slice().buffer), rgba = new Uint8ClampedArray(4 * width * height);
    for (let i = 0; i < grey.length; i++) {
      rgba[4 * i] = rgba[4 * i + 1] = rgba[4 * i + 2] = grey[i] >> 8;
      rgba[4 * i + 3] = 255;
    }
    return { ...found, rgba, grey };
  }
}
