// What the page says, in Portuguese and English.

const WORDS = {
  en: {
    tagline: "Accents, capitals and punctuation of Portuguese, restored character by character",
    language: "Language",
    tabs: "Models",
    textTab: "Text",
    attentionTab: "Attention",
    given: "Your text",
    restored: "Restored",
    openFile: "Open a file",
    copy: "Copy",
    copied: "Copied",
    switches: "What is restored",
    accents: "Accents",
    capitals: "Capitals",
    punctuation: "Punctuation",
    spelling: "Spelling",
    either: "either",
    confidence: "Make a change only if at least this sure",
    legend: "the stronger, the less sure",
    hint: "Point at a shaded character, tap it, or go there with Tab and ← →. ↑ ↓ and Enter choose an alternative.",
    textProgress: "Progress of the text",
    fileProgress: "Progress of the file",
    readSoFar: ({ percent, done, characters }) => `${percent} · ${format(done)} of ${plural(characters, "character", "characters")}`,
    cancel: "Cancel",
    cancelText: "Cancel the reading of the text",
    cancelFile: "Cancel the reading of the file",
    textCancelled: "Cancelled. The text is read again as soon as you change it.",
    fileCancelled: "was cancelled",
    mistakes: "Where it goes wrong",
    mistakesHint: "A click on a sentence puts it into the box.",
    score: ({ all, right }) => `Accents: ${format(right)} of the ${format(all)} sentences of the test come out right (by group)`,
    share: ({ all, right }) => `${format(right)} of ${format(all)}`,
    group: ({ name, group = name }) => group,
    answered: "Model",
    right: "Right",
    alternatives: "Alternatives",
    alternative: ({ phrase, percent }) => `${phrase}, ${percent} sure`,
    inWord: ({ character, word }) => `${character} in ${word}`,
    afterWord: ({ sign, word }) => `${sign} after ${word}`,
    sign: ({ sign }) => SIGNS.en[sign] ?? sign,
    counts: ({ characters, changed, doubtful, marked, time }) =>
      `${plural(characters, "character", "characters")} · ${plural(changed, "change", "changes")} · ${format(doubtful)} doubtful${marked ? `, the first ${format(marked)} of them shaded` : ""}${time ? ` · ${time} per character` : ""}`,
    loading: "Loading the model…",
    attentionLead: "An encoder-decoder reads the line above and writes the one below, a character at a time. The curves show where it looked.",
    line: "A line without accents",
    head: "Attention of",
    allHeads: ({ heads }) => `all ${heads} heads, mean`,
    oneHead: ({ head }) => `head ${head}`,
    lines: "Characters written; ← and → choose one",
    pick: "Tap or point at a character, or use ← and →, to see where the model looked.",
    read: ({ character, sources }) => `To write ${character}, it looked at ${sources}`,
    end: "the end",
    space: "a space",
    cutOff: "The output was cut off.",
    lineTime: ({ time, characters }) => `${time ? `${time} per character written · ` : ""}${plural(characters, "character", "characters")}`,
    fileReading: "is being read",
    save: ({ name }) => `Save ${name}`,
    suffix: "accents",
    restoredSuffix: "restored",
    notText: ({ name }) => `${name} is not UTF-8 text. Save it as UTF-8 and open it again.`,
    drop: "Drop the text file here",
    failed: ({ reason }) => `This did not work: ${reason}`,
    notLoaded: ({ reason }) => `The model could not be loaded (${reason}). Check the network, then type something or reload the page.`,
    phonesTab: "Phones",
    phonesLead: "How each word is said, in the International Phonetic Alphabet. Words are read one by one, and digits stay as they are.",
    variant: "Accent",
    brazil: "Brazil",
    portugal: "Portugal",
    twoReadings: "two readings: the model does not read the sentence; choose the right one",
    phonesHint: "Point at a marked word, tap it, or go there with Tab and ← →. ↑ ↓ and Enter choose another reading.",
    reading: ({ phones, word, percent }) => `${phones} for ${word}, ${percent} sure`,
    phonesCounts: ({ words, doubtful, two, unread, time, cut }) =>
      `${plural(words, "word", "words")} · ${format(doubtful)} doubtful · ${format(two)} with two readings${unread ? ` · ${format(unread)} not read` : ""}${time ? ` · ${time}` : ""}${cut ? ` · only the first ${format(cut)} characters fit` : ""}`,
    phonesExample: "Não é fácil: eu gosto de café com uma colher de açúcar, mas amanhã vou à praia. Disse-me que tem sede!",
    footer: "Everything runs in your browser: what you type and open is not sent anywhere. Each tab and each switch, once used, works without a network.",
    example: "Ele esta aqui ha tres meses e nao sabe se a avo vem amanha. La fora ja e noite: o cafe esfria, ninguem responde, e a licao de historia fica para depois.",
    spokenExample: "voce vem amanha nao sei se o joao vai poder ir mas eu vou",
    lineExample: "A acao comecou amanha, nao e facil",
  },
  pt: {
    tagline: "Acentos, maiúsculas e pontuação do português, restaurados letra por letra",
    language: "Idioma",
    tabs: "Modelos",
    textTab: "Texto",
    attentionTab: "Atenção",
    given: "Seu texto",
    restored: "Restaurado",
    openFile: "Abrir um arquivo",
    copy: "Copiar",
    copied: "Copiado",
    switches: "O que se restaura",
    accents: "Acentos",
    capitals: "Maiúsculas",
    punctuation: "Pontuação",
    spelling: "Grafia",
    either: "as duas",
    confidence: "Certeza mínima para uma mudança",
    legend: "quanto mais forte, menos certeza",
    hint: "Aponte para um caractere sombreado, toque nele ou vá até ele com Tab e ← →. ↑ ↓ e Enter escolhem uma alternativa.",
    textProgress: "Andamento do texto",
    fileProgress: "Andamento do arquivo",
    readSoFar: ({ percent, done, characters }) => `${percent} · ${format(done)} de ${plural(characters, "caractere", "caracteres")}`,
    cancel: "Cancelar",
    cancelText: "Cancelar a leitura do texto",
    cancelFile: "Cancelar a leitura do arquivo",
    textCancelled: "Cancelado. O texto será lido de novo assim que você o mudar.",
    fileCancelled: "leitura cancelada",
    mistakes: "Onde o modelo erra",
    mistakesHint: "Clique numa frase para levá-la à caixa.",
    score: ({ all, right }) => `Acentos: das ${format(all)} frases do teste, ${format(right)} saem certas (por grupo)`,
    share: ({ all, right }) => `${format(right)} de ${format(all)}`,
    group: ({ name, group = name }) => GROUPS_PT[group] ?? group,
    answered: "Modelo",
    right: "Certo",
    alternatives: "Alternativas",
    alternative: ({ phrase, percent }) => `${phrase}, certeza de ${percent}`,
    inWord: ({ character, word }) => `${character} em ${word}`,
    afterWord: ({ sign, word }) => `${sign} depois de ${word}`,
    sign: ({ sign }) => SIGNS.pt[sign] ?? sign,
    counts: ({ characters, changed, doubtful, marked, time }) =>
      `${plural(characters, "caractere", "caracteres")} · ${plural(changed, "mudança", "mudanças")} · ${plural(doubtful, "duvidoso", "duvidosos")}${marked ? `, os primeiros ${format(marked)} sombreados` : ""}${time ? ` · ${time} por caractere` : ""}`,
    loading: "Carregando o modelo…",
    attentionLead: "Um encoder-decoder lê a linha de cima e escreve a de baixo, um caractere de cada vez. As curvas mostram para onde ele olhou.",
    line: "Uma linha sem acentos",
    head: "Atenção:",
    allHeads: ({ heads }) => `todas as ${heads} cabeças, média`,
    oneHead: ({ head }) => `cabeça ${head}`,
    lines: "Caracteres escritos; ← e → escolhem um",
    pick: "Toque num caractere, aponte para ele ou use ← e → para ver para onde o modelo olhou.",
    read: ({ character, sources }) => `Para escrever ${character}, olhou para ${sources}`,
    end: "o fim",
    space: "um espaço",
    cutOff: "A saída foi cortada.",
    lineTime: ({ time, characters }) => `${time ? `${time} por caractere escrito · ` : ""}${plural(characters, "caractere", "caracteres")}`,
    fileReading: "está sendo lido",
    save: ({ name }) => `Salvar ${name}`,
    suffix: "acentos",
    restoredSuffix: "restaurado",
    notText: ({ name }) => `${name} não é texto em UTF-8. Salve-o em UTF-8 e abra-o de novo.`,
    drop: "Solte aqui o arquivo de texto",
    failed: ({ reason }) => `Não deu certo: ${reason}`,
    notLoaded: ({ reason }) => `O modelo não pôde ser carregado (${reason}). Verifique a rede e digite algo ou recarregue a página.`,
    phonesTab: "Fones",
    phonesLead: "Como se diz cada palavra, no Alfabeto Fonético Internacional. As palavras são lidas uma a uma, e os algarismos ficam como estão.",
    variant: "Sotaque",
    brazil: "Brasil",
    portugal: "Portugal",
    twoReadings: "duas leituras: o modelo não lê a frase; escolha a certa",
    phonesHint: "Aponte para uma palavra marcada, toque nela ou vá até ela com Tab e ← →. ↑ ↓ e Enter escolhem outra leitura.",
    reading: ({ phones, word, percent }) => `${phones} para ${word}, certeza de ${percent}`,
    phonesCounts: ({ words, doubtful, two, unread, time, cut }) =>
      `${plural(words, "palavra", "palavras")} · ${plural(doubtful, "duvidosa", "duvidosas")} · ${format(two)} com duas leituras${unread ? ` · ${format(unread)} sem leitura` : ""}${time ? ` · ${time}` : ""}${cut ? ` · só cabem os primeiros ${format(cut)} caracteres` : ""}`,
    phonesExample: "Não é fácil: eu gosto de café com uma colher de açúcar, mas amanhã vou à praia. Disse-me que tem sede!",
    footer: "Tudo roda no seu navegador: o que você digita e abre não é enviado a lugar nenhum. Cada aba e cada opção, depois de usada, funciona sem rede.",
    example: "Ele esta aqui ha tres meses e nao sabe se a avo vem amanha. La fora ja e noite: o cafe esfria, ninguem responde, e a licao de historia fica para depois.",
    spokenExample: "voce vem amanha nao sei se o joao vai poder ir mas eu vou",
    lineExample: "A acao comecou amanha, nao e facil",
  },
};

