// The taggers of characters, that of `restore_accents` and that of `restore_text`, which read texts of any length in
// windows. As restoration/window_reader.py, with the batches that it makes.

import { choicesOf, evenCapitals, markedAs, RESTORED } from "./character_choices.js";
import { CharacterIds } from "./character_ids.js";
import { codePoints, normalized, NOTHING, withoutCharacter } from "./code_points.js";
import { emptyReading, setChoice } from "./reading.js";
import { BATCH_TOKENS, fetchFile, openTagger } from "./sessions.js";
import { cutWindows, matchSpans, protectedSpans, SPACE, VARIANTS, wordParts } from "./spans.js";
import { Spellings } from "./spellings.js";

const LINE_END = "\n", ENDS_WITH_SPACE = new RegExp(`[${SPACE}]$`);
const FURTHER_SPACE = new RegExp(`(?<![^${SPACE}])[${SPACE}]+`, "gu"); // that no word comes before

/** Return the folder of the tagger that restores what is named: accents alone have a stronger model. */
export const taggerFolder = (restored) => (String(restored) === "accents" ? "models/tagger" : "models/speech");

/** Return the WindowReader of a folder. */
export async function loadTagger(folder) {
  const [config, tokenizer, spellings, run] = await Promise.all([
    fetchFile(`${folder}/config.json`).then((file) => file.json()),
    fetchFile(`${folder}/tokenizer.json`).then((file) => file.json()),
    fetchFile(`${folder}/spellings.txt`).then((file) => file.text()),
    openTagger(`${folder}/model_int8.onnx`),
  ]);
  const bases = new Map(); // what may become each variant that is a character, other than itself
  for (const [base, variants] of Object.entries(config.character_variants)) {
    for (const variant of variants) {
      if (variant !== base && [...variant].length === 1) bases.set(variant.codePointAt(0), base.codePointAt(0));
    }
  }
  return new WindowReader(run, config, new CharacterIds(tokenizer), new Spellings(spellings, bases));
}

class WindowReader {
  #run;
  #config;
  #ids;
  #spellings;
  #endsText; // whether a line end may become a sign and a line end, so that a text may end with a sign it lacks

