// The page's side of model_worker.js: functions that ask the models.

let worker = null; // started with the first request, and after an error with the next one
const waiting = new Map(); // by the id of the request
const newest = {}; // id of the newest request for each task; what comes of older ones is late
let last = 0;

function start() {
  const started = new Worker(new URL("model_worker.js", import.meta.url), { type: "module" });
  started.addEventListener("message", ({ data: { id, share, result, stale, error } }) => {
    if (!waiting.has(id)) return; // of a worker that has failed
    const { task, resolve, reject, progress } = waiting.get(id), late = newest[task] !== id;
    if (share !== undefined) return late || progress(share);
    waiting.delete(id);
    if (stale || late) resolve(null);
    else if (error !== undefined) reject(Object.assign(new Error(error.message), error));
    else resolve(result);
  });
  started.addEventListener("error", (event) => {
    started.terminate();
    worker = null;
    const error = Object.assign(new Error(event.message || "model_worker.js"), { isOfLoading: true });
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  });
  return started;
}

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
    worker ??= start();
    worker.postMessage({ id: last, task, text });
  });
}

/** End a task that goes on. */
export function cancel(task) {
  newest[task] = undefined;
  worker?.postMessage({ task });
}