// What signs are called, and where there is none.
const SIGNS = {
  en: {
    "": "no sign", ",": "comma", ".": "full stop", "?": "question mark", "!": "exclamation mark", ":": "colon",
    ";": "semicolon",
  },
  pt: {
    "": "nenhum sinal", ",": "vírgula", ".": "ponto", "?": "ponto de interrogação", "!": "ponto de exclamação",
    ":": "dois-pontos", ";": "ponto e vírgula",
  },
};

// Groups of test sentences whose names are English.
const GROUPS_PT = { "verb/noun": "verbo/substantivo", "other pairs": "outros pares", speech: "fala coloquial" };

let language = navigator.languages.some((each) => /^(pt|en)\b/.test(each))
  ? navigator.languages.find((each) => /^(pt|en)\b/.test(each)).slice(0, 2)
  : "en";
const listeners = [];

/** Return a phrase in the language of the page. */
export function say(key, values) {
  const phrase = WORDS[language][key];
  return typeof phrase === "function" ? phrase(values) : phrase;
}

/** Return a number as it is written in the language of the page. */
export function format(number, options) {
  return new Intl.NumberFormat(language, options).format(number);
}

/** Return a probability as a percentage, rounded down: 100 % only if it is. */
export function percent(probability) {
  return format(probability, {
    style: "percent", maximumFractionDigits: probability < 0.1 ? 1 : 0, roundingMode: "floor",
  });
}

