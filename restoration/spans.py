"""Places of a text: what restoration leaves alone, what variants of Portuguese mark differently, and windows."""

import re
from collections.abc import Iterator
from typing import NamedTuple

OVERLAP = 64  # characters
# What is written for machines, where a mark would be an error. Each alternative begins where a run of its characters
# begins, so that a long run is read once; what it takes in before the address itself has no choice anyway.
_REST = r"[^\s<>\"”»]"  # of a URL
# Endings without which a name with full stops is neither a domain nor a file.
_TOP = (
    "org|net|gov|edu|br|pt|io|dev|html?|css|py|ipynb|js|jsonl?|sh|sql|txt|csv|tsv|md|tex|bib|xml|ya?ml|toml|ini|"
    "zip|rar|7z|gz|pdf|docx?|odt|ods|rtf|xlsx?|pptx?|epub|png|jpe?g|gif|svg|mp[34]|wav|ogg|avi|mkv|srt|vtt|log|exe|dll|"
    "bat|java|php|cpp"
)
_SHORT = "me|ly|gl|gg|be|co|cc|tv|ai|app|info|link|site"  # of domains before a path: wa.me/acao
_ENTITIES = (
    "[a-zA-Z]{1,2}(?:acute|grave|circ|tilde|uml|cedil|ring|slash|lig)|amp|lt|gt|quot|apos|nbsp|shy|[lrb]?[sd]quo|"
    "[lr]aquo|[nm]dash|hellip|ord[fm]|deg|sect|copy|reg|euro|middot|bull"
)
PROTECTED = re.compile(
    r"```[^`]*(?:`(?!``)[^`]*)*```"  # a block of code
    r"|`[^`\s](?:[^`\n]*[^`\s])?`"  # `codigo`
    rf"|(?<![a-zA-Z0-9+.-])[a-zA-Z0-9+.-]++://{_REST}+"  # https://example.com/acao
    rf"|(?<!\w)www\.{_REST}+"
    r"|(?<![\w.+-])[\w.+-]++@[\w-]+(?:\.[\w-]+)+"  # joao@example.com
    r"|(?<![\w@])@\w+(?:\.[a-z0-9_]+)*"  # @joao
    r"|(?<![\w&#])#\w+"  # #promocao
    rf"|&(?:{_ENTITIES}|#[0-9]+|#[xX][0-9a-fA-F]+);"  # endere&ccedil;o
    r"|(?<![\w.,])[0-9]+(?:[.,][0-9]+)?[eE][+-]?[0-9]+(?!\w)"  # 2.5e-3
    rf"|(?<![\w./-])(?:[\w-]+(?:\.[\w-]+)*?\.(?:com|{_TOP}|{_SHORT})(?:\.[a-z]{{2}})?|localhost|[0-9]+(?:\.[0-9]+){{3}})"
    rf"(?::[0-9]+)?/(?=\w){_REST}*"  # wa.me/acao, localhost:8000/acao
    r"|\{\{?\s?[\w.]+(?::[^{}\s]*)?\s?\}\}?|%\(\w+\)[a-z]?"  # Ola {usuario}, %(nao)s
    r"|(?<![^\s\"'“(\[=>])(?:~|\.\.?|(?=/[\w.-]+/))/[\w.-]+(?:/[\w.-]*)*"  # ~/instrucao, /home/instrucao
    r"|(?<![\w./-])[\w.-]+(?:/[\w.-]+)+/(?!\w)"  # docs/instrucao/
    # uol.com.br/acao, docs/acao.md, but not the end of a sentence without a space: `e facil.com isso`
    # C:\Users\joao, C:/Users/joao, \\servidor\publico, ..\acao, %APPDATA%\acao
    r"|(?<![\w\\.])(?:[a-zA-Z]:[\\/](?!/)|\\\\(?=[\w.-]+\\)|\.{1,2}\\|%\w+%\\)[^\s<>\"”»:*?|]*"
    rf"|(?<![\w./-])[.-]*+[\w/-]++(?:\.[\w/-]++)*?\.(?:com(?!\s+[a-zà-ÿ])|COM|{_TOP}|{_TOP.upper()})"
    rf"(?:\.[a-zA-Z]{{2}})?\b(?:/{_REST}*)?"
)
# What every such span has in it. Most texts have none of it, and this is found out thirty times as fast.
_HINT = re.compile(
    rf"[`@#&{{~\\]|%\(|[a-zA-Z]:/|\./|/[\w.-]*/|[a-z0-9]:[0-9]+/|\.[a-z0-9]+/|localhost/|[0-9][eE][0-9+-]|www\."
    rf"|\.(?:com|COM|{_TOP}|{_TOP.upper()})"
)


