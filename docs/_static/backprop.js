// Back-propagation written by hand: each operation of a small model with attention, `forward` and `backward` side by
// side. For pronoun_model.js and block.js; docs/en/laboratory.md tells the lesson, tests/docs compare with torch.
//
// `forward` computes y from its inputs. `backward` receives dy, the gradient ∂loss/∂y: for each number of y, how fast the
// loss rises as that number rises. It returns the same for each input, by the chain rule dx = dy · ∂y/∂x. A gradient has
// the shape of what it belongs to. A value that is used twice gets two gradients: their sum.
"use strict";

/** A matrix of numbers, row after row in `data`. */
class Matrix {
  constructor(rows, columns, data = new Float64Array(rows * columns)) {
    Object.assign(this, { rows, columns, data });
  }

  static from(rows) {
    return new Matrix(rows.length, rows[0].length, Float64Array.from(rows.flat()));
  }

  row(index) {
    return this.data.subarray(index * this.columns, (index + 1) * this.columns);
  }

  /** The rows of one text of several, as a view: no number is copied. */
  part(text, texts) {
    const size = this.data.length / texts;
    return new Matrix(this.rows / texts, this.columns, this.data.subarray(text * size, (text + 1) * size));
  }

  map(change) {
    return new Matrix(this.rows, this.columns, this.data.map(change));
  }
}

function transpose(a) {
  const y = new Matrix(a.columns, a.rows);
  for (let row = 0; row < a.rows; row++) {
    for (let column = 0; column < a.columns; column++) y.data[column * a.rows + row] = a.data[row * a.columns + column];
  }
  return y;
}

/** The product ab. Four terms of each sum are added at once, in half the time of one by one. */
function matmul(a, b) {
  const y = new Matrix(a.rows, b.columns), inner = a.columns, { columns } = b, [left, right, sums] = [a.data, b.data, y.data];
  const whole = inner - (inner % 4);
  for (let i = 0; i < a.rows; i++) {
    const to = i * columns;
    for (let k = 0; k < whole; k += 4) {
      const at = i * inner + k, [f0, f1, f2, f3] = [left[at], left[at + 1], left[at + 2], left[at + 3]];
      for (let j = 0, from = k * columns; j < columns; j++, from++) {
        sums[to + j] += f0 * right[from] + f1 * right[from + columns] + f2 * right[from + 2 * columns] + f3 * right[from + 3 * columns];
      }
    }
    for (let k = whole; k < inner; k++) {
      const factor = left[i * inner + k];
      for (let j = 0, from = k * columns; j < columns; j++, from++) sums[to + j] += factor * right[from];
    }
  }
  return y;
}

function sumOfRows(a) {
  const y = new Matrix(1, a.columns);
  a.data.forEach((value, index) => { y.data[index % a.columns] += value; });
  return y;
}

/** The matrices that `make` returns for each text, one below the other. */
function perText(texts, make) {
  const parts = Array.from({ length: texts }, (_, text) => make(text)), [{ rows, columns }] = parts;
  const y = new Matrix(rows * texts, columns);
  parts.forEach(({ data }, text) => y.data.set(data, text * data.length));
  return y;
}

const dot = (a, b) => a.reduce((sum, value, index) => sum + value * b[index], 0);

/** Add `factor` times a row of numbers to another, in place. */
const addTo = (to, factor, row) => row.forEach((value, index) => { to[index] += factor * value; });

/** Rows of a table, chosen by their numbers. */
const lookUp = {
  forward(table, ids) {
    const y = new Matrix(ids.length, table.columns);
    ids.forEach((id, index) => y.row(index).set(table.row(id)));
    return y;
  },
  // A row that was chosen twice has moved the loss in two places. One that was not chosen has not moved it.
  backward(dy, ids, rows) {
    const dTable = new Matrix(rows, dy.columns);
    ids.forEach((id, index) => addTo(dTable.row(id), 1, dy.row(index)));
    return dTable;
  },
};

/** A number times a matrix: y = c·x. */
const scale = {
  forward: (x, factor) => x.map((value) => factor * value),
  backward: (dy, factor) => dy.map((value) => factor * value),
};

/** A sum, the residual: y = a + b. */
const add = {
  forward: (a, b) => a.map((value, index) => value + b.data[index]),
  // What is added passes its gradient on unchanged, to both: so it reaches early layers without getting smaller.
  backward: (dy) => ({ da: dy, db: dy }),
};

/** A linear layer, y = xW + b; `bias`, of one row, may be left out. */
const linear = {
  forward(x, weights, bias) {
    const y = matmul(x, weights);
    return bias ? y.map((value, index) => value + bias.data[index % y.columns]) : y;
  },
  // y[i][j] sums x[i][k]·W[k][j] over k. So x[i][k] has moved all of row i by W[k][j], and W[k][j] all of column j by
  // x[i][k]: again two products of matrices.
  backward: (dy, x, weights) => ({
    dx: matmul(dy, transpose(weights)),
    dWeights: matmul(transpose(x), dy),
    dBias: sumOfRows(dy),
  }),
};

/** Negative numbers become 0. */
const relu = {
  forward: (x) => x.map((value) => Math.max(0, value)),
  // Where y stayed at 0, a little more of x changes nothing.
  backward: (dy, x) => dy.map((value, index) => (x.data[index] > 0 ? value : 0)),
};

/**
 * The scores of queries against the keys of their text, q·k/√d: (texts·m, d) and (texts·n, d) → (texts·m, n).
 *
 * Without `texts`, each text has one query.
 */