/** Return texts as one list: "a, b and c". */
export function list(texts) {
  return new Intl.ListFormat(language).format(texts);
}

/** Return a time in milliseconds, in units in which it has few digits. */
export function duration(milliseconds) {
  return milliseconds < 1
    ? `${format(milliseconds * 1000, { maximumSignificantDigits: 2 })} µs`
    : `${format(milliseconds, { maximumSignificantDigits: 2 })} ms`;
}

function plural(count, one, many) {
  return `${format(count)} ${count === 1 ? one : many}`;
}

/** Call a function when the language changes. */
export function onLanguage(listener) {
  listeners.push(listener);
}

/** Speak a language from now on: "pt" or "en". Elements say what their `data-words` and `data-label` name. */
export function speak(chosen = language) {
  language = chosen;
  document.documentElement.lang = language === "pt" ? "pt-BR" : "en";
  for (const element of document.querySelectorAll("[data-words]")) element.textContent = say(element.dataset.words);
  for (const element of document.querySelectorAll("[data-label]")) {
    element.setAttribute("aria-label", say(element.dataset.label));
  }
  for (const button of document.querySelectorAll("[data-language]")) {
    button.setAttribute("aria-pressed", button.dataset.language === language);
  }
  listeners.forEach((listener) => listener());
}
