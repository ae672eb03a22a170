// The ids of characters, from a saved tokenizer.json: one for each in the alphabet, and UTF-8 bytes for all others.

import { codePoints } from "./code_points.js";

const byteToken = (byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;

export class CharacterIds {
  #ids;
  #tokens;
  #utf8 = new TextEncoder();

  constructor(tokenizer) {
    const added = tokenizer.added_tokens.map(({ id, content }) => [content, id]);
    this.#ids = new Map([...Object.entries(tokenizer.model.vocab), ...added]);
    this.#tokens = new Map([...this.#ids].map(([token, id]) => [id, token]));
    [this.pad, this.bos, this.eos] = ["<pad>", "<bos>", "<eos>"].map((token) => this.#ids.get(token));
  }

  /** Return the ids of a character, given as a code point. */
  of(code) {
    const character = String.fromCodePoint(code), id = this.#ids.get(character);
    return id === undefined ? [...this.#utf8.encode(character)].map((byte) => this.#ids.get(byteToken(byte))) : [id];
  }

  /** Return the ids of a text, with the character that each belongs to. */
  encode(text) {
    const ids = [], places = [];
    codePoints(text).forEach((code, place) => {
      for (const id of this.of(code)) {
        ids.push(id);
        places.push(place);
      }
    });
    return { ids, places };
  }

  /** Return the characters of ids and the number of ids of each; other special tokens are left out. */
  decode(ids) {
    const characters = [];
    for (let index = 0; index < ids.length; ) {
      const token = this.#tokens.get(ids[index]);
      const bytes = [];
      for (let next = index; /^<0x..>$/.test(this.#tokens.get(ids[next]) ?? ""); next++) {
        bytes.push(parseInt(this.#tokens.get(ids[next]).slice(3, 5), 16));
        if (isCharacter(bytes)) break;
        if (bytes.length === 4) break;
      }
      const length = bytes.length && isCharacter(bytes) ? bytes.length : 1;
      const character = !bytes.length ? token : isCharacter(bytes) ? fromBytes(bytes) : "\ufffd";
      if (bytes.length || [...token].length === 1) characters.push({ character, first: index, count: length });
      index += length;
    }
    return characters;
  }
}

const fromBytes = (bytes) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(new Uint8Array(bytes));
const isCharacter = (bytes) => !fromBytes(bytes).includes("\ufffd");
