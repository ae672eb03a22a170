// The worked examples as matrices that a reader moves: each <div class="attention-lab" data-example="…"> becomes one.
// After atenta.js and attention_steps.js.
"use strict";

const LAB_WORDS = isPortuguese ? {
  "1/five-tokens": "Documento 1: cinco palavras, duas escondidas",
  "1/three-words": "Documento 1: três palavras",
  "2/projection-scoring-weighting": "Documento 2: três palavras, máscara causal",
  example: "Exemplo", multiply: "multiplicar por 0", add: "somar −∞", scale: "dividir por √d", masking: "Como mascarar",
  printed: "mostrar o que o documento imprimiu", reset: "voltar ao exemplo",
  how: "Arraste um número de x ou das matrizes para os lados, ou mude-o com ↑ e ↓ (← e → trocam de número). Clique numa célula da máscara para escondê-la ou mostrá-la.",
  mask: "máscara", scores: "pontuações QKᵀ", scaled: "÷ √d", masked: "mascaradas", weights: "pesos: softmax",
  output: "saída: pesos · V", hidden: "escondida", visible: "visível",
  cell: (name, row, column) => `${name}, linha ${row}, coluna ${column}`,
  leak: (share) => `O que a máscara esconde ainda recebe, na linha mais afetada, ${share} da atenção.`,
  sealed: "O que a máscara esconde recebe 0 da atenção.", open: "Nada está escondido.",
  empty: "Numa linha tudo está escondido: o softmax divide 0 por 0, e não há pesos.",
  wrong: (count) => count === 1 ? "1 número impresso está errado (riscado)." :
    count ? `${count} números impressos estão errados (riscados). Qual foi o primeiro engano?` : "Todos os números impressos estão certos.",
} : {
  "1/five-tokens": "Document 1: five words, two hidden",
  "1/three-words": "Document 1: three words",
  "2/projection-scoring-weighting": "Document 2: three words, causal mask",
  example: "Example", multiply: "multiply by 0", add: "add −∞", scale: "divide by √d", masking: "How to mask",
  printed: "show what the document printed", reset: "back to the example",
  how: "Drag a number of x or of a matrix sideways, or change it with ↑ and ↓ (← and → go to another number). Click a cell of the mask to hide or show it.",
  mask: "mask", scores: "scores QKᵀ", scaled: "÷ √d", masked: "masked", weights: "weights: softmax",
  output: "output: weights · V", hidden: "hidden", visible: "visible",
  cell: (name, row, column) => `${name}, row ${row}, column ${column}`,
  leak: (share) => `What the mask hides still gets, in the row that suffers most, ${share} of the attention.`,
  sealed: "What the mask hides gets 0 of the attention.", open: "Nothing is hidden.",
  empty: "In one row everything is hidden: softmax divides 0 by 0, and there are no weights.",
  wrong: (count) => count === 1 ? "1 printed number is wrong (struck out)." :
    count ? `${count} printed numbers are wrong (struck out). Which was the first slip?` : "All printed numbers are right.",
};
const INPUTS = ["x", "W_Q", "W_K", "W_V"], STEPS = ["Q", "K", "V", "scores", "scaled", "masked", "weights", "output"];
const SVG_TAGS = ["svg", "path", "line", "rect", "text"];
const STEP_SIZE = 0.1, PIXELS = 8; // by which a number changes, and how far it is dragged for it

const labNumber = (value, fewest = 0) => Number.isNaN(value) ? "–" : Math.abs(value) === Infinity ? "−∞" :
  new Intl.NumberFormat(document.documentElement.lang, { maximumFractionDigits: 4, minimumFractionDigits: value % 1 ? fewest : 0 })
    .format(Math.abs(value) < 5e-5 ? 0 : value).replace("-", "−");