  /**
   * `run` is of openTagger; `config` is the model's config.json, `ids` are its CharacterIds and `spellings` its
   * Spellings.
   */
  constructor(run, config, ids, spellings) {
    [this.#run, this.#config, this.#ids, this.#spellings] = [run, config, ids, spellings];
    this.#endsText = [...config.character_variants[LINE_END] ?? []].some((variant) => variant !== LINE_END);
  }

  /**
   * Return the text in NFC as code points, and what the model says of the characters that have a choice: see
   * reading.js. Of what the model has learned to restore, only what `restored` names is; see character_choices.js.
   * Words that Brazil and Portugal mark differently get the marks of `variant`, "br" or "pt"; null: of either.
   *
   * `goesOn(share)` is awaited after each part of the work with the share of windows that are done; if it returns
   * false, the reading is given up and null is returned.
   */
  async read(text, restored = RESTORED, variant = null, goesOn = async () => true) {
    const began = performance.now(), given = normalized(text);
    const isOpen = this.#endsText && given !== "" && !ENDS_WITH_SPACE.test(given);
    // The last sign of a text is decided at the line end behind it. Training has no other line ends than \n.
    const nfc = given.replaceAll("\r\n", LINE_END) + (isOpen ? LINE_END : "");
    const codes = codePoints(nfc), choices = choicesOf(this.#config, restored);
    const ids = new Int32Array(codes.length), hints = new Uint8Array(codes.length);
    let place = 0;
    for (const part of wordParts(nfc)) {
      const suggestion = this.#spellings.suggest(part);
      const first = suggestion.suggested.map((code) => this.#ids.of(code)[0]); // of other characters, the first byte's
      ids.set(first, place);
      hints.set(suggestion.hints, place);
      place += suggestion.hints.length;
      if (place < codes.length && !(await goesOn(0))) return null;
    }
    let options = Array.from(codes, (code) => choices.get(code));
    if (variant) {
      const { places, marks } = VARIANTS[variant];
      for (const [start] of matchSpans(places, nfc)) options[start] = markedAs(marks, options[start]);
    }
    const spaces = this.#endsText ? matchSpans(FURTHER_SPACE, nfc) : [];
    for (const [start, end] of [...protectedSpans(nfc), ...spaces]) options.fill(undefined, start, end);
    let windows = cutWindows(codes.length, this.#config.window_length)
      .filter(({ first, last }) => options.slice(first, last).some(Boolean))
      .sort((one, other) => one.end - one.start - (other.end - other.start)); // batches of one length need no padding
    const all = windows.length;
    options = options.map((each) => (each?.length > 1 ? each : undefined)); // others have a choice with other switches
    if (isOpen) {
      codes[codes.length - 1] = NOTHING;
      options.push(options.pop()?.map((each) => ({ ...each, code: withoutCharacter(each.code) })));
    }
    const reading = emptyReading(codes, options), order = new Uint32Array(codes.length); // of each place with a choice
    reading.places.forEach((each, index) => { order[each] = index; });
    while (windows.length) {
      const longest = windows.at(-1).end - windows.at(-1).start;
      const batch = windows.splice(-Math.max(1, Math.floor(BATCH_TOKENS / (longest + 2))));
      await this.#readBatch(batch, longest + 2, ids, hints, options, reading, order);
      if (!(await goesOn(1 - windows.length / all))) return null;
    }
    evenCapitals(reading, order);
    return { ...withReturns(reading, codePoints(given)), milliseconds: performance.now() - began };
  }

  async #readBatch(batch, length, ids, hints, options, reading, order) {
    const rows = batch.map(({ start, end }) => ({ codes: ids.subarray(start, end), hints: hints.subarray(start, end) }));
    const logits = await this.#run(rows, this.#ids);
    const labels = logits.length / (batch.length * length);
    batch.forEach(({ start, first, last }, row) => {
      for (let place = first; place < last; place++) {
        if (!options[place]) continue;
        const from = (row * length + 1 + place - start) * labels;
        setChoice(reading, order[place], this.#probabilities(options[place], logits, from));
      }
    });
  }

  #probabilities(options, logits, from) {
    const temperature = Math.fround(this.#config.confidence_temperature);
    const add = (total, weight) => Math.fround(total + weight);
    const scores = options.map(({ labels }) => labels.map((label) => Math.fround(logits[from + label] / temperature)));
    const best = Math.max(...scores.flat());
    const weights = scores.map((of) => of.map((score) => Math.fround(Math.exp(Math.fround(score - best)))).reduce(add));
    const sum = weights.reduce(add);
    return options
      .map(({ code }, index) => ({ code, probability: Math.fround(weights[index] / sum) }))
      .sort((one, other) => other.probability - one.probability);
  }
}

/** Return a reading of a text whose line ends, `\r\n`, were read as `\n`: a sign comes before both characters. */
function withReturns(reading, given) {
  const [carriageReturn, lineFeed] = [13, 10];
  const isReturn = (place) => given[place] === carriageReturn && given[place + 1] === lineFeed;
  const returns = given.reduce((count, _, place) => count + isReturn(place), 0);
  if (!returns) return reading;
  const codes = new Uint32Array(reading.codes.length + returns), moved = new Uint32Array(reading.codes.length);
  codes.set(given);
  codes[codes.length - 1] = reading.codes.at(-1);
  for (let read = 0, place = 0; read < moved.length; read++) {
    moved[read] = place;
    place += isReturn(place) ? 2 : 1;
  }
  const places = reading.places.map((place) => moved[place]), { width } = reading;
  const variants = reading.variants.map((code, each) =>
    code && isReturn(places[Math.floor(each / width)]) ? code + carriageReturn - lineFeed : code);
  return { ...reading, codes, places, variants };
}
