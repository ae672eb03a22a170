// Attention of one head, step by step, and the worked examples of documents 1 and 2, with what they print. For
// attention_lab.js; tests/docs/test_laboratory.py compares both with tests/data/worked_examples.json.
"use strict";

const product = (left, right) =>
  left.map((row) => right[0].map((_, column) => row.reduce((sum, value, index) => sum + value * right[index][column], 0)));

/**
 * Return every step as matrices, rows of numbers: `Q`, `K`, `V`, `scores`, `scaled`, `masked`, `weights`, `output`.
 *
 * `hidden[query][key]` says what the mask hides; `masking` is "add" (−∞ to its score) or "multiply" (its score by 0).
 * A row in which −∞ hides everything has no weights: they are NaN.
 */
function attentionSteps({ x, W_Q, W_K, W_V, hidden, masking, isScaled }) {
  const [Q, K, V] = [W_Q, W_K, W_V].map((weights) => product(x, weights));
  const scores = Q.map((query) => K.map((key) => query.reduce((sum, value, index) => sum + value * key[index], 0)));
  const scaled = scores.map((row) => row.map((score) => (isScaled ? score / Math.sqrt(K[0].length) : score)));
  const mask = (score) => (masking === "add" ? -Infinity : 0 * score);
  const masked = scaled.map((row, query) => row.map((score, key) => (hidden[query][key] ? mask(score) : score)));
  const weights = masked.map((row) => {
    const most = Math.max(...row), powers = row.map((score) => Math.exp(score - most));
    return powers.map((power) => power / powers.reduce((sum, each) => sum + each));
  });
  return { Q, K, V, scores, scaled, masked, weights, output: product(weights, V) };
}

// `printed` maps a step to its rows, from 0, as the document prints them; a figure that is off by more than `tolerance`
// is wrong. `masking` and `isScaled` are what the document does in them.
const WORKED_EXAMPLES = {
  "1/five-tokens": {
    x: [[0.2, -0.3, 0.1, 0.5], [0.4, 0.1, -0.2, 0.3], [-0.1, 0.5, 0.3, 0.2], [0.6, 0.2, -0.4, 0.1], [0.3, 0.4, 0.2, -0.1]],
    W_Q: [[0.1, 0.2, 0.3], [0.4, 0.5, 0.1], [0.2, 0.3, 0.4], [0.5, 0.1, 0.2]],
    W_K: [[0.3, 0.2, 0.1], [0.1, 0.4, 0.3], [0.5, 0.2, 0.3], [0.2, 0.1, 0.5]],
    W_V: [[0.2, 0.3, 0.1], [0.4, 0.2, 0.3], [0.1, 0.5, 0.2], [0.3, 0.1, 0.4]],
    isHidden: (query, key) => key === 1 || key === 3,
    masking: "multiply",
    isScaled: true,
    tolerance: 1.01e-4,
    printed: {
      Q: { 4: [0.23, 0.31, 0.21] },
      K: { 0: [0.23, 0.05, 0.22] },
      scaled: { 4: [0.0729, 0.1039, 0.1501, 0.0592, 0.1327] },
      weights: { 4: [0.2518, 0.2341, 0.272, 0.2341, 0.2674] },
    },
  },
  "1/three-words": {
    x: [[0.2, -0.1, 0.5, 0.3], [0.5, 0.2, -0.3, 0.1], [-0.1, 0.4, 0.2, 0.6]],
    W_Q: [[0.1, 0.4, 0.2], [0.3, -0.2, 0.5], [0.6, 0.1, -0.3], [-0.1, 0.3, 0.4]],
    W_K: [[0.2, 0.1, 0.3], [0.5, -0.3, 0.2], [-0.1, 0.4, 0.2], [0.3, 0.2, -0.1]],
    W_V: [[0.1, -0.2, 0.5], [0.3, 0.4, 0.2], [0.2, 0.3, -0.1], [0.5, -0.1, 0.3]],
    isHidden: () => false,
    masking: "add",
    isScaled: true,
    tolerance: 1.01e-4,
    printed: {
      Q: [[0.26, 0.24, -0.04], [-0.08, 0.16, 0.33], [0.17, 0.08, 0.36]],
      K: [[0.03, 0.31, 0.11], [0.26, -0.11, 0.12], [0.34, 0.07, 0.03]],
      V: [[0.24, 0.04, 0.12], [0.1, -0.12, 0.35], [0.45, 0.18, 0.19]],
      scaled: [[0.0449, 0.021, 0.06], [0.0482, 0.0007, -0.0035], [0.0401, 0.0454, 0.0428]],
      weights: [[0.3343, 0.3264, 0.3393], [0.3445, 0.3285, 0.327], [0.3324, 0.3342, 0.3334]],
      output: [[0.2655, 0.0353, 0.2188], [0.2628, 0.0333, 0.2184], [0.2632, 0.0332, 0.2202]],
    },
  },
  "2/projection-scoring-weighting": {
    x: [[1, 0, 2], [0, 2, 1], [1, 1, 0]],
    W_Q: [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.7, 0.8, 0.9]],
    W_K: [[0.9, 0.8, 0.7], [0.6, 0.5, 0.4], [0.3, 0.2, 0.1]],
    W_V: [[0.2, 0.4, 0.6], [0.1, 0.3, 0.5], [0.9, 0.7, 0.2]],
    isHidden: (query, key) => key > query,
    masking: "add",
    isScaled: false,
    tolerance: 6e-3,
    printed: {
      Q: { 1: [0.4, 1.3, 1.2] },
      K: { 1: [1.5, 1.3, 1.1] },
      V: { 1: [1.9, 1.7, 0.8], 2: [1.1, 1.0, 0.9] },
      scores: [[5.55], [3.24, 1.37], [2.4, 1.01, 2.65]],
      weights: [[1], [0.87, 0.13], [0.39, 0.1, 0.51]],
      output: [[2, 1.8, 1], [1.98, 1.79, 0.97], [1.33, 1.38, 0.95]],
    },
  },
};