function labElement(tag, attributes = {}, ...children) {
  const space = SVG_TAGS.includes(tag) ? "http://www.w3.org/2000/svg" : "http://www.w3.org/1999/xhtml";
  const element = document.createElementNS(space, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

class AttentionLab {
  constructor(place) {
    this.place = place;
    this.note = labElement("p", { role: "status", class: "note" });
    this.choice = labElement("select", {}, ...Object.keys(WORKED_EXAMPLES).map((name) => new Option(LAB_WORDS[name], name)));
    this.choice.value = place.dataset.example;
    this.choice.addEventListener("change", () => this.start());
    this.buttons = {
      multiply: this.#button("multiply", () => { this.state.masking = "multiply"; }),
      add: this.#button("add", () => { this.state.masking = "add"; }),
      scale: this.#button("scale", () => { this.state.isScaled = !this.state.isScaled; }),
      printed: this.#button("printed", () => this.#togglePrinted()),
      reset: this.#button("reset", () => this.start()),
    };
    this.start();
  }

  get example() {
    return WORKED_EXAMPLES[this.choice.value];
  }

  /** Begin with the figures of the example, with a mask that hides. */
  start() {
    const copied = Object.fromEntries(INPUTS.map((name) => [name, this.example[name].map((row) => [...row])]));
    const hidden = copied.x.map((_, query) => copied.x.map((_, key) => this.example.isHidden(query, key)));
    this.state = { ...copied, hidden, masking: "add", isScaled: true };
    this.showsPrinted = false;
    this.#build();
  }

  #togglePrinted() {
    const shows = !this.showsPrinted;
    this.start(); // printed figures belong to the document's own inputs
    this.showsPrinted = shows;
    if (shows) Object.assign(this.state, { masking: this.example.masking, isScaled: this.example.isScaled });
  }

  #button(key, act) {
    const button = labElement("button", { type: "button", "data-act": key }, LAB_WORDS[key]);
    button.addEventListener("click", () => { act(); this.#show(); });
    return button;
  }

  #build() {
    const { multiply, add, scale, printed, reset } = this.buttons, steps = attentionSteps(this.state);
    const sizes = { ...this.state, ...steps };
    this.cells = {};
    const matrices = (...names) => labElement("div", { class: "matrices" }, ...names.map((name) => this.#matrix(name, sizes[name])));
    this.place.replaceChildren(
      labElement("div", { class: "acts" }, labElement("label", {}, `${LAB_WORDS.example} `, this.choice), reset),
      labElement("p", { class: "how" }, LAB_WORDS.how),
      matrices("x", "W_Q", "W_K", "W_V"),
      matrices("Q", "K", "V"),
      labElement("div", { class: "acts", role: "group", "aria-label": LAB_WORDS.masking }, multiply, add, scale, printed),
      this.note,
      matrices("scores", "scaled", "hidden", "masked"),
      matrices("weights", "output"),
    );
    this.#show();
  }

  #matrix(name, rows) {
    const isInput = INPUTS.includes(name), isMask = name === "hidden", [letter, above] = name.split("_");
    const title = isMask ? LAB_WORDS.mask : LAB_WORDS[name] ?? letter;
    this.cells[name] = rows.map((row, at) => row.map((_, column) => {
      const label = LAB_WORDS.cell(above ? `${letter} ${above}` : title, at + 1, column + 1);
      const attributes = { class: "cell", "data-row": at, "data-column": column };
      if (isMask) return this.#maskCell(label, attributes, at, column);
      return isInput ? this.#inputCell(name, label, attributes, at, column) : labElement("span", attributes);
    }));
    const grid = labElement("div", { class: "grid" }, ...this.cells[name].map((row) => labElement("div", { class: "row" }, ...row)));
    return labElement("figure", { "data-matrix": name, role: "group", "aria-label": above ? `${letter} ${above}` : title },
      labElement("figcaption", {}, title, above ? labElement("sup", {}, above) : ""), grid);
  }

  #maskCell(label, attributes, query, key) {
    const cell = labElement("button", { ...attributes, type: "button", "data-label": label });
    cell.addEventListener("click", () => {
      this.state.hidden[query][key] = !this.state.hidden[query][key];
      this.#change();
    });
    return cell;
  }

  #inputCell(name, label, attributes, row, column) {
    const cell = labElement("span", { ...attributes, role: "spinbutton", "aria-label": label, tabindex: row + column ? -1 : 0 });
    const set = (value) => {
      this.state[name][row][column] = Number(value.toFixed(4));
      this.#change();
    };
    const value = () => this.state[name][row][column];
    cell.addEventListener("pointerdown", (event) => {
      const from = value(), start = event.clientX;
      cell.setPointerCapture(event.pointerId);
      cell.onpointermove = (moved) => set(from + Math.round((moved.clientX - start) / PIXELS) * STEP_SIZE);
    });
    for (const end of ["pointerup", "pointercancel"]) cell.addEventListener(end, () => { cell.onpointermove = null; });
    cell.addEventListener("keydown", (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const by = { ArrowUp: 1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
      const all = this.cells[name].flat(), next = all[all.indexOf(cell) + ({ ArrowLeft: -1, ArrowRight: 1 }[event.key] ?? NaN)];
      if (!by && !next) return;
      event.preventDefault();
      if (by) return set(value() + by * STEP_SIZE);
      cell.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
    return cell;
  }

  /** After a change by hand the printed figures no longer belong to what is shown. */
  #change() {
    this.showsPrinted = false;
    this.#show();
  }

  #show() {
    const steps = attentionSteps(this.state), { buttons, state } = this;
    let wrong = 0;
    for (const name of [...INPUTS, ...STEPS]) {
      (steps[name] ?? state[name]).forEach((values, row) => values.forEach((value, column) => {
        const cell = this.cells[name][row][column], printed = this.showsPrinted && this.example.printed[name]?.[row]?.[column];
        cell.dataset.value = value;
        cell.replaceChildren(labNumber(value, STEPS.indexOf(name) > 2 ? 4 : 0)); // Q, K and V are short
        if (INPUTS.includes(name)) {
          cell.setAttribute("aria-valuenow", value);
          cell.setAttribute("aria-valuetext", labNumber(value));
        }
        cell.classList.toggle("faint", STEPS.indexOf(name) > 4 && name !== "output" && state.hidden[row][column]);
        if (name === "weights") cell.style.setProperty("--weight", `${Math.round(100 * (value || 0))}%`);
        cell.classList.toggle("strong", name === "weights" && value > 0.5);
        if (typeof printed !== "number") return;
        const isWrong = !(Math.abs(printed - value) <= this.example.tolerance);
        wrong += isWrong;
        cell.append(labElement(isWrong ? "del" : "ins", {}, labNumber(printed)));
      }));
    }
    this.cells.hidden.flat().forEach((cell) => {
      const isHidden = state.hidden[cell.dataset.row][cell.dataset.column];
      cell.textContent = isHidden ? (state.masking === "add" ? "−∞" : "×0") : "·";
      cell.setAttribute("aria-pressed", isHidden);
      cell.setAttribute("aria-label", `${cell.dataset.label}: ${LAB_WORDS[isHidden ? "hidden" : "visible"]}`);
    });
    const pressed = { multiply: state.masking === "multiply", add: state.masking === "add", scale: state.isScaled, printed: this.showsPrinted };
    for (const [key, is] of Object.entries(pressed)) buttons[key].setAttribute("aria-pressed", is);
    this.note.textContent = this.#describe(steps.weights) + (this.showsPrinted ? ` ${LAB_WORDS.wrong(wrong)}` : "");
  }

  #describe(weights) {
    const { hidden } = this.state;
    if (!hidden.flat().some(Boolean)) return LAB_WORDS.open;
    if (weights.flat().some(Number.isNaN)) return LAB_WORDS.empty;
    const lost = weights.map((row, query) => row.reduce((sum, weight, key) => sum + (hidden[query][key] ? weight : 0), 0));
    const share = new Intl.NumberFormat(document.documentElement.lang, { style: "percent" }).format(Math.max(...lost));
    return Math.max(...lost) > 0 ? LAB_WORDS.leak(share) : LAB_WORDS.sealed;
  }
}

document.querySelectorAll(".attention-lab").forEach((place) => new AttentionLab(place));
