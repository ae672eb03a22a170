"""Words and numbers of model cards in English and in Portuguese."""

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Literal, get_args

from ..engines.feedback import as_line

CardLanguage = Literal["en", "pt"]
LANGUAGES: tuple[CardLanguage, ...] = get_args(CardLanguage)

# What recipes call their figures, systems, tests and errors. What is not here, such as a domain, is shown as it is.
_PORTUGUESE = {
    "accuracy": "acurácia",
    "bits per character": "bits por caractere",
    "bits per masked character": "bits por caractere mascarado",
    "bleu": "BLEU",
    "capital f1": "F1 das maiúsculas",
    "character error rate": "taxa de erro por caractere",
    "character perplexity": "perplexidade por caractere",
    "choice error rate": "taxa de erro nas escolhas",
    "chrf": "chrF",
    "colon f1": "F1 dos dois-pontos",
    "comma f1": "F1 da vírgula",
    "copied": "saídas iguais à fonte",
    "entity f1": "F1 das entidades",
    "exact match": "acertos exatos",
    "exclamation f1": "F1 da exclamação",
    "f1": "F1",
    "invented": "saídas com palavras inventadas",
    "length ratio": "razão dos comprimentos",
    "letters kept": "letras mantidas",
    "macro f1": "F1 macro",
    "masked accuracy": "acurácia nos mascarados",
    "next sentence accuracy": "acurácia na frase seguinte",
    "period f1": "F1 do ponto",
    "phone error rate": "taxa de erro por fone",
    "precision": "precisão",
    "question f1": "F1 da interrogação",
    "recall": "cobertura",
    "rouge l": "ROUGE-L",
    "sari": "SARI",
    "semicolon f1": "F1 do ponto e vírgula",
    "tag accuracy": "acurácia das etiquetas",
    "word accuracy": "acurácia por palavra",
    "word error rate": "taxa de erro por palavra",
    "word frequency": "frequência das palavras",
    "word perplexity": "perplexidade por palavra",
    "length": "comprimento",
    "chance": "ao acaso",
    "edit distance": "distância de edição",
    "left as it is": "texto sem mudança",
    "first characters": "primeiros caracteres",
    "letters in context": "cada letra em seu contexto",
    "model": "modelo",
    "model, letters kept": "modelo, letras mantidas",
    "most frequent": "mais frequente",
    "most frequent after the word before": "mais frequente após a palavra anterior",
    "most frequent in training": "mais frequente no treino",
    "most frequent label": "rótulo mais frequente",
    "most frequent marks": "sinais mais frequentes",
    "most frequent spelling": "grafia mais frequente",
    "most frequent tag of each word": "etiqueta mais frequente de cada palavra",
    "n-grams (TF-IDF)": "n-gramas (TF-IDF)",
    "n-grams of characters": "n-gramas de caracteres",
    "random span": "trecho ao acaso",
    "most similar in training": "par de treino mais parecido",
    "most similar sentence": "frase mais parecida",
    "6-gram characters": "sequências de seis caracteres",
    "unigram characters": "frequência dos caracteres",
    "unigram words": "frequência das palavras",
    "uniform characters": "caracteres equiprováveis",
    "uniform words": "palavras equiprováveis",
    "without asides": "sem apartes",
    "documents": "documentos",
    "encyclopaedia": "enciclopédia",
    "essays": "redações",
    "everyday": "dia a dia",
    "paragraphs": "parágrafos",
    "plays": "peças de teatro",
    "sentences": "frases",
    "test": "teste",
    "train": "treino",
    "validation": "validação",
    "conversation": "conversa",
    "developer documents": "documentos de desenvolvimento",
    "education": "educação",
    "fiction of a game": "ficção de um jogo",
    "law": "leis",
    "literature": "literatura",
    "news": "notícias",
    "technical manual": "manual técnico",
    "user help": "ajuda ao usuário",
    "always spelt otherwise in training": "sempre escritas de outro modo no treino",
    "right in another sentence: training has both spellings": "certas em outra frase: o treino tem as duas grafias",
    "unknown to training": "desconhecidas no treino",
    "unknown to training and with a capital: mostly names": "desconhecidas no treino e com maiúscula: quase só nomes",
    "with an acute for a circumflex or the reverse, as in Brazil and Portugal": "com agudo por circunflexo ou o "
    "inverso, como no Brasil e em Portugal",
    "learned": "aprendidas",
    "rotary": "rotatórias",
    "sinusoidal": "senoidais",
}


def translate(text: str, language: CardLanguage) -> str:
    """Return what a recipe calls something in the language of a card; underscores become spaces."""
    words = text.replace("_", " ")
    return words if language == "en" else " + ".join(_PORTUGUESE.get(part, part) for part in words.split(" + "))


def in_language(text: str | Mapping[str, str] | None, language: CardLanguage) -> str | None:
    """Return a text in the language of a card, or in English if it has none in that language."""
    return text.get(language, text.get("en")) if isinstance(text, Mapping) else text


def less_is_better(score: str) -> bool:
    """Return whether a score counts what is wrong or not known, by its name, such as `character_error_rate`."""
    return any(each in score for each in ("error_rate", "bits_per", "perplexity", "loss", "invented", "copied"))


def format_number(value: float, language: CardLanguage, decimals: int = 4) -> str:
    """Return a number with the separators of the language; an integer has no decimals, nor has 1,000 or more."""
    whole = isinstance(value, int) or abs(value) >= 1000
    written = f"{value:,.0f}" if whole else f"{value:.{decimals}f}"
    return with_separators(written, language)


def with_separators(number: str, language: str) -> str:
    """Return a number that is written as in English with the separators of a language: 1,234.5 is 1.234,5 in `pt`."""
    return number.translate(str.maketrans(",.", ".,")) if language == "pt" else number


def format_measure(value: float, language: CardLanguage) -> str:
    """Return a measured quantity with three significant digits."""
    decimals = max(0, 2 - math.floor(math.log10(value))) if value > 0 else 0
    return format_number(round(value) if decimals == 0 else value, language, decimals)


def format_share(share: float, language: CardLanguage) -> str:
    """Return a share in per cent; one that is not quite all or nothing is never shown as 100 or 0."""
    shown = min(max(100.0 * share, 0.01), 99.99) if 0 < share < 1 else 100.0 * share
    sign = "> " if shown < 100.0 * share else "< " if shown > 100.0 * share else ""
    return f"{sign}{format_number(shown, language, 2)} %"


def describe_machine(machine: str, language: CardLanguage) -> str:
    """Return the machine of a run, such as `x86_64, 2 cores, no GPU`, in the language of a card."""
    if language == "pt":
        return machine.replace(" cores", " núcleos").replace(" core,", " núcleo,").replace("no GPU", "sem GPU")
    return machine


def markdown_table(rows: Sequence[Sequence[str]], alignment: str) -> str:
    """Return rows of texts, the heads first, as a table in Markdown; `alignment` has `l` or `r` for each column."""
    heads, *others = rows
    ruler = ["---" if each == "l" else "---:" for each in alignment]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, ruler, *others))


_NAMES_SHOWN = 8
_JOINERS = "\u200c\u200d"  # within emoji, and in the scripts of some languages


def in_one_line(text: str) -> str:
    """Return a text without line ends, with escapes for control characters."""
    return as_line(text, _JOINERS)


def name_some(names: Collection[str]) -> str:
    """Return the first names of several in a line, and the number of the others."""
    further = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return f"{in_one_line(', '.join(islice(names, _NAMES_SHOWN)))}{further}"
