// The taggers of characters, loaded from the page's own files: that of `restore_accents` and that of `restore_text`.

import { CharacterIds } from "./character_ids.js";
import { fetchFile, openTagger } from "./sessions.js";
import { Spellings } from "./spellings.js";
import { WindowReader } from "./window_reader.js";

/** Return the folder of the tagger that restores what is named: accents alone have a stronger model. */
export const taggerFolder = (restored) => (String(restored) === "accents" ? "models/tagger" : "models/speech");

/** Return the WindowReader of a folder. */
export async function loadTagger(folder) {
  const [config, tokenizer, spellings, run] = await Promise.all([
    fetchFile(`${folder}/config.json`).then((file) => file.json()),
    fetchFile(`${folder}/tokenizer.json`).then((file) => file.json()),
    fetchFile(`${folder}/spellings.txt`).then((file) => file.text()),
    openTagger(`${folder}/model_int8.onnx`),
  ]);
  const bases = new Map(); // what may become each variant that is a character, other than itself
  for (const [base, variants] of Object.entries(config.character_variants)) {
    for (const variant of variants) {
      if (variant !== base && [...variant].length === 1) bases.set(variant.codePointAt(0), base.codePointAt(0));
    }
  }
  return new WindowReader(run, config, new CharacterIds(tokenizer), new Spellings(spellings, bases));
}
