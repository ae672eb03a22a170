// The model of `phonemize`, which reads texts: words one by one, homographs by name. As phonemization/phonemizer.py.

import { CharacterIds } from "./character_ids.js";
import { codePoints, normalized } from "./code_points.js";
import { LetterTagger } from "./letter_tagger.js";
import { fetchFile, openTagger } from "./sessions.js";
import { makeNative, makeSpeller } from "./spelled_out.js";

const FOLDER = "models/phones";
const LETTERS = String.raw`(?:[\p{L}\p{Nl}\p{No}][\u0300-\u036f]*)+`;
const TOKEN = new RegExp(String.raw`${LETTERS}(?:['’\u2010\u2011-]${LETTERS})*|\p{Nd}+`, "gu");
const CLITIC = /^([\p{L}\p{N}_]{2,})-(me|te|se|lhes?|[oa]s?|n[oa]s?|vos)$/u; // pronouns after verbs that keep their form
const UNSEEN = /[\u00ad\u200b\u200c\u2060]|(?<=[\p{L}\p{N}])\u200d|\u200d(?=[\p{L}\p{N}])/gu; // without width
const STRESS = "ˈ";
const READINGS = 3; // of each word

/** Return the Phonemizer of the page. */
export async function loadPhonemizer() {
  const [config, tokenizer, spelledOut, readings, run] = await Promise.all([
    ...["config", "tokenizer", "spelled_out"].map((name) =>
      fetchFile(`${FOLDER}/${name}.json`).then((file) => file.json())),
    fetchFile(`${FOLDER}/readings.txt`).then((file) => file.text()),
    openTagger(`${FOLDER}/model_int8.onnx`),
  ]);
  const tagger = new LetterTagger(run, config, new CharacterIds(tokenizer));
  return new Phonemizer(tagger, readings, makeSpeller(spelledOut), makeNative(spelledOut));
}

export class Phonemizer {
  #tagger;
  #readings = new Map(); // by variant and word: those that are known without the model
  #spellOut;
  #inNativeLetters;
  #cache = new Map(); // of each variant, the readings of words that the model has written

  constructor(tagger, readings, spellOut, inNativeLetters) {
    [this.#tagger, this.#spellOut, this.#inNativeLetters] = [tagger, spellOut, inNativeLetters];
    for (const line of readings.split("\n").filter((each) => each.trim())) {
      const [variant, word, ...phones] = line.split("\t");
      this.#readings.set(`${variant}\t${plainWord(word)}`, phones.map((each) => each.split(" ")));
    }
    for (const variant of tagger.tags) this.#cache.set(variant, new Map());
  }

  /**
   * Return `{words, gaps, milliseconds}`: the words with their pronunciations, and what is before, between and after.
   *
   * A word is `{word, readings: [{phones, confidence}], ambiguous: [phones, phones], source}`, as a PhonemizedWord.
   * `goesOn()` is as in LetterTagger.
   */
  async read({ text, variant }, goesOn = async () => true) {
    const began = performance.now(), spoken = this.#spellOut(normalized(text.replace(UNSEEN, "")));
    const tokens = [...spoken.matchAll(TOKEN)], partsOf = new Map();
    for (const [token] of tokens) {
      partsOf.set(token, /^\p{Nd}/u.test(token) ? [] : this.#parts(plainWord(token), variant));
    }
    const spelled = new Map(); // of parts that the model has to write, in letters that it has
    for (const part of [...partsOf.values()].flat()) {
      if (this.#known(part, variant)) continue;
      spelled.set(part, this.#inKnownLetters(this.#inNativeLetters(part, variant)));
    }
    const cache = this.#cache.get(variant);
    const texts = [...new Set(spelled.values())].filter((each) => each && !cache.has(each)).sort();
    const written = await this.#tagger.write(texts, variant, READINGS, goesOn);
    if (written === null) return null;
    const isSaid = ({ units }) => units.some((each) => each !== STRESS);
    texts.forEach((each, index) => cache.set(each, !written[index].length || !isSaid(written[index][0]) ? [] :
      written[index].filter(isSaid).map(({ units, confidence }) => ({ phones: units, confidence }))));
    const readings = (part) => this.#known(part, variant) ?? cache.get(spelled.get(part)) ?? [];
    const words = tokens.map(([token]) => this.#answer(token, partsOf.get(token), variant, readings));
    const ends = [0, ...tokens.map(({ index, 0: { length } }) => index + length)];
    const gaps = ends.map((end, index) => spoken.slice(end, tokens[index]?.index));
    return { words, gaps, milliseconds: performance.now() - began };
  }

  #answer(word, parts, variant, readingsOf) {
    const ofParts = parts.map(readingsOf);
    if (!parts.length || ofParts.some((each) => !each.length)) {
      return { word, readings: [], ambiguous: [], source: "none" };
    }
    const ranks = Math.max(...ofParts.map((each) => each.length));
    const joined = Array.from({ length: ranks }, (_, rank) => {
      const chosen = ofParts.map((each) => each[Math.min(rank, each.length - 1)]);
      return {
        phones: chosen.flatMap(({ phones }) => phones),
        confidence: chosen.reduce((product, { confidence }) => product * confidence, 1),
      };
    });
    const source = parts.every((part) => this.#known(part, variant)) ? "lexicon" : "model";
    const both = (parts.length === 1 && this.#known(parts[0], variant)) || [];
    const ambiguous = both.length > 1 ? both.map(({ phones }) => phones) : [];
    return { word, readings: joined, ambiguous, source };
  }

  /** Return how a word is said, a homograph in two ways; undefined if the model has to write it. */
  #known(word, variant) {
    const known = this.#readings.get(`${variant}\t${word}`);
    return known?.length ? known.map((phones) => ({ phones, confidence: 1 / known.length })) : undefined;
  }

  /** Return what is read of a word: itself, a verb and its pronoun, or parts at prefixes and unknown hyphens. */
  #parts(word, variant) {
    if (this.#known(word, variant)) return [word];
    const start = word.indexOf("-") + 1, prefix = word.slice(0, start);
    if (prefix && this.#known(prefix, variant)) return [prefix, ...this.#parts(word.slice(start), variant)];
    const clitic = word.match(CLITIC);
    if (clitic) return clitic.slice(1);
    const joints = ["-", "'"].filter((each) => !this.#tagger.letters.has(each));
    return joints.reduce((parts, joint) => parts.flatMap((part) => part.split(joint)), [word]);
  }

  /** Return a word in letters that the model has, as n for ñ and ss for ß; nothing if it cannot be read. */
  #inKnownLetters(word) {
    const { letters, longest } = this.#tagger, other = (each) => stripAccents(each.toUpperCase().toLowerCase());
    const spelled = Array.from(word, (each) => (letters.has(each) ? each : other(each))).join("");
    const isRead = codePoints(spelled).length <= longest && Array.from(spelled).every((each) => letters.has(each));
    return isRead ? spelled : "";
  }
}

const plainWord = (word) => word.normalize("NFC").toLowerCase().replaceAll("’", "'").replace(/[\u2010\u2011]/g, "-");
const stripAccents = (text) => text.normalize("NFD").replace(/\p{Mn}/gu, "").normalize("NFC");
