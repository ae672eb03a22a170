// A text file that is opened or dropped: it is restored as it is, line ends and all, and saved under a new name.

import { minConfidence } from "./accents_tab.js";
import { ask } from "./models.js";
import { failed, problem, solved } from "./problems.js";
import { isDoubtful, restored } from "./window_reader.js";
import { onLanguage, say } from "./words.js";

const [input, drop, card, nameLine, state, progress, save, slider] =
  ["file", "drop", "file-card", "file-name", "file-state", "file-progress", "save", "confidence"].map((id) =>
    document.getElementById(id));
let opened = null; // {name, reading} of the last file

export function startFiles() {
  input.addEventListener("change", () => {
    if (input.files.length) open(input.files[0]);
    input.value = ""; // the same file may be opened again
  });
  addEventListener("dragover", (event) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    drop.hidden = false;
  });
  addEventListener("dragleave", (event) => { drop.hidden = event.relatedTarget === null; });
  addEventListener("drop", (event) => {
    drop.hidden = true;
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    document.getElementById("accents-tab").click();
    open(event.dataTransfer.files[0]);
  });
  slider.addEventListener("change", offer);
  onLanguage(offer);
}

async function open(file) {
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await file.arrayBuffer());
  } catch {
    return problem(say("notText", { name: file.name }));
  }
  solved();
  opened = null;
  card.hidden = progress.hidden = false;
  save.hidden = true;
  nameLine.textContent = file.name;
  state.textContent = say("fileReading");
  progress.value = 0;
  try {
    const reading = await ask("file", text, (share) => { progress.value = share; });
    if (reading === null) return; // another file was opened meanwhile
    opened = { name: file.name, reading };
    offer();
  } catch (error) {
    card.hidden = true;
    failed(error);
  }
}

/** Offer the restored file, with the confidence that the slider asks for. */
function offer() {
  if (opened === null) return;
  const { name, reading: { codes, choices } } = opened, text = restored(opened.reading, minConfidence());
  URL.revokeObjectURL(save.href);
  save.href = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
  save.download = name.replace(/(\.[^.]*)?$/, (ending) => `.${say("suffix")}${ending}`);
  save.textContent = say("save", { name: save.download });
  state.textContent = say("fileDone", {
    characters: codes.length,
    changed: Array.from(text).filter((character, place) => character.codePointAt(0) !== codes[place]).length,
    doubtful: choices.filter(isDoubtful).length,
  });
  progress.hidden = true;
  save.hidden = false;
}
