// The data of a report: chunks of deflated JSON or pixels in base64, in the page itself or in scripts beside it.
//
// Every other module gets its data through this interface:
//   overview                        what the page needs at once
//   rows(), kernels(), surfaces()   the tables
//   details(draw)                   state and counters of a draw
//   thumbnails(chunk)               a URL of a sheet of small pictures
//   picture(name)                   { width, height, wide, rgba, grey } with exact values
//   extra(name)                     the mesh or the maps of a draw

const waiting = new Map();
globalThis.gen4emuChunk = (name, text) => { waiting.get(name)?.(text); waiting.delete(name); };

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function decode(text) {
  const binary = atob(text), bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

// A row of a table that is stored by columns, which may be tables themselves.
const line = (columns, i) => Array.isArray(columns) ? columns[i] :
  Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, line(column, i)]));

export class ReportSource {
  // `prefix`: of the names of chunks, for a side of a comparison.
  constructor(overview = JSON.parse(document.getElementById("overview").textContent), prefix = "") {
    this.overview = overview;
    this.prefix = prefix;
    this.cache = new Map();
  }

  // The latest results are kept; `keep` is false for those that are large and cheap to make again.
  once(key, make) {
    let found = this.cache.get(key);
    this.cache.delete(key);
    found ??= make();
    this.cache.set(key, found);
    if (this.cache.size > 96) this.cache.delete(this.cache.keys().next().value);
    return found;
  }

  text(chunk) {
    const name = this.prefix + chunk;
    const inside = document.getElementById("chunk-" + name);
    if (inside) return Promise.resolve(inside.textContent);
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      waiting.set(name, resolve);
      script.src = `data/${name}.js`;
      script.addEventListener("error", () => reject(new Error(`data/${name}.js is missing`)));
      script.addEventListener("load", () => script.remove());
      document.head.append(script);
    });
  }

  async bytes(name) { return decode(await this.text(name)); }

  json(name) {
    return this.once(name, async () => JSON.parse(new TextDecoder().decode(await inflate(await this.bytes(name)))));
  }

  // A JSON header and the bytes after it.
  async packed(name) {
    const bytes = await inflate(await this.bytes(name));
    const size = new DataView(bytes.buffer).getUint32(0, true);
    return [JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size))), bytes.subarray(4 + size)];
  }

  rows() {
    return this.once("rows", () => this.columns("rows", this.overview.counts.draws));
  }

  async columns(name, length) {
    const count = Math.ceil(length / this.overview.chunks.rows);
    const chunks = await Promise.all(Array.from({ length: count }, (_, i) => this.json(`${name}-${i}`)));
    const rows = {};
    for (const column of Object.keys(chunks[0] ?? {})) rows[column] = chunks.flatMap(chunk => chunk[column]);
    rows.count = rows.frame?.length ?? 0;
    return rows;
  }

  // The pairs of a comparison, by column, and what differs in one of them.
  pairs() { return this.once("pairs", () => this.columns("pairs", this.overview.comparison.pairs)); }

  async differences(pair) {
    const size = this.overview.chunks.states;
    const chunk = await this.json(`differences-${Math.floor(pair / size)}`);
    const found = chunk.pairs[pair % size];
    return { ...found, state: chunk.states[found.state] };
  }

  // How the lines of two kernels differ, by their numbers; null if the report has no kernels.
  async kernelDiff(left, right) { return (await this.json("kernel-diffs"))[`${left}-${right}`] ?? null; }

  // One bit for each pixel.
  async mask(name) {
    const [{ width, height }, bits] = await this.packed(name);
    return Uint8Array.from({ length: width * height }, (_, i) => bits[i >> 3] >> 7 - (i & 7) & 1);
  }

  kernels() { return this.json("kernels"); }

  // { address, size, bytes }: the first bytes of a surface.
  surfaceBytes(name) {
    return this.once(name, async () => {
      const [{ address, bytes: size }, bytes] = await this.packed(name);
      return { address, size, bytes };
    });
  }

  surfaces() { return this.json("surfaces"); }

  extra(name) { return this.json(name); }

  async details(draw) {
    const size = this.overview.chunks.states;
    const chunk = await this.json(`states-${Math.floor(draw / size)}`);
    const before = draw % size ? chunk.draws[draw % size - 1] : chunk.before;
    const blocks = numbers => numbers?.map(i => {
      const { key, title, box, address, by, fields, complaints } = line(chunk.blocks, i), texts = chunk.fields[fields];
      return { key, title, box, address, by, complaints, fieldsId: fields,
        fields: Array.from({ length: texts.length / 2 }, (_, n) => [texts[2 * n], texts[2 * n + 1]]) };
    });
    return { blocks: blocks(chunk.draws[draw % size]), before: blocks(before), counters: line(chunk.counters, draw % size) };
  }

  thumbnails(chunk) {
    return this.once(`thumbs-${chunk}`, async () => {
      const type = this.overview.thumbs.type;
      return URL.createObjectURL(new Blob([await this.bytes(`thumbs-${chunk}`)], { type }));
    });
  }

  // Pictures of one surface hold the rectangle that changed since the picture that they name.
  picture(name) {
    return this.once(name, async () => {
      const [head, bytes] = await this.packed(name);
      const { width, height, x, y, w, h, channels, wide } = head, pitch = w * channels << (wide ? 1 : 0);
      for (let i = pitch; i < bytes.length; i++) bytes[i] += bytes[i - pitch];  // rows are differences
      const base = head.base ? await this.picture(head.base) : null;
      const rgba = base ? base.rgba.slice() : new Uint8ClampedArray(4 * width * height);
      const grey = wide ? base ? base.grey.slice() : new Uint16Array(width * height) : null;
      for (let row = 0, from = 0; row < h; row++)
        for (let column = 0, to = (y + row) * width + x; column < w; column++, to++) {
          if (wide) {
            grey[to] = bytes[from] | bytes[from + 1] << 8;
            rgba[4 * to] = rgba[4 * to + 1] = rgba[4 * to + 2] = bytes[from + 1];
            rgba[4 * to + 3] = 255;
            from += 2;
            continue;
          }
          const [g, b] = channels < 3 ? [0, 0] : [1, 2];
          rgba[4 * to] = bytes[from];
          rgba[4 * to + 1] = bytes[from + g];
          rgba[4 * to + 2] = bytes[from + b];
          rgba[4 * to + 3] = channels === 4 ? bytes[from + 3] : 255;
          from += channels;
        }
      return { width, height, wide, rgba, grey, name: head.name };
    });
  }

  // Planes of counts, one number of 1, 2 or 4 bytes for each pixel of the target.
  maps(name) {
    return this.once(name, async () => {
      const [head, bytes] = await this.packed(name);
      const size = head.width * head.height;
      let at = 0;
      const planes = head.planes.map(({ name, bytes: each }) => {
        const part = bytes.slice(at, at += each * size).buffer;
        return { name, counts: Uint32Array.from(new { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array }[each](part)) };
      });
      return { ...head, planes };
    });
  }
}
