// The line under the page that says what went wrong.

import { say } from "./words.js";

const line = document.getElementById("problem");

/** Say a problem, until `solved` is called. */
export function problem(text) {
  line.textContent = text;
  line.hidden = false;
}

/** Say that an Error has come. */
export const failed = (error) => problem(say("failed", { reason: error.message }));

/** Take away what was said. */
export function solved() {
  line.hidden = true;
}