const scores = {
  forward(queries, keys, texts = queries.rows) {
    const products = perText(texts, (text) => matmul(queries.part(text, texts), transpose(keys.part(text, texts))));
    return scale.forward(products, 1 / Math.sqrt(queries.columns));
  },
  // In a product, the gradient of one factor is the other factor.
  backward(dy, queries, keys, texts = queries.rows) {
    const slopes = scale.backward(dy, 1 / Math.sqrt(queries.columns));
    return {
      dQueries: perText(texts, (text) => matmul(slopes.part(text, texts), keys.part(text, texts))),
      dKeys: perText(texts, (text) => matmul(transpose(slopes.part(text, texts)), queries.part(text, texts))),
    };
  },
};

/** The causal mask: −∞ to the scores of keys that come after their query, in texts as long as a row of scores. */
const causalMask = {
  forward: (x) => x.map((score, at) => (at % x.columns > Math.floor(at / x.columns) % x.columns ? -Infinity : score)),
  // What is hidden has the weight 0, so that softmax has already made its gradient 0.
  backward: (dy) => dy,
};

/** Several heads: each text becomes as many, with a slice of each vector, (texts·m, d) → (texts·heads·m, d/heads). */
const heads = {
  split(x, texts, count) {
    const length = x.rows / texts, y = new Matrix(x.rows * count, x.columns / count);
    for (let row = 0; row < x.rows; row++) {
      const text = Math.floor(row / length), place = row % length;
      for (let head = 0; head < count; head++) {
        y.row((text * count + head) * length + place).set(x.row(row).subarray(head * y.columns, (head + 1) * y.columns));
      }
    }
    return y;
  },
  // Each is the other's `backward`: they only move numbers.
  merge(y, texts, count) {
    const length = y.rows / texts / count, x = new Matrix(texts * length, y.columns * count);
    for (let row = 0; row < y.rows; row++) {
      const text = Math.floor(row / length / count), head = Math.floor(row / length) % count;
      x.row(text * length + (row % length)).set(y.row(row), head * y.columns);
    }
    return x;
  },
};

/** Each row of scores becomes weights that sum to 1: y = exp(x) / Σ exp(x). */
const softmax = {
  forward(x) {
    const y = new Matrix(x.rows, x.columns);
    for (let row = 0; row < x.rows; row++) {
      const most = Math.max(...x.row(row)), powers = x.row(row).map((score) => Math.exp(score - most));
      const total = powers.reduce((sum, power) => sum + power);
      y.row(row).set(powers.map((power) => power / total));
    }
    return y;
  },
  // Weights compete. A score is worth raising only if its weight does more for the loss than the weights do on average.
  backward(dy, y) {
    const dx = new Matrix(y.rows, y.columns);
    for (let row = 0; row < y.rows; row++) {
      const weights = y.row(row), slopes = dy.row(row), mean = dot(slopes, weights);
      dx.row(row).set(weights.map((weight, index) => weight * (slopes[index] - mean)));
    }
    return dx;
  },
};

/** The values of each text, weighted and summed: (texts·m, n) and (texts·n, d) → (texts·m, d). */
const weightedSum = {
  forward(weights, values, texts = weights.rows) {
    return perText(texts, (text) => matmul(weights.part(text, texts), values.part(text, texts)));
  },
  // A value that got much of the attention gets as much of the gradient.
  backward(dy, weights, values, texts = weights.rows) {
    return {
      dWeights: perText(texts, (text) => matmul(dy.part(text, texts), transpose(values.part(text, texts)))),
      dValues: perText(texts, (text) => matmul(transpose(weights.part(text, texts)), dy.part(text, texts))),
    };
  },
};

/** Each row gets mean 0 and variance 1, n = (x − mean) / deviation; then y = n·gain + bias. */
const layerNorm = {
  forward(x, gain, bias, epsilon = 1e-5) {
    const normal = new Matrix(x.rows, x.columns), deviations = new Float64Array(x.rows);
    for (let row = 0; row < x.rows; row++) {
      const values = x.row(row), mean = values.reduce((sum, value) => sum + value) / x.columns;
      const centred = values.map((value) => value - mean);
      deviations[row] = Math.sqrt(dot(centred, centred) / x.columns + epsilon);
      normal.row(row).set(centred.map((value) => value / deviations[row]));
    }
    const y = normal.map((value, index) => value * gain.data[index % x.columns] + bias.data[index % x.columns]);
    return { y, normal, deviations };
  },
  // What would only shift a row, or only stretch it, is lost in the norm: both parts are taken out of the gradient.
  backward(dy, { normal, deviations }, gain) {
    const dNormal = dy.map((value, index) => value * gain.data[index % dy.columns]), dx = new Matrix(dy.rows, dy.columns);
    for (let row = 0; row < dy.rows; row++) {
      const slopes = dNormal.row(row), values = normal.row(row);
      const shift = slopes.reduce((sum, slope) => sum + slope) / dy.columns, stretch = dot(slopes, values) / dy.columns;
      dx.row(row).set(slopes.map((slope, index) => (slope - shift - values[index] * stretch) / deviations[row]));
    }
    return { dx, dGain: sumOfRows(dy.map((value, index) => value * normal.data[index])), dBias: sumOfRows(dy) };
  },
};

/** The loss: the mean of −log p(right word), with p the softmax of the logits. */
const crossEntropy = {
  forward(logits, targets) {
    const probabilities = softmax.forward(logits);
    const losses = targets.map((target, row) => -Math.log(probabilities.row(row)[target]));
    return { loss: losses.reduce((sum, loss) => sum + loss, 0) / targets.length, probabilities };
  },
  // Softmax and logarithm together leave the plainest of all gradients: what was said minus what was right.
  backward(probabilities, targets) {
    const dLogits = scale.forward(probabilities, 1 / targets.length);
    targets.forEach((target, row) => { dLogits.row(row)[target] -= 1 / targets.length; });
    return dLogits;
  },
};
