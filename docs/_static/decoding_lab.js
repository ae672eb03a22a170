// The encoder-decoder, letter by letter: each <div class="decoding-lab" data-text="…"> becomes a text that the model of
// accents writes in the page, with its attention. After attention_lab.js, training_lab.js and accents_model.js.
"use strict";

const DECODING_WORDS = isPortuguese ? {
  text: "Texto sem acentos", back: "← voltar", next: "próxima letra →", draw: "sortear", all: "até o fim", again: "começar de novo",
  beams: "feixe de 2", temperature: "Temperatura", topK: "Top-k", every: "todas", block: "Bloco", head: "Cabeça", mean: "média",
  beam: "Feixe", mapped: "Mapas do feixe",
  how: "Escolha qualquer das cinco letras mais prováveis, ou deixe o modelo escolher: → pega a marcada, ← volta. A linha destacada de um mapa é a que escolhe a próxima letra; as colunas são o que ela olha. ⊢ é o começo, ⊣ o fim e ␣ um espaço.",
  encoder: "Autoatenção do encoder", decoder: "Autoatenção do decoder", cross: "Atenção cruzada",
  reads: (source) => `O encoder lê “${source}”.`, empty: "Escreva um texto.",
  looks: (letter, share, end) => `${end ? "Para escolher o fim" : "Para escolher a próxima letra"}, a atenção cruzada olha mais para ${letter} (${share}).`,
  done: (text) => `Fim: “${text}”.`, tooLong: "Longo demais: o modelo não achou o fim.", failed: "Os pesos do modelo não puderam ser lidos.",
  letters: { " ": "espaço", "<eos>": "fim", "<bos>": "começo" }, taken: "é a próxima", score: (score) => `soma de log p: ${score}`,
  map: (title, from, to) => `${title}: a última linha, ${from}, olha mais para ${to}`,
} : {
  text: "Text without accents", back: "← back", next: "next letter →", draw: "draw one", all: "to the end", again: "begin again",
  beams: "two beams", temperature: "Temperature", topK: "Top-k", every: "all", block: "Block", head: "Head", mean: "mean",
  beam: "Beam", mapped: "Maps of beam",
  how: "Choose any of the five most probable letters, or let the model choose: → takes the marked one, ← goes back. The row that stands out in a map is the one that chooses the next letter; the columns are what it looks at. ⊢ is the beginning, ⊣ the end and ␣ a space.",
  encoder: "Self-attention of the encoder", decoder: "Self-attention of the decoder", cross: "Cross-attention",
  reads: (source) => `The encoder reads “${source}”.`, empty: "Write a text.",
  looks: (letter, share, end) => `${end ? "To choose the end" : "To choose the next letter"}, cross-attention looks most at ${letter} (${share}).`,
  done: (text) => `Done: “${text}”.`, tooLong: "Too long: the model has not found the end.", failed: "The weights of the model could not be read.",
  letters: { " ": "space", "<eos>": "end", "<bos>": "beginning" }, taken: "is next", score: (score) => `sum of log p: ${score}`,
  map: (title, from, to) => `${title}: the last row, ${from}, looks most at ${to}`,
};
const SIGNS = { " ": "␣", [SPECIAL.begin]: "⊢", [SPECIAL.end]: "⊣" };
const SHOWN = 5; // letters that may come next
const WEIGHTS_SCRIPT = new URL("accents_weights.js", document.currentScript.src).href;

const signOf = (character) => SIGNS[character] ?? character;
const nameOf = (character) => DECODING_WORDS.letters[character] ?? character;
const atMost = (values) => values.indexOf(Math.max(...values));

/** Return a map of attention as a picture: `weights` are (m, n), the darker the more; `last` makes its last row stand out. */
function drawAttention(title, weights, rows, columns, last) {
  const cell = 16, left = 20, top = 20, width = left + cell * columns.length + 2, height = top + cell * rows.length + 2;
  const middle = (index) => cell * index + cell / 2;
  const label = (character, x, y, isStrong) => labElement("text", { x, y, class: isStrong ? "strong" : "" }, signOf(character));
  const svg = labElement("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" },
    ...columns.map((character, at) => label(character, left + middle(at), top - 6)),
    ...rows.map((character, at) => label(character, left - 9, top + middle(at) + 4, last && at === rows.length - 1)));
  svg.style.maxWidth = `${1.2 * width}px`;
  for (let row = 0; row < rows.length; row++) {
    weights.row(row).forEach((weight, column) => svg.append(labElement("rect", {
      x: left + cell * column, y: top + cell * row, width: cell, height: cell, "fill-opacity": weight.toFixed(3) })));
  }
  const frame = { x: left, y: top + cell * (rows.length - 1), width: cell * columns.length, height: cell, class: "last" };
  if (last) svg.append(labElement("rect", frame));
  const to = columns[atMost(weights.row(rows.length - 1))];
  svg.setAttribute("aria-label", DECODING_WORDS.map(title, nameOf(rows.at(-1)), nameOf(to)));
  return labElement("figure", {}, labElement("figcaption", {}, title), svg);
}

