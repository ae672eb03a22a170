// The restored text with a mark on each doubtful character.

import { makeMark, shade, showPieces } from "./alternatives.js";
import { textOf } from "./code_points.js";
import { restoredCodes, shownChoices } from "./reading.js";
import { percent, say } from "./words.js";

export const MOST_MARKS = 2000; // more of them make the page slow
const LEAST = 0.001; // probability of an alternative that is listed
const LETTER = /[\p{L}\p{N}_'-]/u;

/**
 * Write a reading into an element, and return the code points that it shows. Of long texts, only the first characters
 * to look at are marked. `choose(place, code)` is called when somebody decides a character.
 */
export function showMarks(element, reading, minConfidence, chosen, choose) {
  const codes = restoredCodes(reading, minConfidence, chosen), pieces = [];
  let written = 0;
  for (const choice of shownChoices(reading, chosen)) {
    if (pieces.length >= 2 * MOST_MARKS) break;
    pieces.push(textOf(codes.subarray(written, choice.place)));
    pieces.push(markOf(choice, codes, reading.codes, minConfidence, chosen, choose));
    written = choice.place + 1;
  }
  pieces.push(textOf(codes.subarray(written)));
  showPieces(element, pieces);
  return codes;
}

function markOf({ place, variants }, codes, given, minConfidence, chosen, choose) {
  const text = textOf(codes.subarray(place, place + 1)), word = wordAround(codes, place), [best] = variants;
  const listed = variants.filter(({ code, probability }) => probability >= LEAST || code === codes[place]);
  const now = variants.find(({ code }) => code === codes[place])?.probability ?? 0;
  const mark = makeMark({
    text,
    place,
    label: say("alternative", { character: text, word: word.join(text), percent: percent(now) }),
    listed: listed.map(({ code, probability }) =>
      ({ parts: [word[0], String.fromCodePoint(code), word[1]], probability })),
    current: listed.findIndex(({ code }) => code === codes[place]),
    choose: (index) => choose(place, listed[index].code),
  });
  if (chosen.has(place)) mark.dataset.chosen = "";
  else shade(mark, best.probability);
  if (best.probability < minConfidence && best.code !== given[place] && !chosen.has(place)) mark.dataset.kept = "";
  return mark;
}

/** Return what is before and after a character in its word. */
function wordAround(codes, place) {
  const letter = (index) => index >= 0 && index < codes.length && LETTER.test(String.fromCodePoint(codes[index]));
  let start = place, end = place + 1;
  while (place - start < 24 && letter(start - 1)) start--;
  while (end - place < 24 && letter(end)) end++;
  return [textOf(codes.subarray(start, place)), textOf(codes.subarray(place + 1, end))];
}
