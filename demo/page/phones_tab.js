// The third tab: the phones of each word appear as one types, and doubtful words and homographs can be decided by hand.

import { makeMark, shade, showPieces } from "./alternatives.js";
import { ask } from "./models.js";
import { failed, solved } from "./problems.js";
import { carried, SURE } from "./reading.js";
import { startCopying, TypedBox } from "./typing.js";
import { duration, onLanguage, percent, say } from "./words.js";

const LEAST = 0.001; // probability of a reading that is listed
const [panel, given, output, counts, copy] =
  ["phones", "said", "sounds", "sounds-counts", "copy-sounds"].map((id) => document.getElementById(id));
const typed = new TypedBox(given, read);
const variants = [...document.querySelectorAll("[data-variant]")];
let reading = null; // what the model said of the text: see Phonemizer.read
let chosen = new Map(); // places of words → phones that were chosen by hand
let variant = "br";
let isWarm = false; // the first answer includes what the model does only once: its time would mislead

export function startPhones() {
  panel.addEventListener("shown", () => (reading === null ? read() : show())); // loads the model the first time
  for (const button of variants) button.addEventListener("click", () => speakAs(button.dataset.variant));
  startCopying(copy, () => output.textContent);
  onLanguage(() => {
    if (typed.isExample) given.value = say("phonesExample");
    show();
  });
  speakAs(variant);
}

function speakAs(name) {
  variant = name;
  for (const button of variants) button.setAttribute("aria-pressed", button.dataset.variant === variant);
  chosen = new Map();
  if (!panel.hidden) read();
}

async function read() {
  try {
    const answer = await ask("phones", { text: given.value, variant });
    if (answer === null) return; // a newer text is being read
    const spelled = (each) => each?.words.map(({ word }) => word) ?? [];
    chosen = carried(spelled(reading), spelled(answer), chosen);
    reading = isWarm ? answer : { ...answer, milliseconds: 0 };
    isWarm = true;
    copy.disabled = false;
    solved();
    show();
  } catch (error) {
    if (reading === null) {
      delete counts.dataset.words;
      counts.textContent = "";
    }
    copy.disabled = true;
    failed(error);
  }
}

function show() {
  if (reading === null || panel.hidden) return;
  const { words, gaps, milliseconds } = reading, count = (holds) => words.filter(holds).length;
  showPieces(output, words.flatMap((word, place) => [gaps[place], pieceOf(word, place)]).concat(gaps.at(-1)));
  delete counts.dataset.words;
  counts.textContent = say("phonesCounts", {
    words: words.length,
    doubtful: count(({ readings: [best] }, place) => best?.confidence < SURE && !chosen.has(place)),
    two: count(({ ambiguous }) => ambiguous.length),
    unread: count(({ readings }) => !readings.length),
    time: milliseconds && duration(milliseconds),
    cut: given.value.length >= given.maxLength && given.maxLength,
  });
}

/** Return what stands for a word: its phones, with a mark if somebody should look at them. */
function pieceOf({ word, readings, ambiguous }, place) {
  if (!readings.length) return plain("unread", word);
  const phones = chosen.get(place) ?? readings[0].phones.join("");
  if (readings[0].confidence >= SURE && !ambiguous.length && !chosen.has(place)) return plain("sound", phones);
  const listed = new Map(readings.map((each) => [each.phones.join(""), each.confidence]));
  const kept = [...listed].filter(([each, probability]) => probability >= LEAST || each === phones);
  const mark = makeMark({
    text: phones,
    place,
    label: say("reading", { phones, word, percent: percent(listed.get(phones)) }),
    listed: kept.map(([each, probability]) => ({ parts: ["", each, ""], probability })),
    current: kept.findIndex(([each]) => each === phones),
    choose: (index) => {
      chosen.set(place, kept[index][0]);
      show();
    },
  });
  if (chosen.has(place)) mark.dataset.chosen = "";
  else if (readings[0].confidence < SURE) shade(mark, readings[0].confidence);
  if (ambiguous.length) mark.dataset.two = "";
  return mark;
}

function plain(className, textContent) {
  return Object.assign(document.createElement("span"), { className, textContent });
}
