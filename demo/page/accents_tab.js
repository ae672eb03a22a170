// The first tab: accents appear as one types, and doubtful characters can be decided by hand.

import { hideAlternatives, showMarks } from "./marks.js";
import { ask } from "./models.js";
import { failed, solved } from "./problems.js";
import { isDoubtful, restored } from "./window_reader.js";
import { duration, format, onLanguage, say } from "./words.js";

const PAUSE = 120; // milliseconds without a key after which the text is read
const [given, output, counts, slider, sliderValue, copy] =
  ["given", "restored", "counts", "confidence", "confidence-value", "copy"].map((id) => document.getElementById(id));
let reading = null; // what the model said of the text: see WindowReader.read
let chosen = new Map(); // places → code points that were chosen by hand
let timer = 0, isExample = true;

export function startAccents() {
  given.addEventListener("input", () => {
    isExample = false;
    clearTimeout(timer);
    timer = setTimeout(read, PAUSE);
  });
  slider.addEventListener("input", show);
  copy.addEventListener("click", copyText);
  onLanguage(() => {
    if (isExample && given.value !== say("example")) {
      given.value = say("example");
      read();
    }
    show();
  });
}

/** Return the lowest probability with which the page changes a character. */
export const minConfidence = () => Number(slider.value);

async function read() {
  if (reading === null) counts.textContent = say("loading");
  try {
    const answer = await ask("type", given.value);
    if (answer === null) return; // a newer text is being read
    chosen = carried(reading?.codes, answer.codes, chosen);
    reading = answer;
    solved();
    show();
  } catch (error) {
    failed(error);
  }
}

function show() {
  sliderValue.textContent = format(minConfidence(), { style: "percent" });
  slider.setAttribute("aria-valuetext", sliderValue.textContent);
  if (reading === null) return;
  const { codes, choices, milliseconds } = reading;
  showMarks(output, reading, minConfidence(), chosen, (place, code) => {
    chosen.set(place, code);
    show();
  });
  const now = Array.from(restored(reading, minConfidence(), chosen));
  counts.textContent = say("counts", {
    characters: codes.length,
    changed: now.filter((character, place) => character.codePointAt(0) !== codes[place]).length,
    doubtful: choices.filter((choice) => isDoubtful(choice) && !chosen.has(choice.place)).length,
    time: codes.length && duration(milliseconds / codes.length),
  });
}

async function copyText() {
  hideAlternatives();
  try {
    await navigator.clipboard.writeText(reading === null ? "" : restored(reading, minConfidence(), chosen));
    copy.textContent = say("copied");
    setTimeout(() => { copy.textContent = say("copy"); }, 1500);
  } catch (error) {
    failed(error);
  }
}

/** Return the choices that are still good after the text was edited: those before and after the edit. */
function carried(before, after, chosen) {
  if (!chosen.size) return chosen;
  const longest = Math.min(before.length, after.length), shift = after.length - before.length;
  let start = 0, end = 0;
  while (start < longest && before[start] === after[start]) start++;
  while (end < longest - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  const kept = [...chosen].filter(([place]) => place < start || place >= before.length - end);
  return new Map(kept.map(([place, code]) => [place < start ? place : place + shift, code]));
}
