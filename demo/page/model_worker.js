// Runs the models beside the page, so that typing never waits for them.
//
// A request is {id, task, text}; the answers are {id, share} while it goes on, with null as long as its model is loaded,
// then {id, result}, {id, stale: true} if a newer request for the same task has come meanwhile, or {id, error}. A request
// without an id cancels its task.
// Tasks go on side by side, but a file waits, between two batches, until all that was typed to be restored is answered.

import { loadEncoderDecoder } from "./encoder_decoder.js";
import { loadPhonemizer } from "./phonemizer.js";
import { loadTagger, taggerFolder } from "./window_reader.js";

const loading = {}; // promises of models
const loaded = new Set();
const newest = {}; // id of the newest request for each task
let typed = Promise.resolve(); // settled when what was typed so far is answered

/** Return the model of a name, which is loaded if it is not there yet. */
async function load(name, loader, goesOn) {
  if (!loaded.has(name)) goesOn(null);
  loading[name] ??= loader(name);
  try {
    const model = await loading[name];
    loaded.add(name);
    return model;
  } catch (error) {
    delete loading[name]; // it may be there next time
    throw Object.assign(new Error(error.message ?? error), { isOfLoading: true });
  }
}

async function restore({ text, restored, variant }, goesOn) {
  return (await load(taggerFolder(restored), loadTagger, goesOn)).read(text, restored, variant, goesOn);
}

const tasks = {
  type: restore,
  file: restore,
  async phones(text, goesOn) {
    return (await load("phonemizer", loadPhonemizer, goesOn)).read(text, goesOn);
  },
  async write(text, goesOn) {
    return (await load("encoder-decoder", loadEncoderDecoder, goesOn)).write(text, goesOn);
  },
};

/** Let messages in that came while a model ran. */
const messages = () => new Promise((resume) => setTimeout(resume));

async function answer({ id, task, text }) {
  const goesOn = async (share) => {
    if (share !== undefined) postMessage({ id, share });
    await messages();
    for (let before; task === "file" && before !== typed; ) await (before = typed);
    return newest[task] === id;
  };
  try {
    await messages();
    const result = newest[task] === id ? await tasks[task](text, goesOn) : null;
    postMessage(result === null ? { id, stale: true } : { id, result });
  } catch (error) {
    postMessage({ id, error: { message: String(error.message ?? error), isOfLoading: error.isOfLoading } });
  }
}

addEventListener("message", ({ data }) => {
  newest[data.task] = data.id;
  if (!data.id) return;
  const answered = answer(data);
  if (data.task === "type") typed = Promise.all([typed, answered]);
});
