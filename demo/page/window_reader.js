// The tagger of characters, which reads texts of any length in windows. As restoration/window_reader.py, with the
// batches that it makes: the numbers of an int8 model depend, in their last digits, on what is in the batch.

import { codePoints, normalized, textOf } from "./code_points.js";
import { cutWindows, protectedSpans } from "./spans.js";

const BATCH_TOKENS = 1024;

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
   * Return the text in NFC as code points, and for each character that has a choice its place and its variants, the
   * most probable first: `{codes, choices: [{place, variants: [{code, probability}]}]}`.
   *
   * `afterBatch(share)` is awaited after each batch with the share of windows that are done; if it returns false, the
   * reading is given up and null is returned.
   */
  async read(text, afterBatch = async () => true) {
    const began = performance.now(), nfc = normalized(text), codes = codePoints(nfc);
    const { suggested, hints } = this.#spellings.suggest(nfc);
    const ids = Int32Array.from(suggested, (code) => this.#ids.of(code)[0]); // of other characters, the first byte's
    const options = Array.from(codes, (code) => this.#variants.get(code));
    for (const [start, end] of protectedSpans(nfc)) options.fill(undefined, start, end);
    let windows = cutWindows(codes.length, this.#config.window_length)
      .filter(({ first, last }) => options.slice(first, last).some(Boolean))
      .sort((one, other) => one.end - one.start - (other.end - other.start)); // batches of one length need no padding
    const choices = new Array(codes.length), all = windows.length;
    while (windows.length) {
      const longest = windows.at(-1).end - windows.at(-1).start;
      const batch = windows.splice(-Math.max(1, Math.floor(BATCH_TOKENS / (longest + 2))));
      await this.#readBatch(batch, longest + 2, ids, hints, options, choices);
      if (!(await afterBatch(1 - windows.length / all))) return null;
    }
    return { codes, choices: choices.filter(Boolean), milliseconds: performance.now() - began };
  }

  async #readBatch(batch, length, ids, hints, options, choices) {
    const size = batch.length * length;
    const inputs = {
      input_ids: new Array(size).fill(this.#ids.pad),
      token_type_ids: new Array(size).fill(0),
      attention_mask: new Array(size).fill(0),
    };
    batch.forEach(({ start, end }, row) => {
      const from = row * length;
      inputs.input_ids[from] = this.#ids.bos;
      for (let place = start; place < end; place++) {
        inputs.input_ids[from + 1 + place - start] = ids[place];
        inputs.token_type_ids[from + 1 + place - start] = hints[place];
      }
      inputs.input_ids[from + 1 + end - start] = this.#ids.eos;
      inputs.attention_mask.fill(1, from, from + end - start + 2);
    });
    const logits = await this.#run(inputs, batch.length), labels = logits.length / size;
    batch.forEach(({ start, first, last }, row) => {
      for (let place = first; place < last; place++) {
        if (!options[place]) continue;
        const from = (row * length + 1 + place - start) * labels;
        choices[place] = { place, variants: this.#probabilities(options[place], logits, from) };
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

/**
 * Return the restored text of a reading.
 *
 * A character is changed only if the probability of its most likely variant is at least `minConfidence`. `chosen` maps
 * places to the code points that somebody chose there.
 */
export function restored({ codes, choices }, minConfidence = 0, chosen = new Map()) {
  const restoredCodes = codes.slice(), limit = Math.fround(minConfidence);
  for (const { place, variants: [best] } of choices) {
    if (best.probability >= limit) restoredCodes[place] = best.code;
  }
  for (const [place, code] of chosen) restoredCodes[place] = code;
  return textOf(restoredCodes);
}

const SURE = 0.95; // probability from which a character is not shaded

/** Return whether somebody should look at a choice of a reading. */
export const isDoubtful = ({ variants: [best] }) => best.probability < SURE;
