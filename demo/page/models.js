// The page's side of model_worker.js: functions that ask the models.

const worker = new Worker(new URL("model_worker.js", import.meta.url), { type: "module" });
const waiting = new Map(); // by the id of the request
let last = 0;

worker.addEventListener("message", ({ data: { id, share, result, stale, error } }) => {
  const { resolve, reject, progress } = waiting.get(id);
  if (share !== undefined) return progress(share);
  waiting.delete(id);
  if (error !== undefined) reject(new Error(error));
  else resolve(stale ? null : result);
});

worker.addEventListener("error", (event) => {
  for (const { reject } of waiting.values()) reject(new Error(event.message || "model_worker.js"));
  waiting.clear();
});

/**
 * Ask for a task: "type" and "file" are read by the tagger, "write" is written by the encoder-decoder.
 *
 * Resolves to the result, or to null if a newer request for the same task has overtaken this one.
 */
export function ask(task, text, progress = () => {}) {
  return new Promise((resolve, reject) => {
    waiting.set(++last, { resolve, reject, progress });
    worker.postMessage({ id: last, task, text });
  });
}
