"""Samples for the accents of running text: Portuguese of many domains, Brazilian and European."""

import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path

from atenta.recipes.samples.dialogue import read_scenes
from atenta.recipes.samples.files import FILES, SPLITS, novels, read_cells, read_samples, sample_files
from atenta.recipes.samples.sentence_patterns import draw_sentences
from atenta.restoration.spellings import lower_case
from atenta.tokenization.base_letters import strip_accents

_PARTS = 100  # of consecutive lines, in each file
_VALIDATION_PARTS, _TEST_PARTS = (16, 49, 82), (33, 66, 99)  # counted from 0
# The domain of each kind of file. The further tests are of sources that training does not have.
_DOMAINS = {
    "ajuda": "user help",
    "ciencia": "science",
    "comandos": "conversation",
    "contos": "tales for children",
    "conversa": "conversation",
    "direito": "law",
    "docs": "developer documents",
    "enciclopedia": "encyclopaedia",
    "ensino": "education",
    "fala": "speech",
    "ficcao": "games",
    "jogo": "games",
    "jogos": "games",
    "manual": "technical manual",
    "mensagens": "messages of programs",
    "noticias": "news",
    "parlamento": "public services",
    "saude": "science",
    "servico": "public services",
    "tutorial": "developer documents",
}
_FURTHER_TESTS = {"enciclopedia": "encyclopaedia", "guia": "essays", "cotidiano": "everyday"}
# How often training reads a file of `portugues_2`; 1 for others. What people say at home is rare, and read more often;
# what a machine wrote or translated, and what repeats itself, is read in part.
_SHARES = {
    "ciencia-pira": 0.5,
    "contos-africanos": 2,
    "contos-storybooks-brasil": 3,
    "conversa-bifonia-pt": 0.35,
    "conversa-loja-cilada-br": 3,
    "conversa-robo-cosibot-pt": 2,
    "conversa-robos-br": 3,
    "conversa-saber-pt": 3,
    "conversa-tatoeba": 3,
    "conversa-tatoeba-2": 3,
    "enciclopedia-dias-na-historia": 0.5,
    "enciclopedia-pessoas-e-datas": 0.25,
    "ensino-cogroo-br": 3,
    "noticias-porsimples": 0.5,
}
_RULE_MADE = 6_000  # sentences of each group of patterns
_RUN = 8  # words
_RUN_ON = 400  # characters of the sentences that are read in a run, at most
_WORD = re.compile(r"\w+")
# Signs are restored where one is alone between a letter, digit or closing bracket and white space or the end: the full
# stop of an abbreviation is one of them, but not the comma of *3,5*, a colon in *8:30*, or an ellipsis.
SIGNS = {"comma": ",", "period": ".", "question": "?", "exclamation": "!", "colon": ":", "semicolon": ";"}
MARKS = "".join(SIGNS.values())
_SIGN = re.compile(rf"(?<=[\w)\]»”\"'’])[{re.escape(MARKS)}](?=\s|\Z)")
# What nobody speaks. A dash at the start of a line opens a speech, one between words is a pause.
_QUOTES = re.compile(r"[“”„\"«»()\[\]{}]|^\s*[—–-]\s+", re.MULTILINE)
_DASH = re.compile(r"[,;:]?\s+[—–]+\s+|\s+-\s+|[,;:]?\s*—\s*")
_ELLIPSIS = re.compile(r"\s*(?:…|\.\.+)")
_PAUSE = re.compile(r",\s*(?=[,;:.!?])|^\s*,\s*|\s+(?=[,.;:!?])", re.MULTILINE)  # beside a sign, a pause says nothing
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+(?=[^a-zà-ÿ])")
_OLD_SPELLING = re.compile(r"ü|[éó]i[aoc]|êem\b|ôos?\b|\b(?:pára|pêlos?|pólos?|pêra)\b", re.IGNORECASE)


