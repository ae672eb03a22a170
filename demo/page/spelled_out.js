// Abbreviations and initials in words. As phonemization/spelled_out.py without num2words: numbers stay as they are.

import { BORDER, WORD } from "./spans.js";

const ROMAN = "(?=[XVI]{2})X{0,3}(?:IX|IV|V?I{0,3})(?<=[XVI])";
const INITIALS = new RegExp(`(?<![°º])${BORDER}(?!${ROMAN}${BORDER})[B-DF-HJ-NP-TV-Z]{1,5}${BORDER}(?![$'’])`, "gu");

/** Return a function that spells texts out, with the words of the package: `{abbreviations, letters}`. */
export function makeSpeller({ abbreviations, letters }) {
  const longestFirst = Object.keys(abbreviations).sort((one, other) => other.length - one.length);
  const listed = longestFirst.map((each) => each.replaceAll(".", "\\.")).join("|");
  const pattern = new RegExp(`(?<!${WORD})(?:${listed})(?!${WORD})`, "giu");
  return (text) => text
    .replace(pattern, (found) => abbreviations[found.toUpperCase().toLowerCase()])
    .replace(INITIALS, (found) => Array.from(found, (letter) => letters[letter]).join(" "));
}
