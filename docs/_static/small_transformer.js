// The Transformer of notebook 4, small enough to learn in a page: its text, its weights, the two passes, a run of training,
// and the counts that it has to beat. After backprop.js, pronoun_model.js and block.js; for transformer_lab.js.
"use strict";

const SMALL = { width: 32, inner: 128, context: 32, texts: 16, blocks: 1, steps: 1000, rate: 0.01 };
const HELD_TEXTS = 64; // windows of validation

/** A text as numbers, one for each of its characters, with windows to learn from and windows held back. */
class CharacterText {
  constructor({ train, held }) {
    this.characters = [...new Set(train)].sort();
    this.ids = Object.fromEntries(Object.entries({ train, held }).map(([part, text]) =>
      [part, Array.from(text, (character) => this.characters.indexOf(character))]));
    this.held = this.windows("held", Array.from({ length: HELD_TEXTS }, (_, text) => text * SMALL.context));
  }

  /** Return what is read and the next characters, the targets: rows of ids, each from a place on. */
  windows(part, starts) {
    const rows = starts.map((start) => this.ids[part].slice(start, start + SMALL.context + 1));
    return { read: rows.map((row) => row.slice(0, -1)), targets: rows.flatMap((row) => row.slice(1)) };
  }

  draw(random) {
    const last = this.ids.train.length - SMALL.context;
    return this.windows("train", Array.from({ length: SMALL.texts }, () => Math.floor(random() * last)));
  }
}

/** A decoder of blocks, with learned positions and an output layer of its own, as in notebook 4 but for ReLU. */
class SmallTransformer {
  constructor(random, vocabulary, { blocks = SMALL.blocks, headCount, isCausal, isResidual }) {
    const { width, inner, context } = SMALL;
    const table = (rows) => new Matrix(rows, width).map(() => 0.2 * normal(random));
    const draw = (rows, columns) => new Matrix(rows, columns).map(() => (2 * random() - 1) / Math.sqrt(rows));
    const zeros = (columns) => new Matrix(1, columns), ones = (columns) => zeros(columns).map(() => 1);
    this.options = { headCount, isCausal, isResidual };
    this.weights = { tokens: table(vocabulary), positions: table(context) };
    this.blocks = Array.from({ length: blocks }, (_, index) => {
      const inside = {
        gain1: ones(width), shift1: zeros(width),
        query: draw(width, width), key: draw(width, width), value: draw(width, width), output: draw(width, width),
        gain2: ones(width), shift2: zeros(width),
        up: draw(width, inner), upBias: zeros(inner), down: draw(inner, width), downBias: zeros(width),
      };
      for (const [name, matrix] of Object.entries(inside)) this.weights[`${index}.${name}`] = matrix;
      return inside;
    });
    Object.assign(this.weights, { gain: ones(width), shift: zeros(width), head: draw(width, vocabulary), headBias: zeros(vocabulary) });
  }

  /** Return all that is computed on the way to the logits, for texts of one length, lists of ids. */
  forward(texts) {
    const w = this.weights, length = texts[0].length, ids = texts.flat(), places = ids.map((_, index) => index % length);
    const options = { ...this.options, texts: texts.length }, passed = [];
    let x = add.forward(lookUp.forward(w.tokens, ids), lookUp.forward(w.positions, places));
    for (const inside of this.blocks) {
      passed.push(block.forward(x, inside, options));
      x = passed.at(-1).y;
    }
    const norm = layerNorm.forward(x, w.gain, w.shift);
    return { ids, places, options, passed, norm, logits: linear.forward(norm.y, w.head, w.headBias) };
  }

