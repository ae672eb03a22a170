// Back-propagation written by hand: each operation of a small model with attention, `forward` and `backward` side by
// side. For pronoun_model.js; docs/en/laboratory.md tells the lesson, tests/docs/test_backprop.py compares with torch.
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

  map(change) {
    return new Matrix(this.rows, this.columns, this.data.map(change));
  }
}

function transpose(a) {
  return new Matrix(a.columns, a.rows).map((_, index) => a.data[(index % a.rows) * a.columns + Math.floor(index / a.rows)]);
}

function matmul(a, b) {
  const y = new Matrix(a.rows, b.columns);
  for (let i = 0; i < a.rows; i++) {
    const to = i * y.columns;
    for (let k = 0; k < a.columns; k++) {
      const factor = a.data[i * a.columns + k], from = k * b.columns;
      for (let j = 0; j < b.columns; j++) y.data[to + j] += factor * b.data[from + j];
    }
  }
  return y;
}

function sumOfRows(a) {
  const y = new Matrix(1, a.columns);
  a.data.forEach((value, index) => { y.data[index % a.columns] += value; });
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

/** The scores of one query per text against the keys of its text, q·k/√d: (texts, d) and (texts·length, d) → (texts, length). */
const scores = {
  forward(queries, keys) {
    const length = keys.rows / queries.rows, d = queries.columns;
    return new Matrix(queries.rows, length).map((_, at) => dot(queries.row(Math.floor(at / length)), keys.row(at)) / Math.sqrt(d));
  },
  // In a product, the gradient of one factor is the other factor.
  backward(dy, queries, keys) {
    const dQueries = new Matrix(queries.rows, queries.columns), dKeys = new Matrix(keys.rows, keys.columns);
    dy.data.forEach((value, at) => {
      const text = Math.floor(at / dy.columns), slope = value / Math.sqrt(queries.columns);
      addTo(dQueries.row(text), slope, keys.row(at));
      addTo(dKeys.row(at), slope, queries.row(text));
    });
    return { dQueries, dKeys };
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

/** The values of each text, weighted and summed: (texts, length) and (texts·length, d) → (texts, d). */
const weightedSum = {
  forward(weights, values) {
    const y = new Matrix(weights.rows, values.columns);
    weights.data.forEach((weight, at) => addTo(y.row(Math.floor(at / weights.columns)), weight, values.row(at)));
    return y;
  },
  // A value that got much of the attention gets as much of the gradient.
  backward(dy, weights, values) {
    const dWeights = new Matrix(weights.rows, weights.columns), dValues = new Matrix(values.rows, values.columns);
    weights.data.forEach((weight, at) => {
      const slopes = dy.row(Math.floor(at / weights.columns));
      dWeights.data[at] = dot(slopes, values.row(at));
      addTo(dValues.row(at), weight, slopes);
    });
    return { dWeights, dValues };
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
