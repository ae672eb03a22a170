// The page's side of model_worker.js: functions that ask the models.

const worker = new Worker(new URL("model_worker.js", import.meta.url), { type: "module" });
const waiting = new Map(); // by the id of the request
const newest = {}; // id of the newest request for each task; what comes of older ones is late
let last = 0;

worker.addEventListener("message", ({ data: { id, share, result, stale, error } }) => {
  const { task, resolve, reject, progress } = waiting.get(id), late = newest[task] !== id;
  if (share !== undefined) return late || progress(share);
  waiting.delete(id);
  if (stale || late) resolve(null);
  else if (error !== undefined) reject(Object.assign(new Error(error.message), error));
  else resolve(result);
});

worker.addEventListener("error", (event) => {
  for (const { reject } of waiting.values()) reject(new Error(event.message || "model_worker.js"));
  waiting.clear();
});

/**
 * Ask for a task: "type" and "file", with `{text, restored, variant}`, are read by a tagger of characters, "write" is
 * written by the encoder-decoder, and "phones", with `{text, variant}`, by the tagger of letters.
 *
 * Calls `progress(share)` while a text is read, with null as long as its model is loaded. Resolves to the result, or to
 * null if a newer request for the same task has overtaken this one, or `cancel` has ended it.
 */
export function ask(task, text, progress = () => {}) {
  return new Promise((resolve, reject) => {
    newest[task] = ++last;
    waiting.set(last, { task, resolve, reject, progress });
    worker.postMessage({ id: last, task, text });
  });
}

/** End a task that goes on. */
export function cancel(task) {
  newest[task] = undefined;
  worker.postMessage({ task });
}
