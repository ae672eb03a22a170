// The restored text with a mark on each doubtful character, or on the white space after a word that may need a sign.

import { makeMark, shade, showPieces } from "./alternatives.js";
import { signOf, textOf } from "./code_points.js";
import { restoredCodes, shownChoices } from "./reading.js";
import { percent, say } from "./words.js";

export const MOST_MARKS = 2000; // more of them make the page slow
const LEAST = 0.001; // probability of an alternative that is listed
const MOST_OF_WORD = 24, MOST_BESIDE_SIGN = 12; // characters that are shown on each side of an alternative
const LETTER = /^[\p{L}\p{N}_'-]$/u, NO_SPACE = /^\S$/u;

/**
 * Write a reading into an element, and return the numbers of what it shows. Of long texts, only the first characters
 * to look at are marked. `choose(place, code)` is called when somebody decides a character.
 */
export function showMarks(element, reading, minConfidence, chosen, choose) {
  const codes = restoredCodes(reading, minConfidence, chosen), pieces = [];
  let written = 0, marks = 0;
  for (const choice of shownChoices(reading, chosen)) {
    if (marks++ === MOST_MARKS) break;
    const { place } = choice, text = textOf([codes[place]]), lineEnd = /[\r\n]?$/.exec(text)[0];
    const mark = markOf(choice, codes, reading.codes, minConfidence, chosen, choose);
    mark.textContent = text.slice(0, text.length - lineEnd.length); // a line end would leave nothing to point at
    pieces.push(textOf(codes.subarray(written, place)), mark, lineEnd);
    written = place + 1;
  }
  pieces.push(textOf(codes.subarray(written)));
  showPieces(element, pieces);
  return codes;
}

function markOf({ place, variants }, codes, given, minConfidence, chosen, choose) {
  const current = codes[place], [best] = variants;
  const describe = variants.some(({ code }) => signOf(code)) ? describeSigns : describeLetters;
  const { phrase, name, parts } = describe(codes, place);
  const listed = variants.filter(({ code, probability }) => probability >= LEAST || code === current);
  const now = variants.find(({ code }) => code === current)?.probability ?? 0;
  const mark = makeMark({
    place,
    label: say("alternative", { phrase: phrase(current), percent: percent(now) }),
    listed: listed.map(({ code, probability }) => ({ parts: parts(code), name: name(code), probability })),
    current: listed.findIndex(({ code }) => code === current),
    choose: (index) => choose(place, listed[index].code),
  });
  if (chosen.has(place)) mark.dataset.chosen = "";
  else shade(mark, best.probability);
  if (best.probability < minConfidence && best.code !== given[place] && !chosen.has(place)) mark.dataset.kept = "";
  return mark;
}

/** Return how alternatives of a letter are said and shown: in their word. */
function describeLetters(codes, place) {
  const [before, after] = around(codes, place, LETTER, MOST_OF_WORD);
  return {
    phrase: (code) => say("inWord", { character: textOf([code]), word: before + textOf([code]) + after }),
    name: () => undefined, // what is shown says it
    parts: (code) => [before, textOf([code]), after],
  };
}

/** Return how alternatives of a sign are said and shown: between two words, or after the last one. */
function describeSigns(codes, place) {
  let wordEnd = place;
  while (wordEnd && !NO_SPACE.test(textOf(codes.subarray(wordEnd - 1, wordEnd)))) wordEnd--;
  const [word] = around(codes, wordEnd, NO_SPACE, MOST_BESIDE_SIGN);
  const [, after] = around(codes, place, NO_SPACE, MOST_BESIDE_SIGN);
  const before = word + textOf(codes.subarray(wordEnd, place));
  const name = (code) => say("sign", { sign: signOf(code) });
  return {
    phrase: (code) => say("afterWord", { sign: name(code), word }),
    name,
    parts: (code) => [before, signOf(code), after && ` ${after}`],
  };
}

/** Return the characters of a kind that are right before and right after a place, at most so many on each side. */
function around(codes, place, kind, most) {
  const fits = (index) => index >= 0 && index < codes.length && kind.test(textOf(codes.subarray(index, index + 1)));
  let start = place, end = place + 1;
  while (place - start < most && fits(start - 1)) start--;
  while (end - place <= most && fits(end)) end++;
  return [textOf(codes.subarray(start, place)), textOf(codes.subarray(place + 1, end))];
}