/** A beam in the page: its text and a button for each of the most probable next letters. */
class BeamView {
  constructor(choose) {
    this.written = labElement("p", { class: "written", lang: "pt-BR" });
    this.score = labElement("p", { class: "score" });
    this.letters = Array.from({ length: SHOWN }, () => {
      const button = labElement("button", { type: "button", class: "letter" }, ...["sign", "bar", "share"].map((kind) => labElement("span", { class: kind })));
      button.addEventListener("click", () => choose(Number(button.dataset.id)));
      return button;
    });
    this.element = labElement("div", { class: "beam" }, this.written, ...this.letters, this.score);
  }

  /** Show a beam; `taken` are the ids that the next step takes from it. */
  show(beam, text, characters, probabilities, taken) {
    this.written.replaceChildren(text, labElement("span", { class: beam.isOver ? "end" : "cursor" }, beam.isOver ? ` ${SIGNS[SPECIAL.end]}` : "▏"));
    this.score.textContent = DECODING_WORDS.score(lossText(beam.score).replace("-", "−"));
    const best = [...probabilities.keys()].sort((a, b) => probabilities[b] - probabilities[a]).slice(0, SHOWN);
    this.letters.forEach((button, rank) => {
      const id = best[rank], p = probabilities[id], isTaken = taken.includes(id), [sign, bar, share] = button.children;
      const written = trainingNumber(p, { style: "percent", maximumFractionDigits: p < 0.1 ? 1 : 0 });
      button.dataset.id = id;
      button.hidden = beam.isOver;
      button.disabled = p === 0;
      button.classList.toggle("taken", isTaken);
      button.setAttribute("aria-label", `${nameOf(characters[id])}, ${written}${isTaken ? `, ${DECODING_WORDS.taken}` : ""}`);
      sign.textContent = signOf(characters[id]);
      share.textContent = p ? written : "–";
      bar.style.setProperty("--share", `${100 * p}%`);
    });
  }
}

class DecodingLab {
  constructor(place, model) {
    const words = DECODING_WORDS;
    Object.assign(this, { place, model, random: makeRandom(0) });
    const plain = { autocomplete: "off", autocapitalize: "off", spellcheck: "false", maxlength: LONGEST_SOURCE };
    this.text = labElement("input", { type: "text", value: place.dataset.text, lang: "pt-BR", ...plain });
    this.text.addEventListener("input", () => this.begin());
    this.buttons = {
      back: this.#button("back", () => this.decoding.back()),
      next: this.#button("next", () => this.#step()),
      draw: this.#button("draw", () => this.#draw()),
      all: this.#button("all", () => { while (!this.decoding.isOver) this.#step(); }),
      again: this.#button("again", () => this.begin()),
      beams: this.#button("beams", () => { this.width = 3 - this.width; this.begin(); }),
    };
    this.width = 1;
    this.temperature = labElement("input", { type: "range", min: 0.2, max: 3, step: 0.1, value: 1 });
    this.topK = this.#select([[0, words.every], ...[1, 2, 3, 5].map((k) => [k, k])], 0);
    this.block = this.#select(model.weights.decoder.blocks.map((_, at) => [at, at + 1]), model.weights.decoder.blocks.length - 1);
    this.head = this.#select([["", words.mean], ...Array.from({ length: model.headCount }, (_, at) => [at, at + 1])], "");
    this.mapped = this.#select([[0, 1], [1, 2]], 0);
    this.degrees = labElement("span");
    this.temperature.addEventListener("input", () => this.#show());
    this.views = [0, 1].map((at) => new BeamView((id) => this.#choose(at, id)));
    this.maps = labElement("div", { class: "maps" });
    this.note = labElement("p", { class: "note", role: "status" });
    const label = (key, ...inputs) => labElement("label", {}, `${words[key]} `, ...inputs);
    this.mappedLabel = label("mapped", this.mapped);
    const { back, next, draw, all, again, beams } = this.buttons;
    place.replaceChildren(
      labElement("label", { class: "own" }, `${words.text} `, this.text),
      labElement("div", { class: "acts" }, back, next, all, again),
      labElement("div", { class: "acts" }, beams, draw, label("temperature", this.temperature, this.degrees), label("topK", this.topK)),
      labElement("p", { class: "how" }, words.how), this.note,
      labElement("div", { class: "beams" }, ...this.views.map(({ element }) => element)),
      labElement("div", { class: "acts" }, label("block", this.block), label("head", this.head), this.mappedLabel),
      this.maps,
    );
    place.addEventListener("keydown", (event) => this.#press(event));
    this.begin();
  }

  #button(key, act) {
    const button = labElement("button", { type: "button", "data-act": key }, DECODING_WORDS[key]);
    button.addEventListener("click", () => { // it keeps the focus, so that it is not disabled but does nothing
      if (button.getAttribute("aria-disabled") === "true") return;
      act();
      this.#show();
    });
    return button;
  }

  #select(options, value) {
    const select = labElement("select", {}, ...options.map(([each, text]) => new Option(text, each)));
    select.value = value;
    select.addEventListener("change", () => this.#show());
    return select;
  }

  #press(event) {
    const button = { ArrowRight: this.buttons.next, ArrowLeft: this.buttons.back }[event.key];
    if (!button || event.target.matches("input, select") || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    button.click();
  }

  /** Read the text anew; nothing is written yet. */
  begin() {
    this.source = sourceOf(this.text.value);
    this.decoding = this.source ? new Decoding(this.model, this.source) : null;
    this.#show();
  }

  /** What sampling goes by; beam search goes by the model's own probabilities, as `generate` does. */
  get options() {
    return this.width > 1 ? {} : { temperature: Number(this.temperature.value), topK: Number(this.topK.value) };
  }

  #step() {
    this.decoding.follow(this.decoding.best(this.width, this.options));
  }

  #draw() {
    const [beam] = this.decoding.beams, probabilities = nextProbabilities(beam.logits, this.options);
    let left = this.random();
    const id = probabilities.findIndex((probability) => (left -= probability) < 0);
    this.#choose(0, id < 0 ? atMost(probabilities) : id);
  }

  /** Go on with a letter of a beam, and with no other beam. */
  #choose(at, id) {
    const beam = this.decoding.beams[at], p = nextProbabilities(beam.logits, this.options)[id];
    this.decoding.follow([{ beam, id, score: beam.score + Math.log(p) }]);
    this.#show();
    if (this.decoding.isOver) this.buttons.back.focus(); // there are no letters to choose from any more
  }

