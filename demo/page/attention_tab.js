// The second tab: a line, what the encoder-decoder writes from it, and its cross-attention drawn between the two.

import { ask } from "./models.js";
import { failed, solved } from "./problems.js";
import { TypedBox } from "./typing.js";
import { duration, list, onLanguage, percent, say } from "./words.js";

const NARROWEST = 22, WIDEST = 30, BETWEEN = 104, ROW = 172, MARGIN = 10; // pixels: a character, between the lines, from row to row
const WEAKEST = 0.03; // weight that is drawn
const SVG = "http://www.w3.org/2000/svg";
const [panel, line, head, svg, read, time] =
  ["attention", "line", "head", "lines", "read", "line-time"].map((id) => document.getElementById(id));
const typed = new TypedBox(line, write, 200);
let written = null; // what the model wrote: see EncoderDecoder.write
let picked = null; // index of the character that is looked at

export function startAttention() {
  panel.addEventListener("shown", () => (written === null ? write() : draw())); // loads the model the first time
  head.addEventListener("change", draw);
  svg.addEventListener("keydown", press);
  svg.addEventListener("pointerleave", () => { if (document.activeElement !== svg) pick(null); });
  new ResizeObserver(draw).observe(panel);
  onLanguage(() => {
    if (typed.isExample) line.value = say("lineExample");
    offerHeads();
    draw();
  });
}

async function write() {
  if (written === null) read.textContent = say("loading");
  try {
    const answer = await ask("write", line.value);
    if (answer === null) return; // a newer line is being read
    // The first answer includes what the model does only once: its time would mislead.
    written = written === null ? { ...answer, milliseconds: 0 } : answer;
    picked = null;
    if (!head.length) offerHeads();
    solved();
    draw();
  } catch (error) {
    if (written === null) read.textContent = "";
    failed(error);
  }
}

function offerHeads() {
  if (written === null) return;
  const before = head.value, names = [say("allHeads", { heads: written.heads.length })];
  written.heads.forEach((_, index) => names.push(say("oneHead", { head: index + 1 })));
  head.replaceChildren(...names.map((name, index) => new Option(name, index)));
  head.value = before || "0";
}

/** Return the weights of the chosen head, or the mean of all: a row for each written character. */
function weights() {
  const { heads } = written, one = Number(head.value);
  if (one) return heads[one - 1];
  return heads[0].map((row, target) => row.map((_, source) =>
    heads.reduce((sum, each) => sum + each[target][source], 0) / heads.length));
}

function draw() {
  if (written === null) return;
  const { source, target, milliseconds, finished } = written, count = target.length;
  const perCharacter = milliseconds && duration(milliseconds / count);
  time.textContent = say("lineTime", { time: perCharacter, characters: count - (finished ? 1 : 0) }) +
    (finished ? "" : ` · ${say("cutOff")}`);
  if (panel.hidden) return;
  const width = svg.clientWidth - 2 * MARGIN, longest = Math.max(source.length, target.length);
  const columns = Math.max(1, Math.min(Math.floor(width / NARROWEST), longest));
  const step = Math.min(WIDEST, width / columns);
  const rows = Math.ceil(longest / columns);
  const x = (index) => MARGIN + (index % columns + 0.5) * step;
  const above = (index) => Math.floor(index / columns) * ROW + 26, below = (index) => above(index) + BETWEEN;
  svg.setAttribute("height", (rows - 1) * ROW + BETWEEN + 44);
  const curves = make("g", { class: "curves" }), cells = make("g", {});
  weights().forEach((row, to) => row.forEach((weight, from) => {
    if (weight < WEAKEST) return;
    const start = above(from) + 16, end = below(to) - 16, middle = (start + end) / 2;
    const d = `M${x(from)} ${start}C${x(from)} ${middle} ${x(to)} ${middle} ${x(to)} ${end}`;
    curves.append(make("path", { d, "data-to": to, "stroke-opacity": weight.toFixed(3) }));
  }));
  source.forEach((character, index) => cells.append(cell(character, x(index), above(index), { "data-source": index })));
  target.forEach((character, index) => {
    const attributes = { id: `written-${index}`, role: "option", "aria-label": name(character), "data-target": index };
    const group = cell(character, x(index), below(index), attributes);
    if (character && character !== source[index]) group.classList.add("changed");
    group.addEventListener("pointerenter", () => pick(index));
    group.addEventListener("click", () => pick(index));
    cells.append(group);
  });
  svg.replaceChildren(curves, cells);
  pick(picked);
}

/** Show what a written character read; null shows all curves. */
function pick(index) {
  picked = index;
  svg.classList.toggle("picked", index !== null);
  const row = index === null ? [] : weights()[index];
  for (const curve of svg.querySelectorAll("path")) curve.classList.toggle("active", curve.dataset.to === String(index));
  for (const each of svg.querySelectorAll("[data-source]")) {
    each.firstChild.setAttribute("fill-opacity", row[each.dataset.source] ?? 0);
  }
  for (const each of svg.querySelectorAll("[data-target]")) {
    each.setAttribute("aria-selected", each.dataset.target === String(index));
  }
  if (index === null) {
    svg.removeAttribute("aria-activedescendant");
    read.textContent = written && say("pick");
    return;
  }
  svg.setAttribute("aria-activedescendant", `written-${index}`);
  const sources = Array.from(row, (weight, from) => ({ weight, character: written.source[from] }))
    .filter(({ weight }) => weight >= WEAKEST)
    .sort((one, other) => other.weight - one.weight)
    .map(({ weight, character }) => `${name(character)} (${percent(weight)})`);
  read.textContent = say("read", { character: name(written.target[index]), sources: list(sources.slice(0, 5)) });
}

function press(event) {
  if (written === null || event.altKey || event.ctrlKey || event.metaKey) return;
  const last = written.target.length - 1, now = picked ?? -1;
  const next = {
    ArrowLeft: Math.max(0, now - 1), ArrowRight: Math.min(last, now + 1), Home: 0, End: last, Escape: null,
  }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  pick(next);
}

function cell(character, x, y, attributes) {
  const group = make("g", attributes), label = make("text", { x, y: y + 7 });
  group.append(make("rect", { x: x - NARROWEST / 2 + 1, y: y - 15, width: NARROWEST - 2, height: 30, rx: 5 }), label);
  label.textContent = character === "" ? "⊣" : /\s/u.test(character) ? "·" : character;
  if (character === "" || /\s/u.test(character)) label.setAttribute("class", "faint");
  return group;
}

const name = (character) =>
  character === "" ? say("end") : /\s/u.test(character) ? say("space") : `“${character}”`;

function make(kind, attributes) {
  const element = document.createElementNS(SVG, kind);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}
