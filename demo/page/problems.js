// The line above the tabs' contents that says what went wrong.

import { say } from "./words.js";

const line = document.getElementById("problem");

/** Say a problem, until `solved` is called. */
export function problem(text) {
  line.textContent = text;
  line.hidden = false;
  line.scrollIntoView({ block: "nearest" });
}

/** Say that an Error has come, by itself or while a model was loaded. */
export const failed = ({ message, isOfLoading }) =>
  problem(say(isOfLoading ? "notLoaded" : "failed", { reason: message }));

/** Take away what was said. */
export function solved() {
  line.hidden = true;
}
