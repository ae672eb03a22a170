// The spellings that training has seen for each word: what the tagger starts from. As restoration/spellings.py.

import { isCapital } from "./character_choices.js";
import { codePoints, textOf } from "./code_points.js";
import { WORD } from "./spans.js";

const WORDS = new RegExp(`(${WORD}+)`, "u");

/** Return the text in lower case, but for `İ`, which would become two characters. */
const lowerCase = (text) => text.split("İ").map((part) => part.toLowerCase()).join("İ");

export class Spellings {
  #bases;
  #lines = new Map(); // by word, as in the file

  /**
   * Read a file of spellings: a word on each line, its spellings separated by spaces, the most frequent first.
   *
   * `bases` is a Map from the code point of each variant to that of the character that may become it.
   */
  constructor(file, bases) {
    this.#bases = bases;
    const variants = new RegExp(`[${[...bases.keys()].map((code) => `\\u{${code.toString(16)}}`).join("")}]`, "gu");
    const base = (variant) => String.fromCodePoint(bases.get(variant.codePointAt(0)));
    const bare = lowerCase(file).replace(variants, base).split("\n"); // all at once, which is faster
    file.split("\n").forEach((line, index) => this.#lines.set(bare[index].split(" ", 1)[0], line));
  }

  /**
   * Return the text with each listed word in its most frequent spelling, and where there is no other.
   *
   * Marks that the text has are kept, and so is the case of its letters. Both are arrays with a number for each
   * character: code points, and 1 in words with a single spelling.
   */
  suggest(text) {
    const given = codePoints(text), lower = codePoints(lowerCase(text)), bare = this.#bare(lower);
    const first = [], hints = [];
    textOf(bare).split(WORDS).forEach((piece, index) => { // every second one is a word
      const spellings = (index % 2 && this.#lines.get(piece)?.split(" ")) || [];
      const characters = codePoints(spellings[0] ?? piece);
      first.push(characters);
      hints.push(new Uint8Array(characters.length).fill(spellings.length === 1 ? 1 : 0));
    });
    const suggested = joined(first, Uint32Array, given.length);
    for (let place = 0; place < given.length; place++) {
      const changed = suggested[place] !== bare[place] && lower[place] === bare[place]; // without a mark of its own
      if (!changed) suggested[place] = given[place];
      else if (given[place] !== lower[place] && isCapital(String.fromCodePoint(given[place]))) {
        const upper = codePoints(String.fromCodePoint(suggested[place]).toUpperCase());
        if (upper.length === 1) suggested[place] = upper[0];
      }
    }
    return { suggested, hints: joined(hints, Uint8Array, given.length) };
  }

  #bare(lower) {
    return lower.map((code) => this.#bases.get(code) ?? code);
  }
}

function joined(parts, Kind, length) {
  const whole = new Kind(length);
  let place = 0;
  for (const part of parts) {
    whole.set(part, place);
    place += part.length;
  }
  return whole;
}
