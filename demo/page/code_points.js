// Texts as the model reads them: one number for each character, and not one for each half of a surrogate pair.

const CHUNK = 8192; // arguments of one call

/** Return the code points of a text, a Uint32Array with one for each character. */
export function codePoints(text) {
  return Uint32Array.from(text, (character) => character.codePointAt(0));
}

/** Return the text of code points. */
export function textOf(codes) {
  let text = "";
  for (let start = 0; start < codes.length; start += CHUNK) {
    text += String.fromCodePoint(...codes.subarray(start, start + CHUNK));
  }
  return text;
}

/** Return a text in NFC, as the model was trained on it; an Error if it has half of a surrogate pair. */
export function normalized(text) {
  if (!text.isWellFormed()) throw new Error("The text has a lone surrogate, which is half of a character.");
  return text.normalize("NFC");
}
