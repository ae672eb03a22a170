// The pronoun model of notebook 1, with the operations of backprop.js: its sentences, its weights, the two passes, a step
// of AdamW, and the counts that it has to beat. For training_lab.js.
"use strict";

const PRONOUNS = ["ele", "ela"];
const NOUNS = {
  ele: "programa servidor sistema motor teclado modelo".split(" "),
  ela: "bateria rede impressora tela bomba antena".split(" "),
};
const FILLER = "hoje cedo ainda sem pressa com calma antes depois outra vez".split(" ");
const BEGINNING = "<bos> verifique o log de".split(" "), END = "e descubra se".split(" ");
const VOCABULARY = [...BEGINNING, ...END, ...PRONOUNS, ...NOUNS.ele, ...NOUNS.ela, ...FILLER];
const NOUN_IDS = new Set([...NOUNS.ele, ...NOUNS.ela].map((noun) => VOCABULARY.indexOf(noun)));
const WIDTH = 32, INNER_WIDTH = 64, BATCH = 64;

/** Return a function that draws numbers from 0 to 1, the same ones for the same seed (mulberry32, by Tommy Ettinger). */
function makeRandom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Return one draw of the normal distribution (Box and Muller, 1958). */
const normal = (random) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

/** Return 2000 texts as `ids`, from <bos> to "se", each with its pronoun as `target`: 1800 to learn from, the rest held back. */
function makeSentences() {
  const random = makeRandom(0), below = (number) => Math.floor(random() * number), pick = (list) => list[below(list.length)];
  const all = Array.from({ length: 2000 }, () => {
    const pronoun = pick(PRONOUNS), middle = Array.from({ length: 6 }, () => pick(FILLER));
    middle[below(6)] = pick(NOUNS[pronoun]);
    const [target, ...ids] = [pronoun, ...BEGINNING, ...middle, ...END].map((word) => VOCABULARY.indexOf(word));
    return { ids, target };
  });
  return { train: all.slice(0, 1800), held: all.slice(1800) };
}

/** Return the sines and cosines of document 3, (length, width). */
function sinusoids(length, width = WIDTH) {
  return new Matrix(length, width).map((_, at) => {
    const column = at % width, angle = Math.floor(at / width) / 10000 ** ((column - (column % 2)) / width);
    return column % 2 ? Math.cos(angle) : Math.sin(angle);
  });
}

/**
 * A decoder of one block with one head, as `AtentaDecoderForCausalLM` in notebook 1.
 *
 * Only the word after the last one is learned, so only the last word asks: there is one query for each text, and what
 * other rows would compute is left out. It would change neither the loss nor a gradient.
 */
class PronounModel {
  constructor(random) {
    const draw = (rows, columns) => new Matrix(rows, columns).map(() => 0.02 * normal(random));
    const zeros = (columns) => new Matrix(1, columns), ones = (columns) => zeros(columns).map(() => 1);
    this.weights = {
      embeddings: draw(VOCABULARY.length, WIDTH),
      query: draw(WIDTH, WIDTH), key: draw(WIDTH, WIDTH), value: draw(WIDTH, WIDTH), output: draw(WIDTH, WIDTH),
      gain1: ones(WIDTH), shift1: zeros(WIDTH),
      up: draw(WIDTH, INNER_WIDTH), upBias: zeros(INNER_WIDTH), down: draw(INNER_WIDTH, WIDTH), downBias: zeros(WIDTH),
      gain2: ones(WIDTH), shift2: zeros(WIDTH),
      head: draw(WIDTH, VOCABULARY.length), headBias: zeros(VOCABULARY.length),
    };
  }

  /** Return all that is computed on the way to the logits, for texts of one length, lists of ids. */
  forward(texts) {
    const w = this.weights, length = texts[0].length, ids = texts.flat();
    const positions = lookUp.forward(sinusoids(length), ids.map((_, index) => index % length));
    const x = add.forward(scale.forward(lookUp.forward(w.embeddings, ids), Math.sqrt(WIDTH)), positions);
    const lastRows = texts.map((_, text) => (text + 1) * length - 1), last = lookUp.forward(x, lastRows);

    const queries = linear.forward(last, w.query), keys = linear.forward(x, w.key), values = linear.forward(x, w.value);
    const weights = softmax.forward(scores.forward(queries, keys));
    const context = weightedSum.forward(weights, values);
    const norm1 = layerNorm.forward(add.forward(last, linear.forward(context, w.output)), w.gain1, w.shift1);

    const up = linear.forward(norm1.y, w.up, w.upBias), active = relu.forward(up);
    const norm2 = layerNorm.forward(add.forward(norm1.y, linear.forward(active, w.down, w.downBias)), w.gain2, w.shift2);
    const logits = linear.forward(norm2.y, w.head, w.headBias);
    return { ids, lastRows, x, last, queries, keys, values, weights, context, norm1, up, active, norm2, logits };
  }

