// The restored text with a mark on each doubtful character, and the list of alternatives of one of them.
//
// A mark is a combobox that only selects. The text is one stop of the Tab key: ← and → go from mark to mark.

import { textOf } from "./code_points.js";
import { restoredCodes, shownChoices } from "./reading.js";
import { percent, say } from "./words.js";

export const MOST_MARKS = 2000; // more of them make the page slow
const LEAST = 0.001; // probability of an alternative that is listed
const LETTER = /[\p{L}\p{N}_'-]/u;
const list = document.getElementById("alternatives");
let shown = null; // {mark, options, active, choose} of the list
let leaving = 0;

/**
 * Write a reading into an element, and return the code points that it shows. Of long texts, only the first characters
 * to look at are marked. `choose(place, code)` is called when somebody decides a character.
 */
export function showMarks(element, reading, minConfidence, chosen, choose) {
  const focused = document.activeElement?.closest?.("#restored .mark")?.dataset.place;
  hideAlternatives();
  const codes = restoredCodes(reading, minConfidence, chosen), pieces = [];
  let written = 0;
  for (const choice of shownChoices(reading, chosen)) {
    if (pieces.length >= 2 * MOST_MARKS) break;
    pieces.push(textOf(codes.subarray(written, choice.place)));
    pieces.push(makeMark(choice, codes, reading.codes, minConfidence, chosen, choose));
    written = choice.place + 1;
  }
  pieces.push(textOf(codes.subarray(written)));
  element.replaceChildren(...pieces);
  const marks = [...element.querySelectorAll(".mark")];
  const again = marks.find((mark) => mark.dataset.place === focused);
  for (const mark of marks) mark.tabIndex = mark === (again ?? marks[0]) ? 0 : -1;
  again?.focus();
  return codes;
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

function makeMark({ place, variants }, codes, given, minConfidence, chosen, choose) {
  const mark = document.createElement("span"), [best] = variants;
  mark.className = "mark";
  mark.dataset.place = place;
  mark.textContent = textOf(codes.subarray(place, place + 1));
  const doubt = Math.round(10 * Math.min(1, 2 * (1 - best.probability)));
  if (chosen.has(place)) mark.dataset.chosen = "";
  else mark.dataset.doubt = Math.max(1, doubt);
  if (best.probability < minConfidence && best.code !== given[place] && !chosen.has(place)) mark.dataset.kept = "";
  const word = wordAround(codes, place);
  const attributes = { role: "combobox", "aria-haspopup": "listbox", "aria-controls": list.id, "aria-expanded": "false" };
  for (const [name, value] of Object.entries(attributes)) mark.setAttribute(name, value);
  const now = variants.find(({ code }) => code === codes[place])?.probability ?? 0;
  mark.setAttribute("aria-label",
    say("alternative", { character: mark.textContent, word: word.join(mark.textContent), percent: percent(now) }));
  const open = () => showAlternatives(mark, word, variants, codes[place], (code) => choose(place, code));
  mark.addEventListener("pointerenter", open);
  mark.addEventListener("pointerleave", leave);
  mark.addEventListener("focus", open);
  mark.addEventListener("blur", leave);
  mark.addEventListener("click", () => { mark.focus(); open(); });
  mark.addEventListener("keydown", (event) => press(event, mark, open));
  return mark;
}

function showAlternatives(mark, word, variants, current, choose) {
  clearTimeout(leaving);
  if (shown?.mark === mark) return;
  hideAlternatives();
  const listed = variants.filter(({ code, probability }) => probability >= LEAST || code === current);
  const options = listed.map(({ code, probability }, index) => {
    const option = document.createElement("li"), spelling = document.createElement("span");
    const letter = document.createElement("b"), share = document.createElement("span");
    const bar = document.createElement("meter");
    option.id = `alternative-${index}`;
    option.setAttribute("role", "option");
    letter.textContent = String.fromCodePoint(code);
    spelling.append(word[0], letter, word[1]);
    spelling.className = "spelling";
    bar.value = probability;
    bar.setAttribute("aria-hidden", "true");
    share.textContent = percent(probability);
    option.append(spelling, bar, share);
    option.addEventListener("pointerdown", (event) => event.preventDefault()); // the mark keeps the focus
    option.addEventListener("click", () => choose(code));
    return option;
  });
  list.replaceChildren(...options);
  list.hidden = false;
  shown = { mark, options, choose: (index) => choose(listed[index].code) };
  activate(listed.findIndex(({ code }) => code === current));
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

/** Return what is before and after a character in its word. */
function wordAround(codes, place) {
  const letter = (index) => index >= 0 && index < codes.length && LETTER.test(String.fromCodePoint(codes[index]));
  let start = place, end = place + 1;
  while (place - start < 24 && letter(start - 1)) start--;
  while (end - place < 24 && letter(end)) end++;
  return [textOf(codes.subarray(start, place)), textOf(codes.subarray(place + 1, end))];
}

list.addEventListener("pointerenter", () => clearTimeout(leaving));
list.addEventListener("pointerleave", leave);
addEventListener("resize", () => shown && settle(shown.mark));
