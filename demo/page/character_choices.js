// What each character may become, if of what the model restores only some is wanted. As restoration/character_codes.py.

import { codeOf, NOTHING, textOf } from "./code_points.js";
import { restoredCodes } from "./reading.js";
import { matchSpans } from "./spans.js";

export const RESTORED = ["accents", "capitals", "punctuation"];
const UPPERCASE = /^\p{Uppercase}$/u, LETTERS = /[\p{L}\p{Nl}\p{No}]{2,}/gu;
const SURE = 0.7, NEVER = 1e-9;

/** Return whether a character is a capital. */
export const isCapital = (character) => UPPERCASE.test(character);

/** Return what a character becomes if only some of the changes of a label, some of RESTORED, are wanted. */
function keepChanges(character, label, restored) {
  if ([...label].length !== 1) return restored.includes("punctuation") ? label : character;
  const letter = restored.includes("accents") ? label : character;
  const stays = restored.includes("capitals") ? label : character;
  return isCapital(stays) ? letter.toUpperCase() : letter.toLowerCase();
}

/** Return the choices of a character, in which those that are marked as in another variant count for its own. */
export function markedAs(marks, choices) {
  const own = new Map(Object.entries(marks).map(([others, mark]) => [codeOf(others), codeOf(mark)]));
  const all = new Map(choices?.map((each) => [each.code, each]));
  for (const [others, mark] of own) {
    if (!all.has(others) || !all.has(mark)) continue;
    all.set(mark, { code: mark, labels: [...all.get(mark).labels, ...all.get(others).labels] });
    all.delete(others);
  }
  return choices && [...all.values()];
}

/**
 * Return a Map from the code point of each character with a choice to what it may become: `[{code, labels}]`, the
 * numbers of code_points.js with the labels that come to each. Without accents, what would become `Á` becomes `A`, so
 * that both decide together whether it is a capital.
 *
 * `config` is the model's config.json; `restored` has some of RESTORED.
 */
export function choicesOf({ id2label, character_variants }, restored) {
  const labels = new Map(Object.entries(id2label).map(([label, text]) => [text, Number(label)]));
  const all = RESTORED.every((each) => restored.includes(each));
  return new Map(Object.entries(character_variants).map(([character, variants]) => {
    const choices = new Map();
    for (const variant of [...variants].sort((one, other) => labels.get(one) - labels.get(other))) {
      const kept = all ? variant : keepChanges(character, variant, restored);
      const code = codeOf([kept, character, variant].find((each) => variants.includes(each)));
      if (!choices.has(code)) choices.set(code, { code, labels: [] });
      choices.get(code).labels.push(labels.get(variant));
    }
    return [character.codePointAt(0), [...choices.values()]];
  }));
}

/**
 * Write words as joão, João or JOÃO where JOão would be doubtful, in place. As in restoration/window_reader.py.
 *
 * `order` has the number of each place with a choice.
 */
export function evenCapitals(reading, order) {
  const { codes, places, width, variants, probabilities } = reading;
  const written = restoredCodes(reading).map((code) => (code > NOTHING ? code & NOTHING : code));
  for (const [start, end] of matchSpans(LETTERS, textOf(written))) {
    const word = textOf(written.subarray(start, end)), letters = [...word];
    if (isLower(letters.slice(1).join("")) || isUpper(word) || !isLower(textOf(codes.subarray(start, end)))) continue;
    const chosen = letters.map((_, place) => (places[order[start + place]] === start + place ? order[start + place] : -1));
    const sure = chosen.map((index) => (index < 0 ? 1 : probabilities[index * width]));
    if (Math.min(...sure) >= SURE) continue;
    const forms = [0, 1, letters.length].map((capitals) => {
      const differs = letters.map((letter, place) => isCapital(letter) !== place < capitals);
      const chances = sure.map((probability, place) => (differs[place] ? 1 - probability : probability));
      return { differs, lowest: Math.min(...chances), likely: chances.reduce((sum, each) => sum + Math.log(each + NEVER), 0) };
    });
    const { differs, lowest } = forms.reduce((best, each) => (each.likely > best.likely ? each : best));
    const even = letters.map((letter) => (isCapital(letter) ? letter.toLowerCase() : letter.toUpperCase()));
    const rank = (index, code) => variants.subarray(index * width, (index + 1) * width).indexOf(code);
    if (differs.some((differs, place) => differs && chosen[place] < 0)) continue;
    const ranks = chosen.map((index, place) => (differs[place] ? rank(index, codeOf(even[place])) : 0));
    if (Math.min(...ranks) < 0) continue;
    chosen.forEach((index, place) => {
      if (index < 0) return;
      const from = index * width, first = variants[from];
      variants[from] = variants[from + ranks[place]];
      variants[from + ranks[place]] = first;
      probabilities[from] = lowest;
    });
  }
}

const isLower = (text) => text === text.toLowerCase() && text !== text.toUpperCase();
const isUpper = (text) => text === text.toUpperCase() && text !== text.toLowerCase();
