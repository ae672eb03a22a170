// Places of a text: what restoration leaves alone, what variants of Portuguese mark differently, and windows.
// The same as restoration/spans.py, in JavaScript's regular expressions: `\w`, `\s` and `\b` of Python are Unicode's.

const OVERLAP = 64; // characters
export const WORD = String.raw`[\p{L}\p{N}_]`;
export const SPACE = String.raw`\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000`;
export const W = String.raw`\p{L}\p{N}_`; // inside brackets
const REST = `[^${SPACE}<>"”»]`; // of a URL
const TOP =
  "org|net|gov|edu|br|pt|io|dev|html?|css|py|ipynb|js|jsonl?|sh|sql|txt|csv|tsv|md|tex|bib|xml|ya?ml|toml|ini|" +
  "zip|rar|7z|gz|pdf|docx?|odt|ods|rtf|xlsx?|pptx?|epub|png|jpe?g|gif|svg|mp[34]|wav|ogg|avi|mkv|srt|vtt|log|exe|dll|" +
  "bat|java|php|cpp";
const SHORT = "me|ly|gl|gg|be|co|cc|tv|ai|app|info|link|site"; // of domains before a path: wa.me/acao
const ENTITIES =
  "[a-zA-Z]{1,2}(?:acute|grave|circ|tilde|uml|cedil|ring|slash|lig)|amp|lt|gt|quot|apos|nbsp|shy|[lrb]?[sd]quo|" +
  "[lr]aquo|[nm]dash|hellip|ord[fm]|deg|sect|copy|reg|euro|middot|bull";
export const BORDER = `(?:(?<=${WORD})(?!${WORD})|(?<!${WORD})(?=${WORD}))`;
// A group in a look-ahead gives nothing back: it stands for Python's possessive `*+`.
const DOTS_AND_DASHES = String.raw`(?=(?<dots>[.\-]*))\k<dots>`;
const PROTECTED = new RegExp(
  [
    "```[^`]*(?:`(?!``)[^`]*)*```", // a block of code
    `\`[^\`${SPACE}](?:[^\`\\n]*[^\`${SPACE}])?\``, // `codigo`
    `(?<![a-zA-Z0-9+.\\-])[a-zA-Z0-9+.\\-]+://${REST}+`, // https://example.com/acao
    `(?<!${WORD})www\\.${REST}+`,
    `(?<![${W}.+\\-])[${W}.+\\-]+@[${W}\\-]+(?:\\.[${W}\\-]+)+`, // joao@example.com
    `(?<![${W}@])@${WORD}+(?:\\.[a-z0-9_]+)*`, // @joao
    `(?<![${W}&#])#${WORD}+`, // #promocao
    `&(?:${ENTITIES}|#[0-9]+|#[xX][0-9a-fA-F]+);`, // endere&ccedil;o
    `(?<![${W}.,])[0-9]+(?:[.,][0-9]+)?[eE][+\\-]?[0-9]+(?!${WORD})`, // 2.5e-3
    `(?<![${W}./\\-])(?:[${W}\\-]+(?:\\.[${W}\\-]+)*?\\.(?:com|${TOP}|${SHORT})(?:\\.[a-z]{2})?|localhost|` +
      `[0-9]+(?:\\.[0-9]+){3})(?::[0-9]+)?/(?=${WORD})${REST}*`, // wa.me/acao, localhost:8000/acao
    `\\{\\{?[${SPACE}]?[${W}.]+(?::[^{}${SPACE}]*)?[${SPACE}]?\\}\\}?|%\\(${WORD}+\\)[a-z]?`, // Ola {usuario}, %(nao)s
    `(?<![^${SPACE}"'“(\\[=>])(?:~|\\.\\.?|(?=/[${W}.\\-]+/))/[${W}.\\-]+(?:/[${W}.\\-]*)*`, // ~/acao, /home/acao
    `(?<![${W}./\\-])[${W}.\\-]+(?:/[${W}.\\-]+)+/(?!${WORD})`, // docs/instrucao/
    `(?<![${W}\\\\.])(?:[a-zA-Z]:[\\\\/](?!/)|\\\\\\\\(?=[${W}.\\-]+\\\\)|\\.{1,2}\\\\|%${WORD}+%\\\\)` +
      `[^${SPACE}<>"”»:*?|]*`, // C:\Users\joao, C:/Users/joao, \\servidor\publico, ..\acao, %APPDATA%\acao
    `(?<![${W}./\\-])${DOTS_AND_DASHES}[${W}/\\-]+(?:\\.[${W}/\\-]+)*?` + // uol.com.br/acao, docs/acao.md
      `\\.(?:com(?![${SPACE}]+[a-zà-ÿ])|COM|${TOP}|${TOP.toUpperCase()})` +
      `(?:\\.[a-zA-Z]{2})?${BORDER}(?:/${REST}*)?`,
  ].join("|"),
  "gu",
);