  /** Return the gradient of the loss for each matrix of weights: `forward` read from its last line to its first. */
  backward({ ids, places, options, passed, norm }, dLogits) {
    const w = this.weights, head = linear.backward(dLogits, norm.y, w.head), last = layerNorm.backward(head.dx, norm, w.gain);
    const gradients = { head: head.dWeights, headBias: head.dBias, gain: last.dGain, shift: last.dBias };
    let { dx } = last;
    for (let index = this.blocks.length - 1; index >= 0; index--) {
      const inside = block.backward(dx, this.blocks[index], passed[index], options);
      for (const [name, gradient] of Object.entries(inside.gradients)) gradients[`${index}.${name}`] = gradient;
      ({ dx } = inside);
    }
    gradients.tokens = lookUp.backward(dx, ids, w.tokens.rows);
    gradients.positions = lookUp.backward(dx, places, w.positions.rows);
    return gradients;
  }

  /** Return the loss of windows, in bits per character. */
  measure({ read, targets }) {
    return crossEntropy.forward(this.forward(read).logits, targets).loss / Math.LN2;
  }

  /** Return the loss in nats, as it is trained, and its gradients. */
  lossAndGradients({ read, targets }) {
    const trace = this.forward(read), { loss, probabilities } = crossEntropy.forward(trace.logits, targets);
    return { loss, gradients: this.backward(trace, crossEntropy.backward(probabilities, targets)) };
  }

  /** Return the ids of a start and of what the model writes after it, each drawn, up to `length`. */
  write(start, length, random) {
    const ids = [...start];
    while (ids.length < length) {
      const { logits } = this.forward([ids.slice(-SMALL.context)]);
      let left = random();
      const probabilities = softmax.forward(logits.part(logits.rows - 1, logits.rows)).data;
      const drawn = probabilities.findIndex((probability) => (left -= probability) < 0);
      ids.push(drawn < 0 ? probabilities.length - 1 : drawn);
    }
    return ids;
  }
}

/** A run: the model, its optimizer and the order of its windows, all decided by a seed. */
class TransformerTraining {
  constructor(seed, text, options) {
    this.text = text;
    this.random = makeRandom(seed);
    this.model = new SmallTransformer(makeRandom(seed + 1), text.characters.length, options);
    this.optimizer = new AdamW(this.model.weights);
  }

  get steps() {
    return this.optimizer.steps;
  }

  /** Take one step, and return the loss before it in bits. The rate rises for a tenth of the run, and falls to 0. */
  step() {
    const share = (this.steps + 1) / SMALL.steps, { loss, gradients } = this.model.lossAndGradients(this.text.draw(this.random));
    this.optimizer.rate = SMALL.rate * (share < 0.1 ? share / 0.1 : (1 + Math.cos(Math.PI * (share - 0.1) / 0.9)) / 2);
    this.optimizer.step(gradients);
    return loss / Math.LN2;
  }
}

/**
 * Return the bits per character of the held windows by counts of n characters in a row, n = 1, 2, …, `most`.
 *
 * As `count` in notebook 4: shorter starts weigh as much as the number of kinds of characters seen (Witten and Bell),
 * and nothing is read from before the window.
 */
function countSequences({ ids, held, characters }, most) {
  let given = held.targets.map(() => 1 / characters.length);
  return Array.from({ length: most }, (_, before) => { // as many characters as come before the counted one
    const starts = new Map();
    for (let at = before; at < ids.train.length; at++) {
      const start = ids.train.slice(at - before, at).join();
      if (!starts.has(start)) starts.set(start, { total: 0, times: new Map() });
      const found = starts.get(start);
      found.total += 1;
      found.times.set(ids.train[at], (found.times.get(ids.train[at]) ?? 0) + 1);
    }
    given = given.map((shorter, place) => {
      const row = held.read[Math.floor(place / SMALL.context)], end = (place % SMALL.context) + 1;
      const found = end >= before && starts.get(row.slice(end - before, end).join());
      return found ? ((found.times.get(held.targets[place]) ?? 0) + found.times.size * shorter) / (found.total + found.times.size) : shorter;
    });
    return mean(given.map((probability) => -Math.log2(probability)));
  });
}