  /** Return the gradient of the loss for each matrix of weights: `forward` read from its last line to its first. */
  backward(trace, dLogits) {
    const w = this.weights;
    const head = linear.backward(dLogits, trace.norm2.y, w.head);
    const norm2 = layerNorm.backward(head.dx, trace.norm2, w.gain2);
    const residual2 = add.backward(norm2.dx);
    const down = linear.backward(residual2.db, trace.active, w.down);
    const up = linear.backward(relu.backward(down.dx, trace.up), trace.norm1.y, w.up);

    const norm1 = layerNorm.backward(add.forward(residual2.da, up.dx), trace.norm1, w.gain1);
    const residual1 = add.backward(norm1.dx);
    const output = linear.backward(residual1.db, trace.context, w.output);
    const { dWeights, dValues } = weightedSum.backward(output.dx, trace.weights, trace.values);
    const { dQueries, dKeys } = scores.backward(softmax.backward(dWeights, trace.weights), trace.queries, trace.keys);
    const query = linear.backward(dQueries, trace.last, w.query);
    const key = linear.backward(dKeys, trace.x, w.key), value = linear.backward(dValues, trace.x, w.value);

    const dLast = lookUp.backward(add.forward(residual1.da, query.dx), trace.lastRows, trace.x.rows);
    const dx = [key.dx, value.dx, dLast].reduce(add.forward); // x was used three times
    const embeddings = lookUp.backward(scale.backward(dx, Math.sqrt(WIDTH)), trace.ids, w.embeddings.rows);
    return {
      embeddings,
      query: query.dWeights, key: key.dWeights, value: value.dWeights, output: output.dWeights,
      gain1: norm1.dGain, shift1: norm1.dBias,
      up: up.dWeights, upBias: up.dBias, down: down.dWeights, downBias: down.dBias,
      gain2: norm2.dGain, shift2: norm2.dBias,
      head: head.dWeights, headBias: head.dBias,
    };
  }

  /** Return the loss of a batch of sentences and its gradients. */
  lossAndGradients(batch) {
    const targets = batch.map((sentence) => sentence.target), trace = this.forward(batch.map((sentence) => sentence.ids));
    const { loss, probabilities } = crossEntropy.forward(trace.logits, targets);
    return { loss, gradients: this.backward(trace, crossEntropy.backward(probabilities, targets)) };
  }

  /** Return the attention of the last word and the probabilities of the next one, for texts of one length. */
  read(texts) {
    const { weights, logits } = this.forward(texts);
    return { weights, probabilities: softmax.forward(logits) };
  }

  /** Return the mean loss, the share of right answers and the mean attention on the noun. */
  evaluate(sentences) {
    const { weights, probabilities } = this.read(sentences.map((sentence) => sentence.ids));
    const onNoun = sentences.map(({ ids }, row) => weights.row(row)[ids.findIndex((id) => NOUN_IDS.has(id))]);
    return { ...measure(sentences, (_, row) => probabilities.row(row)), onNoun: mean(onNoun) };
  }
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

function measure(sentences, predict) {
  const predictions = sentences.map(predict);
  return {
    loss: mean(sentences.map(({ target }, row) => -Math.log(predictions[row][target]))),
    accuracy: mean(sentences.map(({ target }, row) => Number(predictions[row].indexOf(Math.max(...predictions[row])) === target))),
  };
}

/** AdamW with the settings of notebook 1 (Loshchilov and Hutter, 2019). */
class AdamW {
  constructor(weights, { rate = 3e-3, betas = [0.9, 0.999], epsilon = 1e-8, decay = 0.01 } = {}) {
    Object.assign(this, { weights, rate, betas, epsilon, decay, steps: 0 });
    const zeros = () => Object.fromEntries(Object.entries(weights).map(([name, { data }]) => [name, new Float64Array(data.length)]));
    this.means = zeros();
    this.squares = zeros();
  }

  /** Change the weights in place: against the running mean of their gradients, in steps of a size that suits each. */
  step(gradients) {
    this.steps += 1;
    const [beta1, beta2] = this.betas, [full1, full2] = this.betas.map((beta) => 1 - beta ** this.steps);
    for (const [name, { data }] of Object.entries(this.weights)) {
      const means = this.means[name], squares = this.squares[name];
      gradients[name].data.forEach((slope, at) => {
        means[at] = beta1 * means[at] + (1 - beta1) * slope;
        squares[at] = beta2 * squares[at] + (1 - beta2) * slope ** 2;
        data[at] -= this.rate * (this.decay * data[at] + means[at] / full1 / (Math.sqrt(squares[at] / full2) + this.epsilon));
      });
    }
  }
}

/** A run: the model, its optimizer and the order of its batches, all decided by a seed. */
class PronounTraining {
  constructor(seed, sentences) {
    this.random = makeRandom(seed);
    this.sentences = sentences;
    this.model = new PronounModel(this.random);
    this.optimizer = new AdamW(this.model.weights);
  }

  /** Take one step on a batch drawn from the training sentences, and return the loss before it. */
  step() {
    const { train } = this.sentences;
    const batch = Array.from({ length: BATCH }, () => train[Math.floor(this.random() * train.length)]);
    const { loss, gradients } = this.model.lossAndGradients(batch);
    this.optimizer.step(gradients);
    return loss;
  }
}

/**
 * Return how well the votes of pairs of document 1 do, counted on the training sentences: `loss` and `accuracy` on those held back.
 *
 * As `AtentaPairVotesForCausalLM`, with its smoothing. With `maxDistance` 1 these are counts of three words in a row.
 */
function countVotes({ train, held }, maxDistance = Infinity) {
  const counts = new Map(), single = new Float64Array(VOCABULARY.length).fill(1), smoothing = 0.1;
  const pairs = (ids) => ids.slice(0, -1).slice(-Math.min(maxDistance, ids.length - 1)); // all with "se", the last word
  for (const { ids, target } of train) {
    [...ids.slice(1), target].forEach((id) => { single[id] += 1; });
    for (const earlier of pairs(ids)) {
      if (!counts.has(earlier)) counts.set(earlier, new Float64Array(VOCABULARY.length));
      counts.get(earlier)[target] += 1;
    }
  }
  const total = (row) => row.reduce((sum, value) => sum + value, 0);
  return measure(held, ({ ids }) => {
    const votes = single.map((count) => smoothing * count / total(single));
    for (const earlier of pairs(ids)) {
      const row = counts.get(earlier);
      if (row) addTo(votes, 1 / total(row), row);
    }
    const all = total(votes);
    return votes.map((vote) => vote / all);
  });
}