const NASAL = "[eo](?=[mn][aeiouyáéíóúâêôãõàü])";
// What both mark alike: estômago, fêmea, sêmea, sêmola, dêmos; Pokémon, Gómez, Jiménez, démodé, démarche, agrément.
const ALIKE =
  `(?!(?<=${BORDER}est)oma|(?<=${BORDER}[fs])eme[ao]|(?<=${BORDER}s)emol|(?<=${BORDER}d)emos${BORDER})`;
const FOREIGN =
  `(?!(?<=${BORDER}pok)emon|(?<=${BORDER}g)omez${BORDER}|(?<=${BORDER}jim)enez${BORDER}|(?<=${BORDER}d)emod|` +
  `(?<=${BORDER}d)emarch|(?<=${BORDER}agr)ement)`;
const FINAL = `(?<=${BORDER}(?:beb|bid|nen|pat|pur|glac|sufl|canap|carat|clich|croch|guich|matin))e(?=s?${BORDER})`;
/** For each variant of Portuguese, its places, and for each mark that others have there, its own. */
export const VARIANTS = {
  br: {
    places: new RegExp(`${FOREIGN}${NASAL}|${FINAL}|a(?=mos${BORDER})`, "giu"),
    marks: { é: "ê", ó: "ô", á: "a", É: "Ê", Ó: "Ô", Á: "A" },
  },
  pt: { places: new RegExp(`${ALIKE}${NASAL}|${FINAL}`, "giu"), marks: { ê: "é", ô: "ó", Ê: "É", Ô: "Ó" } },
};

/** Return [start, end] of each match in a text, in characters. */
export function matchSpans(pattern, text) {
  const spans = [];
  let characters = 0, units = 0; // of the text up to the same place
  const place = (unit) => {
    characters += [...text.slice(units, unit)].length;
    units = unit;
    return characters;
  };
  for (const match of text.matchAll(pattern)) {
    const start = place(match.index);
    spans.push([start, place(match.index + match[0].length)]);
  }
  return spans;
}

/** Return [start, end] of each URL, e-mail address, @name, #tag, domain name and piece of code, in characters. */
export const protectedSpans = (text) => matchSpans(PROTECTED, text);

const PART = 1 << 15; // code units

/** Yield the parts of a text, each of which ends where a word ends. */
export function* wordParts(text) {
  for (let start = 0; start < text.length; ) {
    const space = text.slice(start + PART).search(/\s/);
    const end = space < 0 ? text.length : start + PART + space;
    yield text.slice(start, end);
    start = end;
  }
}

/**
 * Cut a text into windows that overlap, so that each character is decided once, with context on both sides.
 *
 * `start` and `end` are the characters that the model reads; those from `first` up to `last` it decides.
 */
export function cutWindows(length, size) {
  const overlap = Math.min(OVERLAP, Math.floor(size / 2));
  const starts = [];
  for (let start = 0; start < length - size; start += size - overlap) starts.push(start);
  starts.push(Math.max(0, length - size));
  const ends = starts.map((start) => Math.min(start + size, length));
  const borders = [0, ...starts.slice(1).map((start, index) => Math.floor((start + ends[index] + 1) / 2)), length];
  return starts.map((start, index) => ({ start, end: ends[index], first: borders[index], last: borders[index + 1] }));
}
