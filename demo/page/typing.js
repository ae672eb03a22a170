// What the tabs do with a box in which one types: they read it after a pause, and copy what comes of it.

import { failed } from "./problems.js";
import { say } from "./words.js";

export class TypedBox {
  isExample = true; // until somebody types
  #timer = 0;

  /** `read` is called `pause` milliseconds after the last key. */
  constructor(box, read, pause = 120) {
    box.addEventListener("input", () => {
      this.isExample = false;
      this.stop();
      this.#timer = setTimeout(read, pause);
    });
  }

  /** Do not read what was typed last, if it has not been read yet. */
  stop() {
    clearTimeout(this.#timer);
  }
}

/** Let a button copy what `text()` returns. */
export function startCopying(button, text) {
  button.hidden = !navigator.clipboard; // which pages of http do not have
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = say("copied");
      setTimeout(() => { button.textContent = say("copy"); }, 1500);
    } catch (error) {
      failed(error);
    }
  });
}
