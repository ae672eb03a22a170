// Texts as the model reads them: one number for each character, and not one for each half of a surrogate pair.
//
// What a character becomes is one number too: a code point or, above its bits, the ASCII code of a sign before it.

const CHUNK = 8192; // arguments of one call
const BITS = 21; // of a code point
export const NOTHING = 2 ** BITS - 1; // in place of a code point: no character, but maybe a sign

/** Return the code points of a text, a Uint32Array with one for each character. */
export function codePoints(text) {
  return Uint32Array.from(text, (character) => character.codePointAt(0));
}

/** Return the number of what a character becomes: of a character, or of a sign and a character. */
export function codeOf(text) {
  const points = codePoints(text);
  if (points.length === 1) return points[0];
  if (points.length === 2 && points[0] < 128) return points[0] << BITS | points[1];
  throw new Error(`found ${JSON.stringify(text)} among character_variants; expected a character, or ASCII and another`);
}

/** Return the number of the same sign, if there is one, with no character after it. */
export const withoutCharacter = (code) => code | NOTHING;

/** Return the sign of a number, "" if it has none. */
export const signOf = (code) => (code > NOTHING ? String.fromCodePoint(code >>> BITS) : "");

/** Return the text of numbers: code points, of which some may have a sign. */
export function textOf(codes) {
  const points = new Uint32Array(2 * codes.length);
  let length = 0, text = "";
  for (const code of codes) {
    if (code > NOTHING) points[length++] = code >>> BITS;
    if ((code & NOTHING) !== NOTHING) points[length++] = code & NOTHING;
  }
  for (let start = 0; start < length; start += CHUNK) {
    text += String.fromCodePoint(...points.subarray(start, Math.min(start + CHUNK, length)));
  }
  return text;
}

/** Return a text in NFC, as the model was trained on it; an Error if it has half of a surrogate pair. */
export function normalized(text) {
  if (/\p{Cs}/u.test(text)) throw new Error("The text has a lone surrogate, which is half of a character.");
  return text.normalize("NFC");
}
