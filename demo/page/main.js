// Starts the page: its languages, its tabs, and what each of them shows.

import { startText } from "./text_tab.js";
import { startAttention } from "./attention_tab.js";
import { startFiles } from "./files.js";
import { startMistakes } from "./mistakes.js";
import { startPhones } from "./phones_tab.js";
import { speak } from "./words.js";

for (const button of document.querySelectorAll("[data-language]")) {
  button.addEventListener("click", () => speak(button.dataset.language));
}

const tabs = [...document.querySelectorAll('[role="tab"]')];
const steps = { ArrowLeft: -1, ArrowRight: 1 };

function open(tab) {
  for (const each of tabs) {
    each.setAttribute("aria-selected", each === tab);
    each.tabIndex = each === tab ? 0 : -1;
    document.getElementById(each.getAttribute("aria-controls")).hidden = each !== tab;
  }
  document.getElementById(tab.getAttribute("aria-controls")).dispatchEvent(new Event("shown"));
}

tabs.forEach((tab, index) => {
  tab.addEventListener("click", () => open(tab));
  tab.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const next = { Home: tabs[0], End: tabs.at(-1) }[event.key] ??
      tabs[(index + steps[event.key] + tabs.length) % tabs.length];
    if (!next) return;
    event.preventDefault();
    next.focus();
    open(next);
  });
});

startText();
startFiles();
startMistakes();
startAttention();
startPhones();
speak();
