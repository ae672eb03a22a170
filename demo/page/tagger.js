// The model of `restore_accents`, loaded from the page's own files.

import { CharacterIds } from "./character_ids.js";
import { fetchFile, openTagger } from "./sessions.js";
import { Spellings } from "./spellings.js";
import { WindowReader } from "./window_reader.js";

const FOLDER = "models/tagger";

/** Return the WindowReader of the model of Portuguese accents. */
export async function loadTagger() {
  const [config, tokenizer, spellings, run] = await Promise.all([
    fetchFile(`${FOLDER}/config.json`).then((file) => file.json()),
    fetchFile(`${FOLDER}/tokenizer.json`).then((file) => file.json()),
    fetchFile(`${FOLDER}/spellings.txt`).then((file) => file.text()),
    openTagger(`${FOLDER}/model_int8.onnx`),
  ]);
  if (Object.values(config.character_variants).some(Array.isArray)) {
    throw new Error(`character_variants of ${FOLDER} has lists of texts; expected texts of characters`);
  }
  const bases = new Map(); // what may become each variant, other than itself
  for (const [base, variants] of Object.entries(config.character_variants)) {
    for (const variant of variants) if (variant !== base) bases.set(variant.codePointAt(0), base.codePointAt(0));
  }
  return new WindowReader(run, config, new CharacterIds(tokenizer), new Spellings(spellings, bases));
}
