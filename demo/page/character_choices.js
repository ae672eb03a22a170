// What each character may become, if of what the model restores only some is wanted. As restoration/character_codes.py.

import { codeOf } from "./code_points.js";

export const RESTORED = ["accents", "capitals", "punctuation"];
const UPPERCASE = /^\p{Uppercase}$/u;

/** Return whether a character is a capital. */
export const isCapital = (character) => UPPERCASE.test(character);

/** Return what a character becomes if of its changes into a label only some of RESTORED are wanted. */
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