  #textOf(beam) {
    return beam.read.slice(1).map((id) => this.model.characters[id]).join("");
  }

  #show() {
    const { decoding, buttons, options } = this, isBeamSearch = this.width > 1, isOver = !decoding || decoding.isOver;
    const disabled = { back: !decoding?.past.length, next: isOver, all: isOver, draw: isOver || isBeamSearch, again: !decoding };
    for (const [key, is] of Object.entries(disabled)) buttons[key].setAttribute("aria-disabled", is);
    buttons.beams.setAttribute("aria-pressed", isBeamSearch);
    this.temperature.disabled = this.topK.disabled = isBeamSearch;
    this.degrees.textContent = trainingNumber(Number(this.temperature.value), { minimumFractionDigits: 1 });
    const beams = decoding?.beams ?? [], ways = decoding ? decoding.best(this.width, options) : [];
    this.views.forEach((view, at) => {
      const beam = beams[at];
      view.element.hidden = !beam;
      if (!beam) return;
      const taken = ways.filter((way) => way.beam === beam).map(({ id }) => id);
      view.show(beam, this.#textOf(beam), this.model.characters, nextProbabilities(beam.logits, options), taken);
    });
    this.mappedLabel.hidden = beams.length < 2;
    const beam = beams[Number(this.mapped.value)] ?? beams[0];
    this.maps.replaceChildren(...(beam ? this.#mapsOf(beam) : []));
    const note = beam ? `${DECODING_WORDS.reads(this.source)} ${this.#describe(beam)}` : DECODING_WORDS.empty;
    if (this.note.textContent !== note) this.note.textContent = note; // read aloud only when it changes
  }

  #attention(weights) {
    return attentionOf(weights[Number(this.block.value)], this.model.headCount, this.head.value === "" ? undefined : Number(this.head.value));
  }

  #mapsOf(beam) {
    const words = DECODING_WORDS, { encoded, ids } = this.decoding, named = (all) => all.map((id) => this.model.characters[id]);
    const [source, written] = [named(ids), named(beam.read)];
    return [
      drawAttention(words.encoder, this.#attention(encoded.self), source, source, false),
      drawAttention(words.decoder, this.#attention(beam.self), written, written, true),
      drawAttention(words.cross, this.#attention(beam.cross), written, source, true),
    ];
  }

  #describe(beam) {
    const words = DECODING_WORDS, hasEnd = beam.ids.length > beam.read.length;
    if (this.decoding.isOver) return hasEnd ? words.done(this.#textOf(beam)) : words.tooLong;
    const row = this.#attention(beam.cross).row(beam.read.length - 1), at = atMost(row);
    const character = this.model.characters[this.decoding.ids[at]], letter = character in SIGNS ? nameOf(character) : `“${character}”`;
    return words.looks(letter, percent(row[at]), hasEnd);
  }
}

// The weights are a large script, loaded where there is something to show with them.
const decodingPlaces = document.querySelectorAll(".decoding-lab");
if (decodingPlaces.length) {
  const script = labElement("script", { src: WEIGHTS_SCRIPT });
  script.addEventListener("load", () => decodingPlaces.forEach((place) => new DecodingLab(place, new AccentsModel(ACCENTS_WEIGHTS))));
  script.addEventListener("error", () => decodingPlaces.forEach((place) => place.replaceChildren(DECODING_WORDS.failed)));
  document.head.append(script);
}
