// The first tab: accents, capitals and signs appear as one types, and doubtful ones can be decided by hand.

import { hideAlternatives } from "./alternatives.js";
import { MOST_MARKS, showMarks } from "./marks.js";
import { ask, cancel } from "./models.js";
import { failed, solved } from "./problems.js";
import { Progress } from "./progress.js";
import { carried, counted, possible, restored } from "./reading.js";
import { accentsAlone, onSwitch, switchedOn, variant } from "./switches.js";
import { startCopying, TypedBox } from "./typing.js";
import { duration, format, onLanguage, say } from "./words.js";

const [given, output, counts, slider, sliderValue, copy] =
  ["given", "restored", "counts", "confidence", "confidence-value", "copy"].map((id) => document.getElementById(id));
const typed = new TypedBox(given, read);
const progress = new Progress(document.getElementById("text-progress"), stopReading);
let reading = null; // what the model said of the text: see reading.js
let chosen = new Map(); // places → what was chosen by hand, as in code_points.js

export function startText() {
  slider.addEventListener("input", show);
  startCopying(copy, () => {
    hideAlternatives();
    return restored(reading, minConfidence(), chosen);
  });
  onSwitch(() => {
    typed.stop();
    putExample();
    read();
  });
  onLanguage(() => {
    if (putExample()) read();
    show();
  });
}

/** Put the example of the language and the switches into the box, if it has one; return whether it changes the text. */
function putExample() {
  const example = say(accentsAlone() ? "example" : "spokenExample");
  const changes = typed.isExample && given.value !== example;
  if (changes) given.value = example;
  return changes;
}

/** Return the lowest probability with which the page changes a character. */
export const minConfidence = () => Number(slider.value);

/** Put a text into the box, as if it had been typed. */
export function putText(text) {
  given.focus();
  given.select();
  if (!document.execCommand("insertText", false, text)) given.value = text; // the first can be undone
  typed.isExample = false;
  typed.stop();
  read();
}

async function read() {
  progress.start();
  let isFirst = false; // the first answer of a model includes what it does only once: its time would mislead
  try {
    const text = given.value;
    const answer = await ask("type", { text, restored: switchedOn(), variant: variant() }, (share) => {
      if (share === null) isFirst = true;
      else progress.show(share, text.length);
      wait(isFirst);
    });
    if (answer === null) return; // a newer text is being read, or none
    const wasLong = progress.stop();
    chosen = possible(answer, carried(reading?.codes, answer.codes, chosen));
    reading = isFirst ? { ...answer, milliseconds: 0 } : answer;
    wait();
    solved();
    show();
    if (wasLong) progress.speak(counts.textContent);
  } catch (error) {
    progress.stop();
    wait();
    output.setAttribute("aria-busy", reading !== null); // it is of an earlier text
    copy.disabled = true;
    if (counts.dataset.words === "loading") forgetCounts();
    failed(error);
  }
}

/** Show that the restored text is an earlier one, as long as a model is loaded or a long text is read. */
function wait(isLoading = false) {
  const isEarlier = progress.shown || (isLoading && reading !== null);
  output.setAttribute("aria-busy", isEarlier);
  copy.disabled = isEarlier || reading === null;
  counts.hidden = progress.shown;
  if (isLoading) tell("loading");
}

/** Say a phrase of words.js below the text, in each language that is chosen. */
function tell(key) {
  counts.dataset.words = key;
  counts.textContent = say(key);
}

function forgetCounts() {
  delete counts.dataset.words;
  counts.textContent = "";
}

/** Leave the text in the box as it is, without an answer. */
function stopReading() {
  typed.stop();
  cancel("type");
  progress.stop();
  hideAlternatives();
  reading = null;
  chosen = new Map();
  output.textContent = "";
  wait();
  tell("textCancelled");
  progress.speak(counts.textContent);
  given.focus();
}

function show() {
  sliderValue.textContent = format(minConfidence(), { style: "percent" });
  slider.setAttribute("aria-valuetext", sliderValue.textContent);
  if (reading === null) return;
  const { codes, milliseconds } = reading;
  const now = showMarks(output, reading, minConfidence(), chosen, (place, code) => {
    chosen.set(place, code);
    show();
  });
  const numbers = counted(reading, now, chosen);
  const time = milliseconds && codes.length && duration(milliseconds / codes.length);
  forgetCounts();
  counts.textContent = say("counts", { ...numbers, time, marked: numbers.doubtful > MOST_MARKS && MOST_MARKS });
}