def portuguese_texts() -> dict[str, list[dict[str, str]]]:
    """Return texts without and with their accents, in three splits and further tests, each with its domain.

    Each file of `portugues` is cut into 100 parts of consecutive lines, of which three are validation and three are
    test; so the texts of a split are near each other, and far from those of another. Novels and tales are split by
    work; sentences whose spelling is older than the reform of 2009 are left out. Training rows are lines of the files;
    validation and test rows are sentences. Those that these training rows have too, or half of whose runs of eight
    words they have, are left out: help pages and manuals repeat themselves, also across Brazil and Portugal.

    The further tests are of sources that training does not have: `encyclopaedia`, `essays`, `everyday`, `plays`, of
    the 19th century, and `groups`, everyday sentences whose domain is what decides their accents. `documents` are the
    sentences of each part of the test, on lines.

    Training and validation have besides the files of `portugues_2`, some of them more than once or in part, and
    training has sentences made by rule ([`draw_sentences`]). What any test or the validation has is left out of them.

    Returns:
        The rows of each split: `source`, `target` and `domain`.
    """
    rows: dict[str, list[dict[str, str]]] = {name: [] for name in (*SPLITS, *_FURTHER_TESTS.values(), "plays")}
    test_parts: list[list[dict[str, str]]] = []
    for path in [*sample_files("portugues", "*-*.txt"), *sample_files("portugues", "cotidiano.txt")]:
        kind = path.stem.partition("-")[0]
        if kind in _FURTHER_TESTS:
            domain = _FURTHER_TESTS[kind]
            rows[domain] += _pairs(cut_into_sentences(path.read_text(encoding="utf-8").splitlines()), domain)
            continue
        for _, split, part in file_parts(path):
            of_part = _pairs(part if split == "train" else cut_into_sentences(part), _DOMAINS[kind])
            rows[split] += of_part
            if split == "test":
                test_parts.append(of_part)
    for split in SPLITS:
        for work in read_samples(f"machado/{split}"):
            sentences = cut_into_sentences([" ".join(work.split())])
            rows[split] += _pairs((each for each in sentences if not _OLD_SPELLING.search(each)), "literature")
    speeches = [speech.text for split in SPLITS for scene in read_scenes(split) for speech in scene]
    rows["plays"] = _pairs((each for each in speeches if not _OLD_SPELLING.search(each)), "plays")
    known = known_texts(rows["train"])
    for name in rows.keys() - {"train"}:
        rows[name] = [row for row in rows[name] if not is_known(row["source"], known)]
    rows["documents"] = []
    for part in test_parts:
        if targets := [row["target"] for row in part if not is_known(row["source"], known)]:
            rows["documents"] += _pairs(["\n".join(targets)], part[0]["domain"])
    for group, text in read_cells("everyday_pt/test.tsv")[1:]:
        rows.setdefault("groups", []).extend(_pairs([text], group))

    further = _further_rows()
    held_out = known_texts(row for name in rows.keys() - {"train"} for row in rows[name])
    known |= held_out
    rows["validation"] += [row for row in further["validation"] if not is_known(row["source"], known)]
    held_out |= known_texts(rows["validation"])
    rows["train"] += [
        row
        for row in further["train"]
        if not any(is_known(each, held_out) for each in {row["source"], *cut_into_sentences([row["source"]])})
    ]
    return rows


def _further_rows() -> dict[str, list[dict[str, str]]]:
    """Return rows of `portugues_2` for training and validation, and for training those made by rule."""
    generator = random.Random(0)
    rows: dict[str, list[dict[str, str]]] = {"train": [], "validation": []}
    for path in sample_files("portugues_2", "*.txt"):
        domain = _DOMAINS[path.stem.partition("-")[0]]
        lines: list[str] = []
        for index, _, part in file_parts(path):
            if index in _VALIDATION_PARTS:
                rows["validation"] += _pairs(cut_into_sentences(part), domain)
            else:
                lines += part
        whole, rest = divmod(_SHARES.get(path.stem, 1), 1)
        for _ in range(int(whole)):
            rows["train"] += _pairs(lines, domain)
            generator.shuffle(lines)  # other neighbours the next time
        rows["train"] += _pairs(lines[: int(rest * len(lines))], domain)
    made = [text for of_group in draw_sentences(_RULE_MADE, seed=0).values() for text in of_group]
    generator.shuffle(made)
    rows["train"] += _pairs(made, "made by rule")
    return rows


def spoken_texts() -> dict[str, list[dict[str, str]]]:
    """Return texts as speech recognition leaves them, without accents, capitals and signs, and as they should be.

    They are those of [`portuguese_texts`] but for its groups and documents. Training rows are as they were written;
    validation and test rows are runs of consecutive sentences of one domain, without what nobody speaks ([`speak`]).

    Returns:
        The rows of each split: `source`, `target` and `domain`.
    """
    rows = portuguese_texts()
    held_out = (*SPLITS[1:], *_FURTHER_TESTS.values(), "plays")
    return {
        "train": [{**row, "source": _as_heard(row["target"])} for row in rows["train"]],
        **{
            name: [
                {"source": _as_heard(text), "target": text, "domain": domain}
                for text, domain in _run_on(rows[name])
                if _WORD.search(text)
            ]
            for name in held_out
        },
    }


def _as_heard(text: str) -> str:
    return strip_accents(lower_case(strip_punctuation(text)))


