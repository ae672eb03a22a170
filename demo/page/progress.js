// What a long reading shows while it goes on: a bar, percent and characters, and a button that cancels it.

import { format, say } from "./words.js";

const spoken = document.getElementById("spoken"); // by screen readers
const PATIENCE = 300; // milliseconds after which a reading is long

export class Progress {
  #element;
  #bar;
  #figures;
  #began;
  #quarter;

  /** `cancel` is called when the button is pressed. */
  constructor(element, cancel) {
    this.#element = element;
    [this.#bar, this.#figures] = ["progress", ".figures"].map((part) => element.querySelector(part));
    element.querySelector("button").addEventListener("click", cancel);
  }

  /** Whether the bar is there. */
  get shown() {
    return !this.#element.hidden;
  }

  /** Begin a reading; a bar that is there stays. */
  start() {
    this.#bar.value = 0;
    this.#began = performance.now();
    this.#quarter = -1;
  }

  /** Show the share of a text that is read, if the reading is a long one. */
  show(share, characters) {
    if (share === 1 || (!this.shown && performance.now() - this.#began < PATIENCE)) return;
    this.#element.hidden = false;
    this.#bar.value = share;
    const percent = format(share, { style: "percent", roundingMode: "floor" });
    this.#figures.textContent = say("readSoFar", { percent, done: Math.floor(share * characters), characters });
    const quarter = Math.floor(share * 4); // more often would drown what else is spoken
    if (quarter === this.#quarter) return;
    this.#quarter = quarter;
    this.speak(this.#figures.textContent);
  }

  /** Take the bar away, and return whether it was there. */
  stop() {
    const wasShown = this.shown;
    if (wasShown) this.speak("");
    this.#element.hidden = true;
    return wasShown;
  }

  /** Let screen readers say a text, such as the result of a long reading. */
  speak(text) {
    spoken.textContent = text;
  }
}
