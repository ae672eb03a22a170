// The tagger of characters, which reads texts of any length in windows. As restoration/window_reader.py, with the
// batches that it makes.

import { BATCH_TOKENS, batchInputs } from "./batches.js";
import { codePoints, normalized } from "./code_points.js";
import { emptyReading, setChoice } from "./reading.js";
import { cutWindows, protectedSpans, wordParts } from "./spans.js";

export class WindowReader {
  #run;
  #config;
  #ids;
  #spellings;
  #variants; // of each character with a choice: their code points, with the label of each

  /**
   * `run` maps {input_ids, token_type_ids, attention_mask}, plain arrays of `size` rows, to logits; `config` is the
   * model's config.json; `ids` are its CharacterIds and `spellings` its Spellings.
   */
  constructor(run, config, ids, spellings) {
    [this.#run, this.#config, this.#ids, this.#spellings] = [run, config, ids, spellings];
    const labels = new Map(Object.entries(config.id2label).map(([label, character]) => [character, Number(label)]));
    const ordered = (variants) => [...variants].sort((one, other) => labels.get(one) - labels.get(other));
    this.#variants = new Map(
      Object.entries(config.character_variants).map(([character, variants]) => [
        character.codePointAt(0),
        ordered(variants).map((variant) => ({ code: variant.codePointAt(0), label: labels.get(variant) })),
      ]),
    );
  }

  /**
   * Return the text in NFC as code points, and what the model says of the characters that have a choice: see
   * reading.js.
   *
   * `goesOn(share)` is awaited after each part of the work with the share of windows that are done; if it returns
   * false, the reading is given up and null is returned.
   */
  async read(text, goesOn = async () => true) {
    const began = performance.now(), nfc = normalized(text), codes = codePoints(nfc);
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
    const options = Array.from(codes, (code) => this.#variants.get(code));
    for (const [start, end] of protectedSpans(nfc)) options.fill(undefined, start, end);
    const reading = emptyReading(codes, options), order = new Uint32Array(codes.length); // of each place with a choice
    reading.places.forEach((each, index) => { order[each] = index; });
    let windows = cutWindows(codes.length, this.#config.window_length)
      .filter(({ first, last }) => options.slice(first, last).some(Boolean))
      .sort((one, other) => one.end - one.start - (other.end - other.start)); // batches of one length need no padding
    const all = windows.length;
    while (windows.length) {
      const longest = windows.at(-1).end - windows.at(-1).start;
      const batch = windows.splice(-Math.max(1, Math.floor(BATCH_TOKENS / (longest + 2))));
      await this.#readBatch(batch, longest + 2, ids, hints, options, reading, order);
      if (!(await goesOn(1 - windows.length / all))) return null;
    }
    return { ...reading, milliseconds: performance.now() - began };
  }

  async #readBatch(batch, length, ids, hints, options, reading, order) {
    const rows = batch.map(({ start, end }) => ({ codes: ids.subarray(start, end), hints: hints.subarray(start, end) }));
    const logits = await this.#run(batchInputs(rows, this.#ids), batch.length);
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
    const scores = options.map(({ label }) => Math.fround(logits[from + label] / temperature));
    const best = Math.max(...scores);
    const weights = scores.map((score) => Math.fround(Math.exp(Math.fround(score - best))));
    const sum = weights.reduce((total, weight) => Math.fround(total + weight), 0);
    return options
      .map(({ code }, index) => ({ code, probability: Math.fround(weights[index] / sum) }))
      .sort((one, other) => other.probability - one.probability);
  }
}
