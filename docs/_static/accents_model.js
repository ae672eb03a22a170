// The encoder-decoder that puts accents, forward only: its weights, its two sides, and the searches that write with it.
// After backprop.js, block.js and pronoun_model.js; for decoding_lab.js, which loads accents_weights.js.
"use strict";

const SPECIAL = { begin: "<bos>", end: "<eos>" };
const LONGEST_SOURCE = 24; // characters of the longest texts that it learned from

/** Return what docs/page_data.py packed: each matrix is levels of 8 bits times the scale of their column. */
function unpack(saved) {
  if (Array.isArray(saved)) return saved.map(unpack);
  if (!saved.levels) return Object.fromEntries(Object.entries(saved).map(([name, part]) => [name, unpack(part)]));
  const bytes = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0)).buffer;
  const { columns } = saved, levels = new Int8Array(bytes(saved.levels)), scales = new Float32Array(bytes(saved.scales));
  return new Matrix(levels.length / columns, columns, Float64Array.from(levels, (level, at) => level * scales[at % columns]));
}

/** Return a text as the model has learned to read it: lower case, no accents, a space for all that is no letter. */
function sourceOf(text) {
  const plain = text.normalize("NFD").replace(/\p{Mark}/gu, "").toLowerCase();
  return plain.replace(/[^a-z]+/g, " ").trim().slice(0, LONGEST_SOURCE).trim();
}

/** The model of docs/page_model.yaml: blocks with LayerNorm before each sub-layer, one table for tokens and output. */
class AccentsModel {
  constructor({ characters, headCount, weights }) {
    Object.assign(this, { characters, headCount, weights: unpack(weights) });
  }

  id(character) {
    return this.characters.indexOf(character);
  }

  /** Return the encoder's output `y` for a text, ids with <eos> at the end, and its attention, `self`, block by block. */
  encode(ids) {
    return this.#pass("encoder", ids);
  }

  /** Return what the decoder makes of <bos> and all letters after it: `logits` of the next one, and `self` and `cross`. */
  decode(ids, memory) {
    const { y, ...attention } = this.#pass("decoder", ids, memory);
    const last = y.part(ids.length - 1, ids.length), { tokens, headBias } = this.weights;
    return { logits: linear.forward(last, transpose(tokens), headBias), ...attention };
  }

  #pass(side, ids, memory) {
    const { tokens } = this.weights, { blocks, gain, shift } = this.weights[side], width = tokens.columns;
    const options = { texts: 1, headCount: this.headCount }, attention = { self: [], cross: [] };
    let x = add.forward(scale.forward(lookUp.forward(tokens, ids), Math.sqrt(width)), sinusoids(ids.length, width));
    for (const w of blocks) {
      const norm = (inner) => layerNorm.forward(x, inner.gain, inner.shift).y;
      const attend = (kind, queries, source, isCausal) => {
        const { y, weights } = multiHeadAttention.forward(queries, source, w[kind], { ...options, isCausal });
        attention[kind].push(weights);
        x = add.forward(x, y);
      };
      const own = norm(w.self);
      attend("self", own, own, Boolean(memory));
      if (memory) attend("cross", norm(w.cross), memory, false);
      x = add.forward(x, feedForward.forward(norm(w.network), w.network).y);
    }
    return { y: layerNorm.forward(x, gain, shift).y, ...attention };
  }
}

/** Return the attention of a block as (m, n): of one head, or the mean of all where `head` is undefined. */
function attentionOf(weights, headCount, head) {
  if (head !== undefined) return weights.part(head, headCount);
  const parts = Array.from({ length: headCount }, (_, each) => weights.part(each, headCount));
  return scale.forward(parts.reduce(add.forward), 1 / headCount);
}

/** Return the probabilities of the next letter after temperature and top-k, where `topK` 0 keeps all; the rest get 0. */
function nextProbabilities(logits, { temperature = 1, topK = 0 } = {}) {
  const least = topK ? [...logits.data].sort((a, b) => b - a)[topK - 1] : -Infinity;
  return softmax.forward(logits.map((logit) => (logit < least ? -Infinity : logit / temperature))).row(0);
}

/**
 * A text that is being written: one beam, or the best two, which is beam search without a length penalty.
 *
 * A beam has its `ids` from <bos> on, its `score`, the sum of log p, `isOver` after <eos>, and what `decode` made of the
 * ids that it `read`.
 */
class Decoding {
  constructor(model, source) {
    this.model = model;
    this.ids = [...source].map((character) => model.id(character)).concat(model.id(SPECIAL.end));
    this.encoded = model.encode(this.ids);
    this.most = this.ids.length + 4; // a letter chosen by hand may lengthen the text a little
    this.past = [];
    this.beams = [this.#read([model.id(SPECIAL.begin)], 0)];
  }

  #read(ids, score) {
    const hasEnd = ids.at(-1) === this.model.id(SPECIAL.end), read = hasEnd ? ids.slice(0, -1) : ids; // <eos> is never read
    return { ids, score, read, isOver: hasEnd || ids.length > this.most, ...this.model.decode(read, this.encoded.y) };
  }

  get isOver() {
    return this.beams.every(({ isOver }) => isOver);
  }

  /** Return the best `width` ways to go on, best first: `beam`, `id` (none if the beam is over) and the new `score`. */
  best(width, options) {
    const ways = this.beams.flatMap((beam) => {
      if (beam.isOver) return [{ beam, score: beam.score }];
      return Array.from(nextProbabilities(beam.logits, options), (p, id) => ({ beam, id, score: beam.score + Math.log(p) }));
    });
    return ways.sort((a, b) => b.score - a.score).slice(0, width);
  }

  /** Go on with these ways, as `best` returns them or one that a reader chose. */
  follow(ways) {
    this.past.push(this.beams);
    this.beams = ways.map(({ beam, id, score }) => (id === undefined ? beam : this.#read([...beam.ids, id], score)));
  }

  back() {
    this.beams = this.past.pop() ?? this.beams;
  }
}
