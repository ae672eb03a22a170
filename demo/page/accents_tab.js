// The first tab: accents appear as one types, and doubtful characters can be decided by hand.

import { hideAlternatives } from "./alternatives.js";
import { MOST_MARKS, showMarks } from "./marks.js";
import { ask, cancel } from "./models.js";
import { failed, solved } from "./problems.js";
import { Progress } from "./progress.js";
import { carried, counted, restored } from "./reading.js";
import { duration, format, onLanguage, say } from "./words.js";

const PAUSE = 120; // milliseconds without a key after which the text is read
const [given, output, counts, slider, sliderValue, copy] =
  ["given", "restored", "counts", "confidence", "confidence-value", "copy"].map((id) => document.getElementById(id));
const progress = new Progress(document.getElementById("text-progress"), stopReading);
let reading = null; // what the model said of the text: see reading.js
let chosen = new Map(); // places → code points that were chosen by hand
let timer = 0, isExample = true;
let isWarm = false; // the first answer includes what the model does only once: its time would mislead

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

/** Put a text into the box, as if it had been typed. */
export function putText(text) {
  isExample = false;
  clearTimeout(timer);
  given.value = text;
  given.focus();
  read();
}

async function read() {
  progress.start();
  try {
    const text = given.value;
    const answer = await ask("type", text, (share) => {
      progress.show(share, text.length);
      wait();
    });
    if (answer === null) return; // a newer text is being read, or none
    progress.stop();
    wait();
    chosen = carried(reading?.codes, answer.codes, chosen);
    reading = isWarm ? answer : { ...answer, milliseconds: 0 };
    isWarm = true;
    solved();
    show();
  } catch (error) {
    progress.stop();
    wait();
    failed(error);
  }
}

/** Show that the restored text is that of an earlier one, as long as a long one is read. */
function wait() {
  output.setAttribute("aria-busy", progress.shown);
  copy.disabled = counts.hidden = progress.shown;
}

/** Leave the text in the box as it is, without an answer. */
function stopReading() {
  clearTimeout(timer);
  cancel("type");
  progress.stop();
  wait();
  hideAlternatives();
  reading = null;
  chosen = new Map();
  output.textContent = "";
  counts.dataset.words = "textCancelled"; // in each language that is chosen
  counts.textContent = say("textCancelled");
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
  const numbers = counted(reading, now, chosen), time = milliseconds && codes.length && duration(milliseconds / codes.length);
  delete counts.dataset.words;
  counts.textContent = say("counts", { ...numbers, time, marked: numbers.doubtful > MOST_MARKS && MOST_MARKS });
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
