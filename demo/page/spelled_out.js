// Abbreviations, initials and addresses in words, and foreign letters. As phonemization/spelled_out.py without num2words:
// numbers stay as they are.

import { BORDER, SPACE, W, WORD } from "./spans.js";

const makeRoman = ({ parts, names, meetings }) =>
  `(?:(?=[XVI]{2})|(?=[XVI] (?:${meetings})${BORDER})|(?<=(?:${parts.join("|")}) )` +
  `|(?<=(?:${names.join("|")}) )(?![VX]\\. (?:[A-ZÀ-Ý]|d[aeo]s? )))X{0,3}(?:IX|IV|V?I{0,3})(?<=[XVI])`;
const MEASURE = String.raw`(?<=\p{Nd} ?)(?:KM|KG|CM|MM|ML|H(?:R?S)?|[LVW])|(?<=/)[LH]`;
// And units after no number.
const SOUNDS = `m*h+m+|m{2,}|(?!s${BORDER})p?s+h*t?|pf+|tsc|z{2,}|[bg]r+|k{2,}|(?:rs+)+|k[mg]|cm|ml`;
const VERB = `(?<=${BORDER}(?:EU|EL[EA]|QUE|NÃO) )IA`; // and not artificial intelligence
const LETTER = String.raw`[\p{L}\p{Nl}\p{No}]`;

const ADDRESS = new RegExp(
  `(?<![${W}@.+\\-])(?:[${W}.+\\-]+@(?:[${W}\\-]+\\.)+[a-z]{2,}` +
  `|(?:https?://|www\\.)[${W}\\-]+(?:\\.[${W}\\-]+)+(?:/[${W}./\\-]*[${W}])?` +
  `|(?:[${W}\\-]+\\.)+(?:com(?![${SPACE}]+[a-zà-ÿ])|org|net|gov|edu|br|pt|io|app|dev)${BORDER}(?:/[${W}./\\-]*[${W}])?)` +
  `(?![${W}@])`, "gu");
const FOOTNOTE = new RegExp(`(?<=${LETTER}{3})[¹²³⁰⁴-⁹]+`, "gu");
const BR = new RegExp(`\\.br${BORDER}`, "gu");
const TEXT_END = new RegExp(`^(?:[${SPACE}]*$|(?:(?!\n)[${SPACE}])*\n[${SPACE}]*\n)`, "u");
const SENTENCE_END = new RegExp(`^(?:[${SPACE}]*$|[${SPACE}]+[A-ZÀ-Ý]|(?:(?!\n)[${SPACE}])*\n[${SPACE}]*\n)`, "u");

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
export function makeSpeller({ abbreviations, noAbbreviations, letters, initials, titles, singleLetters, ...tables }) {
  const longestFirst = Object.keys(abbreviations).sort((one, other) => other.length - one.length);
  const listed = longestFirst.map((each) => each.replaceAll(".", "\\.")).join("|");
  const abbreviation = new RegExp(`(?<!${WORD})(?:${listed})(?:(?!${WORD})|(?<=[.º§])(?=\\p{Nd}))`, "giu");
  const spelt = new RegExp(`(?<![°º]|\\p{Nd}° |\\p{Nd}{2}º |${LETTER})(?:(?<!\\p{Nd})|(?=[BCDGKPT](?!${WORD})|[A-Z]{2}))` +
    `(?!(?:${makeRoman(tables)}|${MEASURE}|${VERB})${BORDER})` +
    `(?:(?:${initials.join("|")}|[B-DF-HJ-NP-TV-Z]{2,5})(?:['’]?s)?|[B-DF-HJ-NP-TV-Z])(?!${LETTER}|[$'’])` +
    `|(?<!${WORD}|[.'’@/\\-])(?<!\\p{Nd} )(?!(?:${SOUNDS})${BORDER})(?:[b-df-hj-np-tv-xz]{2,5}|[b-df-hj-np-tv-z])` +
    `(?!${LETTER}|[/'’@\\-])`, "gu");
  const named = titles.map(([initial, title, names]) =>
    [new RegExp(`${BORDER}${initial}\\. (?=(?:${names})${BORDER})`, "gu"), `${title} `]);
  const gap = (sign) => (/^[\p{L}\p{N}-]$/u.test(sign ?? "") ? " " : "");
  const gapAfter = (text, end) => (/^-\p{Nd}/u.test(text.slice(end, end + 3)) ? "" : gap(text[end])); // BR-101
  const nameLetters = (word) => Array.from(word.toUpperCase(), (letter) => letters[letter]).join(" ");
  const spell = (word) => {
    const several = /^([A-Z]{2,})['’]?s$/.exec(word);
    return several ? `${nameLetters(several[1])}s` : nameLetters(word);
  };
  const nameSigns = (address) => address.replace(/https?:\/\//g, "").replace(BR, ".bê erre") // as a sound, *br* is not spelt
    .replace(/[@./_+-]/g, (sign) => ` ${tables.signsOfAddresses[sign]} `);
  const name = (found, place, whole) => {
    const short = found.toUpperCase().toLowerCase(), end = place + found.length, rest = whole.slice(end);
    const ends = short.endsWith(".") && (["etc.", "a.c.", "d.c."].includes(short) ? SENTENCE_END : TEXT_END).test(rest);
    return abbreviations[short] + (ends ? "." : "") + gapAfter(whole, end);
  };
  const isBeforeWord = (rest) => /^ \p{Lowercase}/u.test(rest);
  const prepare = (text) => text.replace(/[₀-₉]/g, (digit) => digit.codePointAt(0) - 0x2080).replace(FOOTNOTE, "")
    .replace(ADDRESS, nameSigns);
  return (text) => named.reduce((read, pair) => read.replace(...pair), prepare(text))
    .replace(abbreviation, (...found) => (noAbbreviations.includes(found[0]) ? found[0] : name(...found)))
    .replace(spelt, (found, place, whole) => {
      const end = place + found.length;
      if (found in singleLetters && isBeforeWord(whole.slice(end, end + 2))) return singleLetters[found];
      return gap(whole[place - 1]) + spell(found) + gapAfter(whole, end);
    });
}
