// The accents encoder-decoder: greedy search with a cache of keys and values, then one look at its cross-attention.

import { CharacterIds } from "./character_ids.js";
import { codePoints, normalized } from "./code_points.js";
import { fetchFile, floats, integers, openSession } from "./sessions.js";

const FOLDER = "models/encoder_decoder";
const HIDDEN = -1e9; // added to a score, it leaves nothing of it in float32

/** Return the EncoderDecoder of the page. */
export async function loadEncoderDecoder() {
  const [config, generation, tokenizer, ...graphs] = await Promise.all([
    ...["config", "generation_config", "tokenizer"].map((name) =>
      fetchFile(`${FOLDER}/${name}.json`).then((file) => file.json())),
    ...["encoder_model", "decoder_model", "cross_attention"].map((name) => openSession(`${FOLDER}/${name}.onnx`)),
  ]);
  return new EncoderDecoder(config, generation.max_length, new CharacterIds(tokenizer), ...graphs);
}

class EncoderDecoder {
  #ids;
  #graphs;

  constructor(config, maxLength, ids, encode, step, attention) {
    this.#ids = ids;
    this.#graphs = { encode, step, attention };
    this.start = config.decoder_start_token_id;
    this.width = config.num_attention_heads * config.head_dim;
    this.maxLength = maxLength;
  }

  /**
   * Write the target of a text with greedy search.
   *
   * Return `{source, target, ids, heads, milliseconds, finished}`: the characters of both, "" for the end; the ids; and
   * for each head `weights[target character][source character]`, whose rows have the sum 1.
   */
  async write(text, goesOn = async () => true) {
    const began = performance.now(), nfc = normalized(text);
    const { ids, places } = this.#ids.encode(nfc);
    const read = [...ids, this.#ids.eos];
    const written = await this.#search(read, goesOn);
    if (written === null) return null;
    const milliseconds = performance.now() - began;
    const finished = written.at(-1) === this.#ids.eos;
    const { weights } = await this.#graphs.attention({
      input_ids: integers(read, 1, read.length),
      decoder_input_ids: integers([this.start, ...written.slice(0, -1)], 1, written.length),
    });
    const source = [...Array.from(codePoints(nfc), (code) => String.fromCodePoint(code)), ""];
    const target = this.#ids.decode(written);
    if (finished) target.push({ character: "", first: written.length - 1, count: 1 });
    const [, heads, rows, columns] = weights.dims;
    return {
      source,
      target: target.map(({ character }) => character),
      ids: written,
      heads: Array.from({ length: heads }, (_, head) => target.map(({ first }) => {
        const from = (head * rows + first) * columns, row = new Float32Array(source.length);
        for (let column = 0; column < columns; column++) {
          row[places[column] ?? source.length - 1] += weights.data[from + column]; // the bytes of one character
        }
        return row;
      })),
      milliseconds,
      finished,
    };
  }

  async #search(read, goesOn) {
    const { encode, step } = this.#graphs, capacity = this.maxLength;
    const mask = new Array(read.length).fill(1);
    const keysAndValues = await encode({
      input_ids: integers(read, 1, read.length), attention_mask: integers(mask, 1, read.length),
    });
    const caches = Object.keys(keysAndValues).map((name) => name.replace("source", "past"));
    const feeds = {
      ...keysAndValues,
      source_mask: floats(new Float32Array(read.length), 1, 1, 1, read.length),
      ...Object.fromEntries(caches.map((name) =>
        [name, floats(new Float32Array(capacity * this.width), 1, capacity, this.width)])),
    };
    const visible = new Float32Array(capacity).fill(HIDDEN), written = [];
    for (let token = this.start; written.length < capacity - 1; ) {
      const place = written.length;
      visible[place] = 0;
      const outputs = await step({
        ...feeds,
        input_ids: integers([token], 1, 1),
        position_ids: integers([place], 1, 1),
        write_index: integers([place], 1),
        attention_mask: floats(visible.slice(), 1, 1, 1, capacity),
      });
      for (const name of caches) feeds[name] = outputs[name.replace("past", "present")];
      token = outputs.logits.data.reduce((best, score, id, all) => (score > all[best] ? id : best), 0);
      written.push(token);
      if (token === this.#ids.eos) break;
      if (place % 16 === 15 && !(await goesOn())) return null;
    }
    return written;
  }
}
