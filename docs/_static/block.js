// A Transformer's block in sub-layers, each a row of operations of backprop.js, forward and then backward.
//
// `forward` returns y and what `backward` will need. `w` are the weights of the block, by their names.
"use strict";

/** Attention of several heads: x asks, and `source` answers, which in self-attention is x too. */
const multiHeadAttention = {
  forward(x, source, w, { texts, headCount, isCausal }) {
    const split = (from, weights) => heads.split(linear.forward(from, weights), texts, headCount), groups = texts * headCount;
    const queries = split(x, w.query), keys = split(source, w.key), values = split(source, w.value);
    const scored = scores.forward(queries, keys, groups);
    const weights = softmax.forward(isCausal ? causalMask.forward(scored) : scored);
    const context = heads.merge(weightedSum.forward(weights, values, groups), texts, headCount);
    return { y: linear.forward(context, w.output), queries, keys, values, weights, context };
  },
  backward(dy, x, source, w, trace, { texts, headCount, isCausal }) {
    const groups = texts * headCount, output = linear.backward(dy, trace.context, w.output);
    const dContext = heads.split(output.dx, texts, headCount);
    const { dWeights, dValues } = weightedSum.backward(dContext, trace.weights, trace.values, groups);
    const dMasked = softmax.backward(dWeights, trace.weights);
    const { dQueries, dKeys } = scores.backward(isCausal ? causalMask.backward(dMasked) : dMasked, trace.queries, trace.keys, groups);
    const merged = (gradient) => heads.merge(gradient, texts, headCount);
    const query = linear.backward(merged(dQueries), x, w.query);
    const key = linear.backward(merged(dKeys), source, w.key), value = linear.backward(merged(dValues), source, w.value);
    const gradients = { query: query.dWeights, key: key.dWeights, value: value.dWeights, output: output.dWeights };
    return { dx: query.dx, dSource: add.forward(key.dx, value.dx), gradients };
  },
};

/** The feed-forward network: two linear layers with a ReLU between them. */
const feedForward = {
  forward(x, w) {
    const up = linear.forward(x, w.up, w.upBias), active = relu.forward(up);
    return { y: linear.forward(active, w.down, w.downBias), up, active };
  },
  backward(dy, x, w, trace) {
    const down = linear.backward(dy, trace.active, w.down);
    const up = linear.backward(relu.backward(down.dx, trace.up), x, w.up);
    return { dx: up.dx, gradients: { up: up.dWeights, upBias: up.dBias, down: down.dWeights, downBias: down.dBias } };
  },
};

/** A block of self-attention with LayerNorm before each sub-layer, as in notebook 4; `isResidual` keeps its two sums. */
const block = {
  forward(x, w, options) {
    const join = (before, change) => (options.isResidual ? add.forward(before, change) : change);
    const norm1 = layerNorm.forward(x, w.gain1, w.shift1);
    const attended = multiHeadAttention.forward(norm1.y, norm1.y, w, options), middle = join(x, attended.y);
    const norm2 = layerNorm.forward(middle, w.gain2, w.shift2), fed = feedForward.forward(norm2.y, w);
    return { y: join(middle, fed.y), norm1, attended, norm2, fed };
  },
  backward(dy, w, { norm1, attended, norm2, fed }, options) {
    const join = (dBefore, dy) => (options.isResidual ? add.forward(add.backward(dy).da, dBefore) : dBefore);
    const network = feedForward.backward(dy, norm2.y, w, fed), inner2 = layerNorm.backward(network.dx, norm2, w.gain2);
    const dMiddle = join(inner2.dx, dy);
    const attention = multiHeadAttention.backward(dMiddle, norm1.y, norm1.y, w, attended, options);
    const inner1 = layerNorm.backward(add.forward(attention.dx, attention.dSource), norm1, w.gain1);
    const norms = { gain1: inner1.dGain, shift1: inner1.dBias, gain2: inner2.dGain, shift2: inner2.dBias };
    return { dx: join(inner1.dx, dMiddle), gradients: { ...attention.gradients, ...network.gradients, ...norms } };
  },
};