class Variant(NamedTuple):
    """A variant of Portuguese: where it has marks of its own, and which one it has there for that of the others.

    Attributes:
        places: finds the letters without marks.
        marks: for each marked letter that others have there, that of this variant.
    """

    places: re.Pattern[str]
    marks: dict[str, str]


_NASAL = r"[eo](?=[mn][aeiouyáéíóúâêôãõàü])"
# What both mark alike: estômago, fêmea, sêmea, sêmola and dêmos as Brazil does, Pokémon and others as Portugal.
_ALIKE = r"(?!(?<=\best)oma|(?<=\b[fs])eme[ao]|(?<=\bs)emol|(?<=\bd)emos\b)"
_FOREIGN = r"(?!(?<=\bpok)emon|(?<=\bg)omez\b|(?<=\bjim)enez\b|(?<=\bd)emod|(?<=\bd)emarch|(?<=\bagr)ement)"
# Of 58,417 words that dictionaries of both countries have, 691 have no spelling in common, all but 20 by this rule.
# *Bebê*, in `_FINAL`, and *falámos* are not among them, since one of the dictionaries has both spellings.
_FINAL = (
    r"(?:(?<=\b(?:beb|bid|nen|pat|pur))|(?<=\b(?:glac|sufl))|(?<=\b(?:canap|carat|clich|croch|guich|matin)))e(?=s?\b)"
)
VARIANTS = {
    "br": Variant(
        re.compile(rf"{_FOREIGN}{_NASAL}|{_FINAL}|a(?=mos\b)", re.IGNORECASE),  # acadêmico; falamos, also in the past
        {"é": "ê", "ó": "ô", "á": "a", "É": "Ê", "Ó": "Ô", "Á": "A"},
    ),
    "pt": Variant(re.compile(rf"{_ALIKE}{_NASAL}|{_FINAL}", re.IGNORECASE), {"ê": "é", "ô": "ó", "Ê": "É", "Ô": "Ó"}),
}


def protected_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each URL, address, @name, #tag, &entity;, domain, path, {placeholder} and `code`."""
    if _HINT.search(text):
        for match in PROTECTED.finditer(text):
            yield match.span()


class Window(NamedTuple):
    """A window of a text, and the part of it that it decides; positions are characters of the text, ends excluded.

    Attributes:
        start, end: the characters that the model reads.
        first, last: the characters whose predictions are taken from this window: those from `first` up to `last`.
    """

    start: int
    end: int
    first: int
    last: int


def cut_windows(length: int, size: int) -> list[Window]:
    """Cut a text into windows that overlap, so that each character is decided once and with context on both sides.

    Two consecutive windows share 64 characters, or half of a short window, and the first hands over to the second in
    the middle of them. The last window ends with the text and is as long as the others, so it may overlap more.

    Args:
        length: number of characters of the text.
        size: number of characters of a window; a text that is not longer is one window.

    Returns:
        The windows in order. Their parts from `first` up to `last` are a partition of the text.
    """
    overlap = min(OVERLAP, size // 2)
    starts = [*range(0, max(0, length - size), size - overlap), max(0, length - size)]
    ends = [min(start + size, length) for start in starts]
    borders = [0, *((start + end + 1) // 2 for start, end in zip(starts[1:], ends)), length]
    return [Window(*each) for each in zip(starts, ends, borders, borders[1:])]
