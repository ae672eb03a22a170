// Training that one watches: each <div class="training-lab"> becomes the pronoun model of notebook 1, which learns in the
// page. After attention_lab.js, backprop.js and pronoun_model.js.
"use strict";

const TRAINING_WORDS = isPortuguese ? {
  train: "Treinar", pause: "Parar", step: "Um passo", again: "Começar de novo", seed: "Semente", yours: "Uma frase sua",
  how: "Cada passo lê 64 frases e muda os pesos contra o gradiente. A cor e a porcentagem de uma palavra dizem quanta atenção o último “se” lhe dá.",
  loss: "Perda na validação", accuracy: "Acerto na validação", steps: "passos",
  three: "contagem de três palavras", pairs: "votos de pares",
  figures: (step, { loss, accuracy, onNoun }) =>
    `Passo ${step}. Validação: perda ${loss}, acerto ${accuracy}, atenção no substantivo ${onNoun}.`,
  ready: "Ainda sem treino: os pesos são sorteados.", running: "Treinando…", paused: "Parado.", done: "Pronto.",
  unknown: (words) => `O modelo não conhece: ${words}.`,
  known: (words) => `Ele só conhece: ${words}.`,
  chart: (title, values) => `${title}, passo a passo; agora ${values}`,
} : {
  train: "Train", pause: "Stop", step: "One step", again: "Begin again", seed: "Seed", yours: "A sentence of yours",
  how: "Each step reads 64 sentences and changes the weights against the gradient. The colour and the percentage of a word say how much attention the last “se” gives it.",
  loss: "Loss on validation", accuracy: "Right on validation", steps: "steps",
  three: "count of three words", pairs: "votes of pairs",
  figures: (step, { loss, accuracy, onNoun }) =>
    `Step ${step}. Validation: loss ${loss}, right ${accuracy}, attention on the noun ${onNoun}.`,
  ready: "Not trained yet: the weights are random.", running: "Training…", paused: "Stopped.", done: "Done.",
  unknown: (words) => `The model does not know: ${words}.`,
  known: (words) => `It knows only: ${words}.`,
  chart: (title, values) => `${title}, step by step; now ${values}`,
};
const MOST_STEPS = 200, STEPS_PER_EVALUATION = 2; // as many steps as in notebook 1
const PACE = 50; // milliseconds for a step at least, so that the eye can follow
const OWN_SENTENCE = "verifique o log de hoje com impressora cedo sem calma e descubra se"; // the sample of notebook 1

const trainingNumber = (value, options) => new Intl.NumberFormat(document.documentElement.lang, options).format(value);
const percent = (share) => trainingNumber(share, { style: "percent" });
const lossText = (loss) => trainingNumber(loss, { minimumFractionDigits: 3, maximumFractionDigits: 3 });

/**
 * Curves over the steps, from 0 to `most` (what is higher leaves at the top), with the lines that they have to beat.
 *
 * `baselines` are pairs of a value and its label by their kinds, which laboratory.css colours, as it does those of `curves`.
 */
class TrainingChart {
  static width = 330; // of the drawing, in its own units, which are pixels on a phone
  static height = 186;
  static frame = { left: 38, right: 322, top: 12, bottom: 150 };

