// Sentences of a test that the model gets wrong, beside the box; demo/mistakes.py computes them when the page is built.

import { putText } from "./text_tab.js";
import { failed } from "./problems.js";
import { onLanguage, say } from "./words.js";

const [score, groups, list] = ["score", "score-groups", "mistakes"].map((id) => document.getElementById(id));

export async function startMistakes() {
  try {
    const answer = await fetch(new URL("mistakes.json", import.meta.url));
    if (!answer.ok) throw new Error(`mistakes.json: ${answer.status} ${answer.statusText}`);
    const found = await answer.json();
    show(found);
    onLanguage(() => show(found));
  } catch (error) {
    failed(error);
  }
}

function show({ groups: tested, sentences }) {
  const sum = (key) => tested.reduce((total, group) => total + group[key], 0);
  score.textContent = say("score", { all: sum("all"), right: sum("right") });
  groups.replaceChildren(...tested.map(({ name, all, right }) =>
    make("li", {}, `${say("group", { name })} `, make("b", {}, say("share", { all, right })))));
  list.replaceChildren(...sentences.map((sentence) => {
    const answered = sentence.answered.split(" "), right = sentence.right.split(" ");
    const line = (key, words, tag) => make("span", { className: `line ${key}` },
      make("span", { className: "says" }, `${say(key)} `),
      make("span", { lang: "pt" }, ...words.flatMap((word, index) =>
        [answered[index] === right[index] ? word : make(tag, {}, word), " "])));
    const button = make("button", { type: "button" },
      make("span", { className: "group" }, `${say("group", sentence)} `),
      line("answered", answered, "del"), line("right", right, "ins"));
    button.addEventListener("click", () => putText(sentence.given));
    return make("li", {}, button);
  }));
}

function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}
