// A text file that is opened or dropped: it is restored as it is, line ends and all, and saved under a new name.

import { minConfidence } from "./accents_tab.js";
import { textOf } from "./code_points.js";
import { ask, cancel } from "./models.js";
import { failed, problem, solved } from "./problems.js";
import { Progress } from "./progress.js";
import { counted, restoredCodes } from "./reading.js";
import { onLanguage, say } from "./words.js";

const [input, drop, card, nameLine, state, save, slider] =
  ["file", "drop", "file-card", "file-name", "file-state", "save", "confidence"].map((id) =>
    document.getElementById(id));
const progress = new Progress(document.getElementById("file-progress"), stopReading);
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
  card.hidden = false;
  save.hidden = true;
  nameLine.textContent = file.name;
  tell("fileReading");
  progress.start();
  try {
    const reading = await ask("file", text, (share) => progress.show(share, text.length));
    if (reading === null) return; // another file was opened meanwhile, or none is wanted
    progress.stop();
    opened = { name: file.name, reading };
    offer();
  } catch (error) {
    progress.stop();
    card.hidden = true;
    failed(error);
  }
}

function stopReading() {
  cancel("file");
  progress.stop();
  tell("fileCancelled");
  input.focus();
}

/** Say a phrase of words.js of the file, in each language that is chosen. */
function tell(key) {
  state.dataset.words = key;
  state.textContent = say(key);
}

/** Offer the restored file, with the confidence that the slider asks for. */
function offer() {
  if (opened === null) return;
  const { name, reading } = opened, codes = restoredCodes(reading, minConfidence());
  URL.revokeObjectURL(save.href);
  save.href = URL.createObjectURL(new Blob([textOf(codes)], { type: "text/plain;charset=utf-8" }));
  save.download = name.replace(/(\.[^.]*)?$/, (ending) => `.${say("suffix")}${ending}`);
  save.textContent = say("save", { name: save.download });
  delete state.dataset.words;
  state.textContent = say("counts", counted(reading, codes));
  save.hidden = false;
}
