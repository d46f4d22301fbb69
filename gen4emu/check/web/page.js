
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const MODES = ["side by side", "swipe", "flicker", "heat map"];
const bad = new Set(data.bad);
let shown = new Set(data.cases.some(c => bad.has(c.outcome)) ? data.bad : Object.keys(data.counts));
let mode = MODES[Number(location.hash.slice(1)) - 1] ?? MODES[0], zoom = 0, wanted = "", current = -1;
const flickering = [];

// Text only ever enters the page as text: names and messages may be hostile.
function add(parent, tag, text, kind) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  parent.append(made);
  return made;
}

function color(outcome) {
  return bad.has(outcome) ? "bad" : outcome === "pass" || outcome === "same" ? "" : "warn";
}

function picture(parent, uri, alt) {
  const image = add(parent, "img");
  image.alt = alt;
  image.draggable = false;
  image.addEventListener("load", () => resize(image));
  image.src = uri;
  return image;
}

// Small pictures are enlarged by whole factors, so that single pixels can be seen; large ones are made to fit.
function resize(image) {
  const width = main.clientWidth - 90;
  const available = mode === MODES[0] ? Math.floor(width / 3) - 16 : Math.min(width, Math.max(256, innerHeight - 300));
  const factor = zoom || Math.min(8, Math.floor(available / image.naturalWidth)) || available / image.naturalWidth;
  image.classList.toggle("enlarged", factor >= 1);
  image.width = Math.round(image.naturalWidth * factor);
}

function figure(parent, label) {
  const made = add(parent, "figure");
  add(made, "figcaption", label);
  return made;
}

function stack(parent, p, kind) {
  const made = add(parent, "div", undefined, "stack " + kind);
  picture(made, p.expected, data.labels[1]);
  return [made, picture(made, p.actual, data.labels[0])];
}

function swipe(parent, p) {
  const [box, top] = stack(figure(parent, `${data.labels[0]} | ${data.labels[1]} (move the pointer)`), p, "swipe");
  const divider = add(box, "div", undefined, "divider");
  const move = share => {
    const percent = 100 * Math.max(0, Math.min(1, share));
    top.style.clipPath = `inset(0 ${100 - percent}% 0 0)`;
    box.firstChild.style.clipPath = `inset(0 0 0 ${percent}%)`;  // it must not be seen through the other one
    divider.style.left = `${percent}%`;
  };
  box.addEventListener("pointermove", e => {
    const frame = box.getBoundingClientRect();
    move((e.clientX - frame.left) / frame.width);
  });
  move(0.5);
}

function flicker(parent, p) {
  const made = figure(parent, "");
  const [box, top] = stack(made, p, "flicker");
  flickering.push(on => {
    top.style.visibility = on ? "visible" : "hidden";
    box.firstChild.style.visibility = on ? "hidden" : "visible";
    made.firstChild.textContent = data.labels[on ? 0 : 1];
  });
}

function heat(parent, p) {
  const made = figure(parent, "heat map");
  picture(made, p.heatmap, "heat map");
  const legend = add(made, "div", undefined, "legend");
  add(legend, "div", "equal");
  add(legend, "span");
  add(legend, "div", `error ${p.white}`);
}

function views(parent, p) {
  const box = add(parent, "div", undefined, "views");
  const both = p.actual && p.expected;
  if (both && mode === "swipe" && p.heatmap) swipe(box, p);
  else if (both && mode === "flicker" && p.heatmap) flicker(box, p);
  else if (mode === "heat map" && p.heatmap) heat(box, p);
  else {
    for (const [i, uri] of [p.actual, p.expected].entries())
      if (uri) picture(figure(box, data.labels[i]), uri, data.labels[i]);
    if (p.heatmap) heat(box, p);
  }
}

function card(parent, c) {
  const kind = color(c.outcome);
  const made = add(parent, "article", undefined, "case " + kind);
  const title = add(made, "div", undefined, "title");
  add(title, "b", c.name);
  add(title, "span", c.outcome, "badge " + kind);
  if (c.new) add(title, "span", "new", "badge new");
  add(title, "span", c.about, "faint");
  for (const text of c.messages) add(made, "div", text, "message");
  if (c.log) add(made, "pre", c.log);
  if (c.accept) {
    const row = add(made, "div", undefined, "accept");
    add(row, "span", "accept:", "faint");
    add(row, "code", c.accept);
    const button = add(row, "button", "copy");
    button.addEventListener("click", () => copy(c.accept, button));
  }
  history(made, c.history);
  const equal = [];
  for (const p of c.pictures) {
    if (!p.message) { equal.push(p); continue; }
    const box = add(made, "section", undefined, "picture");
    const line = add(box, "div", undefined, "title");
    if (p.name) add(line, "b", p.name);
    if (p.new) add(line, "span", "new", "badge new");
    add(line, "span", p.message, "message");
    for (const file of p.files) add(box, "div", `not in this page: ${file}`, "faint message");
    views(box, p);
  }
  const small = equal.filter(p => p.thumbnail);
  if (small.length) {
    add(made, "div", c.outcome === "pass" ? "" : "as expected:", "faint");
    const row = add(made, "div", undefined, "thumbnails");
    for (const p of small) {
      const one = add(row, "figure");
      const image = add(one, "img");
      image.alt = p.name;
      image.src = p.thumbnail;
      add(one, "figcaption", p.name);
    }
  }
  return made;
}

