// A Transformer that learns to write in the page: each <div class="transformer-lab"> becomes that of notebook 4, in small.
// After attention_lab.js, training_lab.js and small_transformer.js; loads novel.js.
"use strict";

const TRANSFORMER_WORDS = isPortuguese ? {
  train: "Treinar", pause: "Parar", again: "Começar de novo", heads: "Cabeças", mask: "máscara causal", residual: "conexão residual",
  loss: "Perda, em bits por caractere", counts: (n, bits) => `contagem de ${n} letras seguidas: ${bits}`,
  curves: { training: "treino", validation: "validação" },
  figures: (step, { training, validation, count }) =>
    `Passo ${step}. Treino ${training}, validação ${validation}; a melhor contagem, ${count}.`,
  ready: "Ainda sem treino: os pesos são sorteados.", running: "Treinando…", paused: "Parado.", done: "Pronto.",
  writes: "O que o modelo escreve, a cada 50 passos:", failed: "O texto não pôde ser lido.",
} : {
  train: "Train", pause: "Stop", again: "Begin again", heads: "Heads", mask: "causal mask", residual: "residual connections",
  loss: "Loss, in bits per character", counts: (n, bits) => `count of ${n} letters in a row: ${bits}`,
  curves: { training: "training", validation: "validation" },
  figures: (step, { training, validation, count }) =>
    `Step ${step}. Training ${training}, validation ${validation}; the best count, ${count}.`,
  ready: "Not trained yet: the weights are random.", running: "Training…", paused: "Stopped.", done: "Done.",
  writes: "What the model writes, every 50 steps:", failed: "The text could not be read.",
};
const STEPS_PER_POINT = 10, STEPS_PER_SAMPLE = 50;
const SAMPLE_START = "A minha ", SAMPLE_LENGTH = 160; // characters
const MOST_COUNTED = 6, MOST_BITS = 6; // letters in a row, and the top of the chart
const NOVEL_SCRIPT = new URL("novel.js", document.currentScript.src).href;

const bitsText = (bits) => trainingNumber(bits, { minimumFractionDigits: 2, maximumFractionDigits: 2 });

class TransformerLab {
  constructor(place, text, counts) {
    const words = TRANSFORMER_WORDS, best = Math.min(...counts), { curves } = words;
    Object.assign(this, { text, count: best });
    const line = { pairs: [best, words.counts(counts.indexOf(best) + 1, bitsText(best))] };
    const whole = (value) => trainingNumber(value);
    this.chart = new TrainingChart(words.loss, whole, line, { most: MOST_BITS, mostSteps: SMALL.steps, curves: Object.keys(curves) });
    this.buttons = {
      train: this.#button("train", () => (this.isRunning ? this.pause() : this.run())),
      again: this.#button("again", () => this.begin()),
    };
    this.mask = this.#check();
    this.residual = this.#check();
    this.heads = labElement("select", {}, ...[1, 2, 4].map((count) => new Option(count, count)));
    this.heads.value = 4;
    for (const choice of [this.mask, this.residual, this.heads]) choice.addEventListener("change", () => this.begin());
    this.said = labElement("span", { role: "status" });
    this.figures = labElement("span");
    this.sample = labElement("p", { class: "sample", lang: "pt-BR" });
    const keys = Object.entries(curves).map(([kind, name]) => labElement("span", { class: `key ${kind}` }, `${name} `));
    this.chart.figure.append(labElement("p", { class: "keys" }, ...keys));
    place.replaceChildren(
      labElement("div", { class: "acts" }, ...Object.values(this.buttons)),
      labElement("div", { class: "acts" }, labElement("label", {}, this.mask, ` ${words.mask}`),
        labElement("label", {}, this.residual, ` ${words.residual}`), labElement("label", {}, `${words.heads} `, this.heads)),
      labElement("p", { class: "figures" }, this.said, " ", this.figures),
      this.chart.figure, labElement("p", {}, words.writes), this.sample,
    );
    this.begin();
  }

  #button(key, act) {
    const button = labElement("button", { type: "button", "data-act": key }, TRANSFORMER_WORDS[key]);
    button.addEventListener("click", act);
    return button;
  }

  #check() {
    const check = labElement("input", { type: "checkbox" });
    check.checked = true;
    return check;
  }

  /** Draw new weights, always the same ones, for the parts that are switched on. */
  begin() {
    cancelAnimationFrame(this.frame);
    this.isRunning = false;
    const options = { headCount: Number(this.heads.value), isCausal: this.mask.checked, isResidual: this.residual.checked };
    this.training = new TransformerTraining(0, this.text, options);
    this.chart.clear();
    this.measured = {};
    this.recent = [];
    this.#evaluate();
    this.#write();
    this.#show();
  }

  run() {
    if (this.isDone) this.begin();
    this.isRunning = true;
    this.#show();
    const next = () => {
      this.#step();
      this.isRunning = !this.isDone;
      this.#show();
      if (this.isRunning) this.frame = requestAnimationFrame(next);
    };
    this.frame = requestAnimationFrame(next);
  }

  pause() {
    cancelAnimationFrame(this.frame);
    this.isRunning = false;
    this.#show();
  }

  get isDone() {
    return this.training.steps >= SMALL.steps;
  }

  #step() {
    this.recent.push(this.training.step());
    const { steps } = this.training;
    if (steps % STEPS_PER_POINT === 0) this.#evaluate();
    if (steps % STEPS_PER_SAMPLE === 0) this.#write();
  }

  /** Measure the windows held back; the loss of training is the mean of the steps since the last point. */
  #evaluate() {
    const { steps, model } = this.training;
    this.measured = { training: this.recent.length ? mean(this.recent) : undefined, validation: model.measure(this.text.held) };
    this.recent = [];
    for (const [kind, bits] of Object.entries(this.measured)) if (bits !== undefined) this.chart.add(steps, bits, kind);
  }

  #write() {
    const start = Array.from(SAMPLE_START, (character) => this.text.characters.indexOf(character));
    const ids = this.training.model.write(start, SAMPLE_LENGTH, makeRandom(this.training.steps));
    this.sample.textContent = ids.map((id) => this.text.characters[id]).join("");
  }

  #show() {
    const words = TRANSFORMER_WORDS, { steps } = this.training, write = (bits) => (bits === undefined ? "–" : bitsText(bits));
    const { training, validation } = this.measured;
    this.figures.textContent = words.figures(steps, { training: write(training), validation: write(validation), count: write(this.count) });
    const said = words[this.isRunning ? "running" : this.isDone ? "done" : steps ? "paused" : "ready"];
    if (this.said.textContent !== said) this.said.textContent = said; // read aloud only when it changes
    this.buttons.train.textContent = words[this.isRunning ? "pause" : "train"];
  }
}

// The text is a large script, loaded where there is a model to read it.
const transformerPlaces = document.querySelectorAll(".transformer-lab");
if (transformerPlaces.length) {
  const script = labElement("script", { src: NOVEL_SCRIPT });
  script.addEventListener("load", () => {
    const text = new CharacterText(NOVEL), counts = countSequences(text, MOST_COUNTED);
    transformerPlaces.forEach((place) => new TransformerLab(place, text, counts));
  });
  script.addEventListener("error", () => transformerPlaces.forEach((place) => place.replaceChildren(TRANSFORMER_WORDS.failed)));
  document.head.append(script);
}