  constructor(title, write, baselines, { most = 1, mostSteps = MOST_STEPS, curves = ["validation"] } = {}) {
    const { left, right, bottom } = TrainingChart.frame, words = TRAINING_WORDS;
    Object.assign(this, { title, write, most, mostSteps });
    const level = (value, kind) => labElement("line", { x1: left, x2: right, y1: this.#y(value), y2: this.#y(value), class: kind });
    const text = (label, x, y, anchor, kind = "") => labElement("text", { x, y, "text-anchor": anchor, class: kind }, label);
    const heights = [0, most / 2, most].flatMap((value) => [level(value, "grid"), text(write(value), left - 5, this.#y(value) + 4, "end")]);
    const steps = [0, mostSteps / 2, mostSteps].map((step) => text(step, this.#x(step), bottom + 16, step === mostSteps ? "end" : "middle"));
    const lines = Object.entries(baselines).flatMap(([kind, [value, name]]) => // one is named above it, the other below
      [level(value, kind), text(name, right - 2, this.#y(value) + (kind === "pairs" ? 13 : -5), "end", kind)]);
    this.curves = Object.fromEntries(curves.map((kind) => [kind, labElement("path", { class: kind })]));
    this.svg = labElement("svg", { viewBox: `0 0 ${TrainingChart.width} ${TrainingChart.height}`, role: "img" },
      ...heights, ...steps, text(words.steps, (left + right) / 2, bottom + 30, "middle"), ...lines, ...Object.values(this.curves));
    this.figure = labElement("figure", {}, labElement("figcaption", {}, title), this.svg);
  }

  #x(step) {
    const { left, right } = TrainingChart.frame;
    return left + (right - left) * step / this.mostSteps;
  }

  #y(value) {
    const { top, bottom } = TrainingChart.frame;
    return bottom - (bottom - top) * value / this.most;
  }

  clear() {
    this.points = Object.fromEntries(Object.keys(this.curves).map((kind) => [kind, []]));
    for (const curve of Object.values(this.curves)) curve.setAttribute("d", "");
  }

  add(step, value, kind = "validation") {
    const points = this.points[kind], last = points.at(-1), { most } = this;
    if (last?.value > most && value < most) { // where the curve comes in from above
      const share = (last.value - most) / (last.value - value);
      points.push({ step: last.step + (step - last.step) * share, value: most });
    }
    points.push({ step, value });
    const drawn = points.filter((point) => point.value <= most);
    const path = drawn.map((point) => `${this.#x(point.step).toFixed(1)} ${this.#y(point.value).toFixed(1)}`).join("L");
    this.curves[kind].setAttribute("d", path && `M${path}`);
    this.svg.setAttribute("aria-label", TRAINING_WORDS.chart(this.title, this.write(value)));
  }
}

class TrainingLab {
  constructor(place) {
    const words = TRAINING_WORDS;
    this.sentences = makeSentences();
    const three = countVotes(this.sentences, 1), pairs = countVotes(this.sentences);
    const lines = (figure) => ({ three: [three[figure], words.three], pairs: [pairs[figure], words.pairs] });
    this.charts = {
      loss: new TrainingChart(words.loss, (value) => trainingNumber(value, { minimumFractionDigits: 1, maximumFractionDigits: 3 }),
        lines("loss")),
      accuracy: new TrainingChart(words.accuracy, percent, lines("accuracy")),
    };
    const shown = PRONOUNS.flatMap((pronoun) => this.sentences.held.filter(({ target }) => VOCABULARY[target] === pronoun).slice(0, 2));
    this.rows = [null, ...shown].map((sentence) => ({ sentence, line: labElement("div", { class: "sentence", lang: "pt-BR" }) }));
    this.buttons = {
      train: this.#button("train", () => (this.isRunning ? this.pause() : this.run())),
      step: this.#button("step", () => { this.pause(); this.#step(); this.#show(); }),
      again: this.#button("again", () => this.begin()),
    };
    this.seed = labElement("input", { type: "number", min: 0, max: 9999, step: 1, value: 0, inputmode: "numeric" });
    this.seed.addEventListener("change", () => this.begin());
    const plain = { autocomplete: "off", autocapitalize: "off", spellcheck: "false" };
    this.own = labElement("input", { type: "text", value: OWN_SENTENCE, lang: "pt-BR", ...plain });
    this.own.addEventListener("input", () => this.#showAttention());
    this.said = labElement("span", { role: "status" });
    this.figures = labElement("span");
    this.refused = labElement("p", { class: "refused", role: "status" });
    place.replaceChildren(
      labElement("div", { class: "acts" }, ...Object.values(this.buttons), labElement("label", {}, `${words.seed} `, this.seed)),
      labElement("p", { class: "figures" }, this.said, " ", this.figures),
      labElement("div", { class: "charts" }, this.charts.loss.figure, this.charts.accuracy.figure),
      labElement("p", { class: "how" }, words.how),
      labElement("label", { class: "own" }, `${words.yours} `, this.own), this.refused,
      ...this.rows.map(({ line }) => line),
    );
    this.begin();
  }

  #button(key, act) {
    const button = labElement("button", { type: "button", "data-act": key }, TRAINING_WORDS[key]);
    button.addEventListener("click", act);
    return button;
  }

  /** Draw new weights, the same ones for the same seed. */
  begin() {
    cancelAnimationFrame(this.frame);
    this.isRunning = false;
    this.training = new PronounTraining(Math.trunc(Number(this.seed.value)) || 0, this.sentences);
    for (const chart of Object.values(this.charts)) chart.clear();
    this.#evaluate();
    this.#show();
  }

  run() {
    if (this.steps >= MOST_STEPS) this.begin();
    this.isRunning = true;
    this.#show();
    let due = 0;
    const next = (now) => {
      if (now >= due) {
        due = now + PACE;
        this.#step();
        this.isRunning = this.steps < MOST_STEPS;
        this.#show();
      }
      if (this.isRunning) this.frame = requestAnimationFrame(next);
    };
    this.frame = requestAnimationFrame(next);
  }

  pause() {
    cancelAnimationFrame(this.frame);
    this.isRunning = false;
    this.#show();
  }

  get steps() {
    return this.training.optimizer.steps;
  }

  #step() {
    if (this.steps >= MOST_STEPS) return;
    this.training.step();
    if (this.steps % STEPS_PER_EVALUATION === 0) this.#evaluate();
  }

  #evaluate() {
    this.measured = this.training.model.evaluate(this.sentences.held);
    this.charts.loss.add(this.steps, this.measured.loss);
    this.charts.accuracy.add(this.steps, this.measured.accuracy);
  }

  #show() {
    const words = TRAINING_WORDS, isDone = this.steps >= MOST_STEPS;
    if (!this.isRunning && this.steps % STEPS_PER_EVALUATION) this.measured = this.training.model.evaluate(this.sentences.held);
    const { loss, accuracy, onNoun } = this.measured;
    const figures = words.figures(this.steps, { loss: lossText(loss), accuracy: percent(accuracy), onNoun: percent(onNoun) });
    this.figures.textContent = figures;
    const said = this.isRunning ? "running" : isDone ? "done" : this.steps ? "paused" : "ready";
    if (this.said.textContent !== words[said]) this.said.textContent = words[said]; // read aloud only when it changes
    this.buttons.train.textContent = words[this.isRunning ? "pause" : "train"];
    this.buttons.step.disabled = isDone;
    this.#showAttention();
  }

  #showAttention() {
    const own = ["<bos>", ...this.own.value.trim().toLowerCase().split(/\s+/).filter(Boolean)];
    const unknown = own.filter((word) => !VOCABULARY.includes(word));
    const { unknown: refuse, known } = TRAINING_WORDS;
    const refused = unknown.length ? `${refuse(unknown.join(", "))} ${known(VOCABULARY.slice(1).join(", "))}` : "";
    if (this.refused.textContent !== refused) this.refused.textContent = refused;
    for (const { sentence, line } of this.rows) {
      if (!sentence && unknown.length) {
        line.replaceChildren();
        continue;
      }
      const ids = sentence ? sentence.ids : own.map((word) => VOCABULARY.indexOf(word));
      const { weights, probabilities } = this.training.model.read([ids]);
      const most = Math.max(...probabilities.data), answer = probabilities.data.indexOf(most);
      const [judged, mark] = !sentence ? ["", ""] : answer === sentence.target ? ["right", " ✓"] : ["wrong", " ✗"];
      line.replaceChildren(
        ...ids.map((id, at) => this.#word(VOCABULARY[id], weights.data[at])),
        labElement("span", { class: `answer ${judged}` }, `→ ${VOCABULARY[answer]}${mark}`, labElement("small", {}, percent(most))),
      );
    }
  }

  #word(word, weight) {
    const attributes = { class: weight > 0.5 ? "strong word" : "word", "data-weight": weight };
    const element = labElement("span", attributes, word, labElement("small", {}, weight >= 0.1 ? percent(weight) : " "));
    element.style.setProperty("--weight", `${Math.round(100 * weight)}%`);
    return element;
  }
}

document.querySelectorAll(".training-lab").forEach((place) => new TrainingLab(place));
