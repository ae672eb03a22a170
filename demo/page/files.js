// A text file that is opened or dropped: it is restored as it is, line ends and all, and saved under a new name.

import { minConfidence } from "./text_tab.js";
import { textOf } from "./code_points.js";
import { ask, cancel } from "./models.js";
import { failed, problem, solved } from "./problems.js";
import { Progress } from "./progress.js";
import { counted, restoredCodes } from "./reading.js";
import { accentsAlone, onSwitch, switchedOn, variant } from "./switches.js";
import { onLanguage, say } from "./words.js";

const [input, drop, card, nameLine, state, save, slider] =
  ["file", "drop", "file-card", "file-name", "file-state", "save", "confidence"].map((id) =>
    document.getElementById(id));
const progress = new Progress(document.getElementById("file-progress"), stopReading);
let opened = null; // {name, text, reading} of the last file

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
  addEventListener("dragleave", (event) => { if (event.relatedTarget === null) drop.hidden = true; });
  addEventListener("drop", (event) => {
    drop.hidden = true;
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    document.getElementById("text-tab").click();
    open(event.dataTransfer.files[0]);
  });
  slider.addEventListener("change", offer);
  onSwitch(read);
  onLanguage(offer);
}

async function open(file) {
  let bytes, text;
  try {
    bytes = await file.arrayBuffer();
  } catch (error) {
    forget();
    return failed(error);
  }
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    forget();
    return problem(say("notText", { name: file.name }));
  }
  solved();
  const mark = text.startsWith("\ufeff") ? "\ufeff" : ""; // which to the model would begin the first sentence
  opened = { name: file.name, text: text.slice(mark.length), mark, reading: null };
  card.hidden = false;
  card.scrollIntoView({ block: "nearest" });
  nameLine.textContent = file.name;
  read();
}

/** Read the file that is open, if one is, and offer the restored one. */
async function read() {
  if (opened === null) return;
  const { text } = opened;
  opened.reading = null;
  save.hidden = true;
  tell("fileReading");
  progress.start();
  try {
    const reading = await ask("file", { text, restored: switchedOn(), variant: variant() }, (share) => {
      tell(share === null ? "loading" : "fileReading");
      if (share !== null) progress.show(share, text.length);
    });
    if (reading === null) return; // another file was opened meanwhile, or none is wanted, or a switch was turned
    progress.stop();
    opened.reading = reading;
    offer();
  } catch (error) {
    forget();
    failed(error);
  }
}

/** Offer nothing of an earlier file any more. */
function forget() {
  cancel("file");
  opened = null;
  progress.stop();
  card.hidden = true;
}

function stopReading() {
  forget();
  card.hidden = false;
  tell("fileCancelled");
  input.focus();
}

/** Say a phrase of words.js of the file, in each language that is chosen. */
function tell(key) {
  if (state.dataset.words === key) return; // it is said aloud
  state.dataset.words = key;
  state.textContent = say(key);
}

/** Offer the restored file, if it is read, with the confidence that the slider asks for. */
function offer() {
  if (!opened?.reading) return;
  const { name, mark, reading } = opened, codes = restoredCodes(reading, minConfidence());
  URL.revokeObjectURL(save.href);
  save.href = URL.createObjectURL(new Blob([mark, textOf(codes)], { type: "text/plain;charset=utf-8" }));
  save.download = name.replace(/(\.[^.]*)?$/, (ending) => `.${say(accentsAlone() ? "suffix" : "restoredSuffix")}${ending}`);
  save.textContent = say("save", { name: save.download });
  delete state.dataset.words;
  state.textContent = say("counts", counted(reading, codes));
  save.hidden = false;
}
