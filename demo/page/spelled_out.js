// Abbreviations and initials in words. As phonemization/spelled_out.py without num2words: numbers stay as they are.

import { BORDER, WORD } from "./spans.js";

const ROMAN = "(?:(?=[XVI]{2})|(?<=[Ss]éculo |[Cc]apítulo ))X{0,3}(?:IX|IV|V?I{0,3})(?<=[XVI])";
const MEASURE = String.raw`(?<=\p{Nd} )(?:KM|KG|CM|MM|ML)|(?<=KM/)H`;

/** Return a function that spells texts out, with the words of the package: `{abbreviations, letters, initials}`. */
export function makeSpeller({ abbreviations, letters, initials }) {
  const longestFirst = Object.keys(abbreviations).sort((one, other) => other.length - one.length);
  const listed = longestFirst.map((each) => each.replaceAll(".", "\\.")).join("|");
  const abbreviation = new RegExp(`(?<!${WORD})(?:${listed})(?:(?!${WORD})|(?<=[.º])(?=\\p{Nd}))`, "giu");
  const spelt = new RegExp(`(?<![°º])${BORDER}(?!(?:${ROMAN}|${MEASURE})${BORDER})` +
    `(?:${initials.join("|")}|[B-DF-HJ-NP-TV-Z]{1,5})${BORDER}(?![$'’])`, "gu");
  const gap = (text, place) => (/^\p{Nd}/u.test(text.slice(place)) ? " " : "");
  return (text) => text
    .replace(abbreviation, (found, place) =>
      abbreviations[found.toUpperCase().toLowerCase()] + gap(text, place + found.length))
    .replace(spelt, (found) => Array.from(found, (letter) => letters[letter]).join(" "));
}
