// Copy buttons, folded parts and the search, on all pages. Loaded with `defer`.
"use strict";

const isPortuguese = document.documentElement.lang.startsWith("pt");
const PROMPT = /^(>>> ?|\.\.\. ?|\$ )/;

// A button on each block of code. Where lines start with a prompt, only those are copied, without it.
function codeOf(pre) {
  const lines = pre.textContent.trimEnd().split("\n");
  if (!/^(>>>|\$ )/.test(lines[0])) return lines.join("\n");
  return lines.filter((line) => PROMPT.test(line)).map((line) => line.replace(PROMPT, "")).join("\n");
}

function addCopyButton(pre) {
  const label = isPortuguese ? "Copiar" : "Copy";
  const button = document.createElement("button");
  button.className = "copy";
  button.textContent = label;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(codeOf(pre));
    button.textContent = isPortuguese ? "Copiado" : "Copied";
    setTimeout(() => (button.textContent = label), 2000);
  });
  pre.parentElement.append(button);
}

if (navigator.clipboard) {
  document.querySelectorAll("article .highlight > pre").forEach((pre) => {
    if (!pre.closest(".cell_output")) addCopyButton(pre);
  });
}

// A picture opens by itself, where a phone can enlarge it.
document.querySelectorAll("article img").forEach((picture) => {
  if (picture.closest("a")) return;
  const link = document.createElement("a");
  link.href = picture.src;
  link.title = isPortuguese ? "Abrir a imagem" : "Open the picture";
  picture.replaceWith(link);
  link.append(picture);
});

// What is folded opens for a link that leads into it, and for printing.
function openAround(element) {
  for (let part = element?.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
}

function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target?.closest("details:not([open])")) return;
  openAround(target);
  target.scrollIntoView();
}

let openedToPrint = [];
addEventListener("hashchange", openTarget);
addEventListener("beforeprint", () => {
  openedToPrint = [...document.querySelectorAll("details:not([open])")];
  openedToPrint.forEach((part) => (part.open = true));
});
addEventListener("afterprint", () => openedToPrint.forEach((part) => (part.open = false)));
openTarget();

// The search puts pages in the other language last, and speaks Portuguese on its Portuguese page.
if (typeof Scorer !== "undefined") {
  const other = isPortuguese ? "en/" : "pt/";
  Scorer.score = ([page, , , , score]) => (page.startsWith(other) ? score - 1000 : score);
}

if (isPortuguese && typeof Documentation !== "undefined") {
  Documentation.addTranslations({
    locale: "pt_BR",
    plural_expr: "n != 1",
    messages: {
      ", in ": ", em ",
      "Preparing search...": "Preparando a busca…",
      "Search Results": "Resultados da busca",
      "Search finished, found one page matching the search query.": [
        "Uma página encontrada.",
        "${resultCount} páginas encontradas.",
      ],
      Searching: "Buscando",
      "Your search did not match any documents. Please make sure that all words are spelled correctly and that you've selected enough categories.":
        "Nenhuma página encontrada. Confira a grafia das palavras.",
    },
  });
}
