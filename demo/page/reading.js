// What the model said of a text, in flat arrays: those of a long text go from the worker to the page at once, where an
// object for each character would stop it for seconds.
//
// `codes` are the code points of the text; where it may end with a sign, NOTHING follows. `places` are those with a
// choice, in order; `variants` has `width` numbers of code_points.js for each of them, the most probable first and 0 where
// there are no more, and `probabilities` goes with it.

import { NOTHING, textOf } from "./code_points.js";

export const SURE = 0.95; // probability from which a character is not shaded

/** Return a reading of code points without its answers; `options` has the variants of each place, or undefined. */
export function emptyReading(codes, options) {
  const places = Uint32Array.from(options.keys()).filter((place) => options[place]);
  const width = places.reduce((most, place) => Math.max(most, options[place].length), 0), size = places.length * width;
  return { codes, places, width, variants: new Uint32Array(size), probabilities: new Float32Array(size) };
}

/** Write the variants of one of the places, `[{code, probability}]`, into a reading. */
export function setChoice({ width, variants, probabilities }, index, answers) {
  answers.forEach(({ code, probability }, each) => {
    variants[index * width + each] = code;
    probabilities[index * width + each] = probability;
  });
}

/** Yield the choices that are shown, `{place, variants: [{code, probability}]}`: doubtful ones, and those by hand. */
export function* shownChoices({ places, width, variants, probabilities }, chosen = new Map()) {
  for (let index = 0; index < places.length; index++) {
    const from = index * width, place = places[index];
    if (probabilities[from] >= SURE && !chosen.has(place)) continue;
    const listed = Array.from(variants.subarray(from, from + width), (code, each) => (
      { code, probability: probabilities[from + each] }
    ));
    yield { place, variants: listed.filter(({ code }) => code) };
  }
}

/**
 * Return the numbers of the restored text, which `textOf` turns into it.
 *
 * A character is changed only if the probability of its most likely variant is at least `minConfidence`. `chosen` maps
 * places to the numbers that somebody chose there.
 */
export function restoredCodes(reading, minConfidence = 0, chosen = new Map()) {
  const { codes, places, width, variants, probabilities } = reading;
  const answer = codes.slice(), limit = Math.fround(minConfidence);
  places.forEach((place, index) => {
    if (probabilities[index * width] >= limit) answer[place] = variants[index * width];
  });
  for (const [place, code] of chosen) answer[place] = code;
  return answer;
}

/** Return the restored text: see `restoredCodes`. */
export const restored = (...reading) => textOf(restoredCodes(...reading));

/** Return what the page counts: `{characters, changed, doubtful}`, for what `restoredCodes` gave. */
export function counted(reading, answer, chosen = new Map()) {
  const { codes, places, width, probabilities } = reading;
  return {
    characters: codes.length - (codes.at(-1) === NOTHING),
    changed: answer.reduce((count, code, place) => count + (code !== codes[place]), 0),
    doubtful: places.reduce(
      (count, place, index) => count + (probabilities[index * width] < SURE && !chosen.has(place)), 0),
  };
}

/** Return the choices that are still good after the text was edited: those before and after the edit. */
export function carried(before, after, chosen) {
  if (!chosen.size) return chosen;
  const longest = Math.min(before.length, after.length), shift = after.length - before.length;
  let start = 0, end = 0;
  while (start < longest && before[start] === after[start]) start++;
  while (end < longest - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  if (end === 1 && before.at(-1) === NOTHING) end = 0; // the text has another end
  const kept = [...chosen].filter(([place]) => place < start || place >= before.length - end);
  return new Map(kept.map(([place, choice]) => [place < start ? place : place + shift, choice]));
}

/** Return the choices that a reading has too: with other switches, a character may become something else. */
export function possible({ places, width, variants }, chosen) {
  return new Map([...chosen].filter(([place, code]) => {
    const index = places.indexOf(place);
    return index >= 0 && variants.subarray(index * width, (index + 1) * width).includes(code);
  }));
}