// A square for each run, the latest one at the right; a line between two that drew other pixels.
function history(parent, runs) {
  if (runs.length < 2) return;
  const row = add(parent, "div", undefined, "history");
  add(row, "span", runs[0].revision, "faint");
  for (const { revision, outcome, digest, changed } of runs) {
    const square = add(row, "i", undefined, outcome ? color(outcome) || "good" : "none");
    if (changed) square.classList.add("changed");
    square.title = [revision, outcome || "not run", changed ? "draws other pixels than before" : "", digest].filter(Boolean).join("\n");
  }
  add(row, "span", runs.at(-1).revision, "faint");
}

function copy(text, button) {
  const done = () => { button.textContent = "copied"; setTimeout(() => { button.textContent = "copy"; }, 1500); };
  const area = add(document.body, "textarea", text);
  area.select();
  if (document.execCommand("copy")) done();  // the clipboard API does not exist on file:// pages
  area.remove();
}

const header = add(document.body, "header");
add(header, "h1", data.title);
const about = [data.subtitle, data.seconds === null ? "" : `${data.seconds} s`, `gen4emu ${data.version}`];
add(header, "span", about.filter(Boolean).join(" · "), "faint");
const bar = add(header, "div", undefined, "bar");
const modes = add(header, "div", undefined, "bar");
const main = add(document.body, "main");
document.title = data.title;

function toggle(parent, text, pressed, act) {
  const button = add(parent, "button", text);
  button.setAttribute("aria-pressed", String(pressed));
  button.addEventListener("click", act);
}

function controls() {
  bar.replaceChildren();
  modes.replaceChildren();
  for (const [outcome, n] of Object.entries(data.counts))
    toggle(bar, `${n} ${outcome}`, shown.has(outcome), () => {
      if (!shown.delete(outcome)) shown.add(outcome);
      draw();
    });
  const search = add(bar, "input");
  search.type = "search";
  search.placeholder = "name (press /)";
  search.value = wanted;
  search.addEventListener("input", () => { wanted = search.value; list(); });
  for (const [i, one] of MODES.entries())
    toggle(modes, `${i + 1} ${one}`, mode === one, () => { mode = one; draw(); });
  for (const [factor, text] of [[0, "fit"], [1, "1:1"], [2, "2:1"], [4, "4:1"]])
    toggle(modes, text, zoom === factor, () => { zoom = factor; draw(); });
  add(modes, "span", "keys: j k next and previous, 1 to 4 views", "faint");
}

function list() {
  flickering.length = 0;
  current = -1;
  main.replaceChildren();
  for (const note of data.notes) add(main, "p", note, "message");
  const word = wanted.toLowerCase();
  const chosen = data.cases.filter(c => shown.has(c.outcome) && c.name.toLowerCase().includes(word));
  for (const c of chosen) card(main, c);
  const hidden = data.cases.length - chosen.length;
  if (hidden) add(main, "p", `${hidden} more ${hidden === 1 ? "case is" : "cases are"} not shown`, "faint");
}

function draw() { controls(); list(); }

function go(step) {
  const cards = main.querySelectorAll(".case");
  if (!cards.length) return;
  cards[current]?.classList.remove("current");
  current = Math.max(0, Math.min(cards.length - 1, current + step));
  cards[current].classList.add("current");
  const top = cards[current].getBoundingClientRect().top + window.scrollY - header.offsetHeight - 8;
  window.scrollTo({ top });
}

document.addEventListener("keydown", e => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  if (e.target.tagName === "INPUT") { if (e.key === "Escape") e.target.blur(); return; }
  if (e.key === "j") go(1);
  else if (e.key === "k") go(-1);
  else if (e.key === "/") { e.preventDefault(); bar.querySelector("input").focus(); }
  else if (MODES[Number(e.key) - 1]) { mode = MODES[Number(e.key) - 1]; draw(); }
});

let isOn = true;
setInterval(() => { isOn = !isOn; for (const show of flickering) show(isOn); }, 600);
draw();
