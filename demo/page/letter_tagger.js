// The tagger of letters, which writes the phones of words: the most probable ways, of which all have their one stress
// mark, or none, and no phone of another variant. As phonemization/letter_tagger.py.

import { codePoints } from "./code_points.js";
import { BATCH_TOKENS } from "./sessions.js";

const FORBIDDEN = -1000; // a logarithm of no probability
const byScore = (one, other) => other.score - one.score;
const logSum = (values) => {
  const most = Math.max(...values);
  return most + Math.log(values.reduce((sum, value) => sum + Math.exp(value - most), 0));
};

export class LetterTagger {
  #run;
  #ids;
  #marks;
  #counts;
  #absent; // the units that training never has, of each tag that lacks some
  #temperature;
  #pieces; // of each label: its units, and whether it may stand in each group of labels
  #labels; // of each character, as a code point, those that it may become

  /** `run` is as in WindowReader; `config` is the model's config.json and `ids` are its CharacterIds. */
  constructor(run, config, ids) {
    const options = config.task_specific_params["character-restoration"], separator = options.target_separator;
    [this.#run, this.#ids, this.#marks, this.#counts] = [run, ids, options.tag_characters, options.unique_unit_counts];
    this.#absent = Object.fromEntries(
      Object.entries(options.absent_units ?? {}).map(([tag, units]) => [tag, new Set(units)]));
    this.#temperature = Math.fround(config.confidence_temperature);
    this.tags = Object.keys(this.#marks);
    const marks = new Set(Object.values(this.#marks)), variants = Object.entries(config.character_variants);
    this.letters = new Set(variants.map(([character]) => character).filter((character) => !marks.has(character)));
    this.longest = config.window_length - this.tags.length;
    const labels = new Map(Object.entries(config.id2label).map(([label, piece]) => [piece, Number(label)]));
    this.#pieces = [];
    for (const [piece, label] of labels) {
      const units = separator ? piece.split(separator).slice(0, -1) : [...piece];
      const count = units.filter((unit) => unit === options.unique_unit).length;
      this.#pieces[label] = { units, without: count === 0 ? 0 : FORBIDDEN, once: count === 1 ? 0 : FORBIDDEN };
    }
    this.#labels = new Map(variants.map(([character, pieces]) =>
      [character.codePointAt(0), pieces.map((piece) => labels.get(piece))]));
  }

  /**
   * Return what each word becomes, `[{units, confidence}]`, best first. Words have only `letters`, at most `longest`.
   *
   * `goesOn()` is awaited after each batch; if it returns false, null is returned.
   */
  async write(words, tag, count, goesOn = async () => true) {
    const texts = words.map((word) => codePoints(this.#marks[tag] + word)), written = [];
    const order = [...texts.keys()].sort((one, other) => texts[one].length - texts[other].length);
    while (order.length) {
      const length = texts[order.at(-1)].length + 2;
      const batch = order.splice(-Math.max(1, Math.floor(BATCH_TOKENS / length)));
      const rows = batch.map((place) => ({
        codes: texts[place].map((code) => this.#ids.of(code)[0]), hints: new Uint8Array(texts[place].length),
      }));
      const logits = await this.#run(rows, this.#ids), { length: labels } = this.#pieces;
      batch.forEach((place, row) => {
        const letters = Array.from(texts[place], (code, letter) =>
          this.#logarithms(code, logits, (row * length + 1 + letter) * labels, this.#absent[tag]));
        written[place] = this.#rank(letters, this.#counts[tag], count);
      });
      if (!(await goesOn())) return null;
    }
    return written;
  }

  /** Return the logarithms of the probabilities of all that a letter may become: `[{label, score}]`. */
  #logarithms(code, logits, from, absent) {
    const labels = this.#labels.get(code);
    const scores = labels.map((label) => Math.fround(logits[from + label] / this.#temperature)), sum = logSum(scores);
    const isBarred = (label) => absent && this.#pieces[label].units.some((unit) => absent.has(unit));
    return labels.map((label, index) => ({ label, score: scores[index] - sum + (isBarred(label) ? FORBIDDEN : 0) }));
  }

  /** Return the `count` best ways to write a word: the unique unit occurs once, never, or as it may. */
  #rank(letters, uniqueCount, count) {
    const groups = { 0: ["without"], 1: ["without", "once"] }[uniqueCount] ?? [null];
    let best = [[{ score: 0, labels: [] }], []], all = 0; // of the letters so far: none and one of the second group
    const gains = [];
    for (const of of letters) {
      const [first, second] = groups.map((group) => of.map(({ label, score }) =>
        ({ label, score: score + (group ? this.#pieces[label][group] : 0) })));
      const ranked = [first, second ?? first].map((group) => group.sort(byScore).slice(0, count));
      const withOne = [...extended(best[1], ranked[0]), ...extended(best[0], ranked[1])];
      best = [extended(best[0], ranked[0]), withOne].map((ways) => ways.sort(byScore).slice(0, count));
      const totals = [first, second ?? first].map((group) =>
        logSum([...group.map(({ score }) => score), FORBIDDEN / 2]));
      all += totals[0];
      gains.push(totals[1] - totals[0]);
    }
    if (groups.length > 1) all += logSum(gains);
    const ways = new Map();
    for (const { score, labels } of best[groups.length - 1]) {
      if (ways.size && score < FORBIDDEN / 2) break;
      const units = labels.flatMap((label) => this.#pieces[label].units), key = JSON.stringify(units);
      if (!ways.has(key)) ways.set(key, { units, confidence: Math.exp(Math.min(0, score - all)) });
    }
    return [...ways.values()];
  }
}

const extended = (ways, letter) => ways.flatMap((way) => letter.map(({ label, score }) =>
  ({ score: way.score + score, labels: [...way.labels, label] })));