def _run_on(rows: Iterable[Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield consecutive sentences of one domain, each run joined by spaces, as speech, and the domain."""
    for domain, of_domain in groupby(rows, lambda row: row["domain"]):
        run = ""
        for row in of_domain:
            text = speak(row["target"])
            if run and len(run) + len(text) > _RUN_ON:
                yield run, domain
                run = ""
            run += " " * bool(run) + text
        yield run, domain


def portuguese_documents() -> dict[str, list[dict[str, str]]]:
    """Return running text of all domains for pre-training, without what the samples of other tasks are tested on.

    The parts of files that [`portuguese_texts`] holds out are not trained on either: the first of them are validation
    and test. Most of two of its further tests, `encyclopaedia` and `essays`, is trained on. A line of which half of
    the runs of eight words are in a held-out text of LeNER-Br, Bosque or FaQuAD is left out.

    Returns:
        The rows of each split, each with a `text`: a part of a file, its lines one sentence or paragraph each, or a
        work of Machado de Assis.
    """
    rows = novels()
    held_out = {run for text in _held_out_texts() for run in _runs_of_words(text)}
    for path in sample_files("portugues", "*-*.txt"):
        for index, split, part in file_parts(path):
            if index in (*_VALIDATION_PARTS[1:], *_TEST_PARTS[1:]):
                continue
            kept = [line for line in part if len(_WORD.findall(line)) < _RUN or not is_known(line, held_out)]
            rows[split].append({"text": "\n".join(kept)})
    return {split: [row for row in of_split if row["text"]] for split, of_split in rows.items()}


def file_parts(path: Path) -> Iterator[tuple[int, str, list[str]]]:
    """Yield the parts of a file: the index, the split and the lines of each."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for index in range(_PARTS):
        split = "validation" if index in _VALIDATION_PARTS else "test" if index in _TEST_PARTS else "train"
        yield index, split, lines[len(lines) * index // _PARTS : len(lines) * (index + 1) // _PARTS]


def _held_out_texts() -> Iterator[str]:
    """Yield the texts of the validation and test files of the samples for tagging and questions."""
    for file in FILES["lener_br"][1:]:
        for block in read_samples("", file)[0].split("\n\n"):
            yield " ".join(line.split()[0] for line in block.splitlines() if line.strip())
    for file in FILES["bosque"][1:]:  # whose words are parts of the text's: *de* and *as* for *das*
        lines = read_samples("", file)[0].splitlines()
        yield from (line.removeprefix("# text = ") for line in lines if line.startswith("# text = "))
    for file in FILES["faquad"][1:]:
        for article in json.loads(read_samples("", file)[0])["data"]:
            for paragraph in article["paragraphs"]:
                yield from _SENTENCE_END.split(paragraph["context"])


def _runs_of_words(text: str) -> list[str]:
    """Return each run of eight words of a text in lower case."""
    words = _WORD.findall(text.lower())
    return [" ".join(words[start : start + _RUN]) for start in range(len(words) - _RUN + 1)]


def known_texts(rows: Iterable[Mapping[str, str]]) -> set[str]:
    """Return what [`is_known`] looks up: the sentences of sources, and their runs of eight words."""
    known: set[str] = set()
    for row in rows:
        known.update(_runs_of_words(row["source"]), map(str.lower, cut_into_sentences([row["source"]])))
    return known


def is_known(text: str, known: set[str]) -> bool:
    """Return whether a text, or half of its runs of eight words, are known."""
    runs = _runs_of_words(text)
    return text.lower() in known or 2 * sum(run in known for run in runs) >= max(1, len(runs))


def cut_into_sentences(lines: Iterable[str]) -> Iterator[str]:
    """Cut each line after `.`, `!`, `?` or `…` and white space, unless a small letter follows."""
    for line in lines:
        yield from _SENTENCE_END.split(line)


def _pairs(targets: Iterable[str], domain: str) -> list[dict[str, str]]:
    return [{"source": strip_accents(target), "target": target, "domain": domain} for target in targets]


def strip_punctuation(text: str, signs: str = MARKS) -> str:
    """Return the text without the signs that are restored."""
    return _SIGN.sub(lambda match: "" if match[0] in signs else match[0], text)


def speak(text: str) -> str:
    """Return the text as it would be written down from speech: without quotation marks, brackets, dashes, ellipses."""
    text = _DASH.sub(", ", _QUOTES.sub("", text))
    text = _ELLIPSIS.sub(_sign_of_ellipsis, text)
    return re.sub(r"[^\S\n]+", " ", _PAUSE.sub("", text)).strip()


def _sign_of_ellipsis(match: re.Match) -> str:
    """Return the sign in place of an ellipsis: none beside another one."""
    if match.string[: match.start()][-1:] in {*MARKS}:
        return ""
    after = match.string[match.end() :].lstrip()
    return "," if after and not after[0].isupper() else "."
