// Runs the models beside the page, so that typing never waits for them.
//
// A request is {id, task, text}; the answers are {id, share} while it goes on, then {id, result}, {id, stale: true} if
// a newer request for the same task has come meanwhile, or {id, error}. A request without an id cancels its task.
// Tasks go on side by side: the models run a batch of each in turn, so that a word is answered while a book is read.

import { loadEncoderDecoder } from "./encoder_decoder.js";
import { loadTagger } from "./tagger.js";

const loading = {};
const newest = {}; // id of the newest request for each task
const load = (name, loader) => (loading[name] ??= loader());

const tasks = {
  async type(text, goesOn) {
    return (await load("tagger", loadTagger)).read(text, goesOn);
  },
  async file(text, goesOn) {
    return (await load("tagger", loadTagger)).read(text, goesOn);
  },
  async write(text, goesOn) {
    return (await load("encoder-decoder", loadEncoderDecoder)).write(text, goesOn);
  },
};

/** Let messages in that came while a model ran. */
const messages = () => new Promise((resume) => setTimeout(resume));

async function answer({ id, task, text }) {
  const goesOn = async (share) => {
    if (share !== undefined) postMessage({ id, share });
    await messages();
    return newest[task] === id;
  };
  try {
    await messages();
    const result = newest[task] === id ? await tasks[task](text, goesOn) : null;
    postMessage(result === null ? { id, stale: true } : { id, result });
  } catch (error) {
    postMessage({ id, error: String(error.message ?? error) });
  }
}

addEventListener("message", ({ data }) => {
  newest[data.task] = data.id;
  if (data.id) answer(data);
});
