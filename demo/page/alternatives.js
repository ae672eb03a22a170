// The list of alternatives of a mark in a text. A mark is a combobox that only selects; the text is one stop of the
// Tab key: ← and → go from mark to mark.

import { percent } from "./words.js";

const list = document.getElementById("alternatives");
let shown = null; // {mark, options, active, choose} of the list
let leaving = 0;

/**
 * Return a mark. `place` names it in its text, and `label` says it to screen readers; `listed` are the alternatives,
 * `{parts, probability, name}`: three parts, of which the second is what changes, a probability, and
 * what screen readers say for the parts, if they would not say them. `current` is the index of the one that the text has. `choose(index)` is called when somebody decides.
 */
export function makeMark({ text = "", place, label, listed, current, choose }) {
  const mark = document.createElement("span");
  mark.className = "mark";
  mark.dataset.place = place;
  mark.textContent = text;
  const attributes = {
    role: "combobox", "aria-haspopup": "listbox", "aria-controls": list.id, "aria-expanded": "false",
    "aria-label": label,
  };
  for (const [name, value] of Object.entries(attributes)) mark.setAttribute(name, value);
  const open = () => showAlternatives(mark, listed, current, choose);
  mark.addEventListener("pointerenter", open);
  mark.addEventListener("pointerleave", leave);
  mark.addEventListener("focus", open);
  mark.addEventListener("blur", leave);
  mark.addEventListener("click", () => { mark.focus(); open(); });
  mark.addEventListener("keydown", (event) => press(event, mark, open));
  return mark;
}

/** Shade a mark: the stronger, the less probable. */
export function shade(mark, probability) {
  mark.dataset.doubt = Math.max(1, Math.round(10 * Math.min(1, 2 * (1 - probability))));
}

/** Write texts and marks into an element; a mark in the place of the one that has the focus gets it. */
export function showPieces(element, pieces) {
  const focused = document.activeElement?.closest?.(".mark") ?? null;
  const place = element.contains(focused) ? focused?.dataset.place : undefined;
  hideAlternatives();
  element.replaceChildren(...pieces);
  const marks = [...element.querySelectorAll(".mark")];
  const again = marks.find((mark) => mark.dataset.place === place);
  for (const mark of marks) mark.tabIndex = mark === (again ?? marks[0]) ? 0 : -1;
  again?.focus();
}

/** Close the list of alternatives. */
export function hideAlternatives() {
  clearTimeout(leaving);
  if (shown === null) return;
  shown.mark.setAttribute("aria-expanded", "false");
  shown.mark.removeAttribute("aria-activedescendant");
  shown = null;
  list.hidden = true;
}

function showAlternatives(mark, listed, current, choose) {
  clearTimeout(leaving);
  if (shown?.mark === mark) return;
  hideAlternatives();
  const options = listed.map(({ parts, probability, name }, index) => {
    const option = document.createElement("li"), spelling = document.createElement("span");
    const changes = document.createElement("b"), share = document.createElement("span");
    const bar = document.createElement("meter");
    option.id = `alternative-${index}`;
    option.setAttribute("role", "option");
    changes.textContent = parts[1];
    spelling.append(parts[0], changes, parts[2]);
    spelling.className = "spelling";
    bar.value = probability;
    bar.setAttribute("aria-hidden", "true");
    share.textContent = percent(probability);
    option.append(spelling, bar, share);
    if (name) option.setAttribute("aria-label", `${name}, ${share.textContent}`);
    option.addEventListener("pointerdown", (event) => event.preventDefault()); // the mark keeps the focus
    option.addEventListener("click", () => choose(index));
    return option;
  });
  list.lang = mark.closest("[lang]")?.lang ?? "";
  list.replaceChildren(...options);
  list.hidden = false;
  shown = { mark, options, choose };
  activate(current);
  mark.setAttribute("aria-expanded", "true");
  settle(mark);
}

function settle(mark) {
  const at = mark.getBoundingClientRect(), { offsetWidth: width, offsetHeight: height } = list;
  const left = Math.max(8, Math.min(at.left - 16, document.documentElement.clientWidth - width - 8));
  const below = at.bottom + 6, fits = below + height < innerHeight || at.top < height + 6;
  list.style.left = `${left + scrollX}px`;
  list.style.top = `${(fits ? below : at.top - height - 6) + scrollY}px`;
}

function activate(index) {
  shown.active = (index + shown.options.length) % shown.options.length;
  shown.options.forEach((option, each) => option.setAttribute("aria-selected", each === shown.active));
  shown.mark.setAttribute("aria-activedescendant", shown.options[shown.active].id);
}

function press(event, mark, open) {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const marks = [...mark.parentElement.querySelectorAll(".mark")], step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  const next = { Home: marks[0], End: marks.at(-1) }[event.key] ?? marks[marks.indexOf(mark) + step];
  const turn = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (next) {
    mark.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  } else if (turn && shown?.mark !== mark) open();
  else if (turn) activate(shown.active + turn);
  else if ((event.key === "Enter" || event.key === " ") && shown?.mark === mark) shown.choose(shown.active);
  else if (event.key === "Enter" || event.key === " ") open();
  else if (event.key === "Escape") hideAlternatives();
  else return;
  event.preventDefault();
}

function leave() {
  clearTimeout(leaving);
  leaving = setTimeout(() => {
    if (shown && shown.mark !== document.activeElement) hideAlternatives();
  }, 200);
}

list.addEventListener("pointerenter", () => clearTimeout(leaving));
list.addEventListener("pointerleave", leave);
addEventListener("resize", () => shown && settle(shown.mark));
