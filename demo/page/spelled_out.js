// Abbreviations and initials in words, and foreign letters. As phonemization/spelled_out.py without num2words: numbers
// stay as they are.

import { BORDER, WORD } from "./spans.js";

const ROMAN = "(?:(?=[XVI]{2})|(?=I Guerra )|" +
  "(?<=[Ss]éculo |[Cc]apítulo |Pedro |João |Carlos |Afonso |Filipe |Isabel |Leão |Luís |Maria |Pio ))" +
  "X{0,3}(?:IX|IV|V?I{0,3})(?<=[XVI])";
const MEASURE = String.raw`(?<=\p{Nd} ?)(?:KM|KG|CM|MM|ML|[LVW])|(?<=/)[LH]`;
// And units after no number.
const SOUNDS = `m*h+m+|m{2,}|(?!s${BORDER})p?s+h*t?|pf+|tsc|z{2,}|[bg]r+|k{2,}|(?:rs+)+|k[mg]|cm|ml`;
const LETTER = String.raw`[\p{L}\p{Nl}\p{No}]`;

/** Return a function that spells words with foreign letters as Portuguese would, with the letters of the package. */
export function makeNative({ foreignU, foreignWord, foreignLetters }) {
  const isU = new RegExp(foreignU, "gu"), isForeign = new RegExp(foreignWord, "u");
  const pairs = foreignLetters.map(([letters, native]) => [new RegExp(letters, "gu"), native]);
  return (given, variant) => {
    const word = given.replace(isU, "u");
    return variant === "br" && isForeign.test(word) ? pairs.reduce((text, pair) => text.replace(...pair), word) : word;
  };
}

/** Return a function that spells texts out, with the words of the package. */
export function makeSpeller({ abbreviations, noAbbreviations, letters, initials, titles, singleLetters }) {
  const longestFirst = Object.keys(abbreviations).sort((one, other) => other.length - one.length);
  const listed = longestFirst.map((each) => each.replaceAll(".", "\\.")).join("|");
  const abbreviation = new RegExp(`(?<!${WORD})(?:${listed})(?:(?!${WORD})|(?<=[.º§])(?=\\p{Nd}))`, "giu");
  const spelt = new RegExp(`(?<![°º])(?<!${LETTER})(?:(?<!\\p{Nd})|(?=[BCDGKPT](?!${WORD})|[A-Z]{2}))` +
    `(?!(?:${ROMAN}|${MEASURE})${BORDER})` +
    `(?:(?:${initials.join("|")}|[B-DF-HJ-NP-TV-Z]{2,5})s?|[B-DF-HJ-NP-TV-Z])(?!${LETTER}|[$'’])` +
    `|(?<!${WORD}|[.'’@/\\-])(?<!\\p{Nd} )(?!(?:${SOUNDS})${BORDER})[b-df-hj-np-tv-z]{1,5}` +
    `(?!${LETTER}|[/'’@\\-])`, "gu");
  const named = titles.map(([initial, title, names]) =>
    [new RegExp(`${BORDER}${initial}\\. (?=(?:${names})${BORDER})`, "gu"), `${title} `]);
  const gap = (sign) => (/^[\p{L}\p{N}-]$/u.test(sign ?? "") ? " " : "");
  const gapAfter = (text, end) => (/^-\p{Nd}/u.test(text.slice(end, end + 3)) ? "" : gap(text[end])); // BR-101
  const nameLetters = (word) => Array.from(word.toUpperCase(), (letter) => letters[letter]).join(" ");
  const spell = (word) => (/^[A-Z]{2,}s$/.test(word) ? `${nameLetters(word.slice(0, -1))}s` : nameLetters(word));
  const isBeforeWord = (rest) => /^ \p{Lowercase}/u.test(rest);
  return (text) => named.reduce((read, pair) => read.replace(...pair), text)
    .replace(abbreviation, (found, place, whole) => (noAbbreviations.includes(found) ? found :
      abbreviations[found.toUpperCase().toLowerCase()] + gapAfter(whole, place + found.length)))
    .replace(spelt, (found, place, whole) => {
      const end = place + found.length;
      if (found in singleLetters && isBeforeWord(whole.slice(end, end + 2))) return singleLetters[found];
      return gap(whole[place - 1]) + spell(found) + gapAfter(whole, end);
    });
}
