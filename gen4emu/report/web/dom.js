// Elements and texts.  Names and messages come from traces, which may be hostile: they enter the page as text only.

export const SIDES = ["left", "right"];  // of a comparison

export function add(parent, tag, text, kind) {
  const made = document.createElement(tag);
  if (text !== undefined && text !== "") made.textContent = text;
  if (kind) made.className = kind;
  parent.append(made);
  return made;
}

export function button(parent, text, act, pressed) {
  const made = add(parent, "button", text);
  made.type = "button";
  if (pressed !== undefined) made.setAttribute("aria-pressed", String(pressed));
  made.addEventListener("click", act);
  return made;
}

// A link to a place of the page, such as "#draw=7&pane=draw".
export function link(parent, text, fragment) {
  const made = add(parent, "a", text);
  made.href = "#" + fragment;
  return made;
}

// A field's name, which may break after its underscores and nowhere else.
export function fieldName(parent, name) {
  name.split(/(?<=_)/).forEach((part, i) => {
    if (i) add(parent, "wbr");
    parent.append(part);
  });
}

export function hex(n) { return "0x" + n.toString(16).padStart(8, "0"); }

const GROUPED = new Intl.NumberFormat("en");  // toLocaleString takes ten times as long
export function whole(n) { return GROUPED.format(n); }
export function plural(n, noun) { return `${whole(n)} ${noun}${n === 1 ? "" : "s"}`; }

// Three digits and a unit: 1.23 k, 45.6 M.
export function short(n) {
  for (const [unit, size] of [["G", 1e9], ["M", 1e6], ["k", 1e3]])
    if (Math.abs(n) >= size) return (n / size).toPrecision(3).replace(/e\+.*/, "") + " " + unit;
  return String(Math.round(n * 100) / 100);
}

// A table from rows of texts or nodes.
export function table(parent, head, rows, kind) {
  const made = add(parent, "table", "", kind);
  const top = add(add(made, "thead"), "tr");
  for (const text of head) add(top, "th", text);
  const body = add(made, "tbody");
  for (const row of rows) {
    const line = add(body, "tr");
    for (const cell of row) {
      const place = add(line, "td");
      if (typeof cell === "number") { place.textContent = whole(cell); place.className = "number"; }
      else if (cell instanceof Node) place.append(cell);
      else place.textContent = cell ?? "";
    }
  }
  return made;
}

export function save(name, type, text) {
  const made = document.createElement("a");
  made.href = URL.createObjectURL(new Blob([text], { type }));
  made.download = name;
  made.click();
  setTimeout(() => URL.revokeObjectURL(made.href), 1000);
}

export function copy(text) {
  const area = add(document.body, "textarea", text);  // the clipboard API does not exist on file:// pages
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}
