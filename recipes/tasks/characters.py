"""Texts whose characters are restored: pairs of equal length, their windows, scores and baselines."""

import random
import unicodedata
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from datasets import Features, Value

from atenta.recipes.metrics import scores
from atenta.recipes.reading.file_formats import read_table
from atenta.recipes.reading.records import BadRow, Record, expect_text
from atenta.recipes.reading.splits import RowFormat
from atenta.recipes.tasks.documents import DOCUMENTS, cut_documents, read_documents
from atenta.recipes.tasks.punctuation import (
    SIGNS,
    are_pieces,
    most_frequent_marks,
    score_marks,
    split_pieces,
    strip_punctuation,
)
from atenta.recipes.tasks.task import Answers, Baselines, Row, Task
from atenta.recipes.tasks.transduction import copy_source
from atenta.restoration.character_codes import NO_CHOICE, CharacterCodes
from atenta.restoration.spans import cut_windows
from atenta.restoration.spellings import WORD, Spellings, lower_case
from atenta.tokenization.base_letters import strip_accents

FEATURES = Features({"source": Value("string"), "target": Value("string"), "domain": Value("string")})
STRIPPED: dict[str, Callable[[str], str]] = {
    "accents": strip_accents,
    "case": lower_case,
    "punctuation": strip_punctuation,
}
_ACUTE_AS_CIRCUMFLEX = str.maketrans("áéíóúÁÉÍÓÚ", "âêîôûÂÊÎÔÛ")
_CHANGED_CASE = 0.04  # share of the training rows in capitals, and of those in small letters
_PARTLY_RESTORED = 0.15  # share of the training windows whose source has a part of what is to be restored
_UNLISTED = 0.08  # share of the words of training that are read without their spellings
_SHORT_WINDOWS = 0.35  # share of the training windows that are shorter than they could be, like a text by itself


def check_characters(fields: Mapping[str, Any]) -> dict[str, str]:
    """Return the row of a pair of texts, both in NFC, of equal length but for signs that only the target has.

    Args:
        fields: `source`, `target` and optionally `domain`, by which scores are shown.

    Raises:
        ValueError: If a text is missing, blank or not a text, or they differ in length by more than signs.
    """
    source, target = (
        unicodedata.normalize("NFC", expect_text(fields.get(name), name)) for name in ("source", "target")
    )
    if len(source) != len(target) and not are_pieces(source, target):
        raise ValueError(
            f"found a source of {len(source)} characters and a target of {len(target)} in NFC, {source!r:.60} and "
            f"{target!r:.60}; expected the same number, or further signs before white space: train recipes/seq2seq.py "
            "on other pairs"
        )
    return {"source": source, "target": target, "domain": fields.get("domain") or ""}


CHARACTER_PAIRS = RowFormat(FEATURES, check_characters, columns=("source", "target"), optional=("domain",))


def strip_texts(batch: Mapping[str, list], strip: Sequence[str]) -> dict[str, list[str]]:
    """Make pairs of texts: the source is the text without what is to be restored.

    Args:
        batch: Column `text`.
        strip: Some of `accents`, `case` and `punctuation`.

    Raises:
        ValueError: If a text has another length without its accents, as one with a mark that no letter has composed.
    """
    targets = [unicodedata.normalize("NFC", text) for text in batch["text"]]
    sources = targets
    for name in strip:
        sources = [STRIPPED[name](text) for text in sources]
    pairs = [check_characters({"source": source, "target": target}) for source, target in zip(sources, targets)]
    return {name: [pair[name] for pair in pairs] for name in FEATURES}


def check_strippable(fields: Mapping[str, Any], strip: Sequence[str]) -> dict[str, str]:
    """Return the row of a text of which [`strip_texts`] can make a source, or raise its ValueError."""
    row = DOCUMENTS.check(fields)
    strip_texts({"text": [row["text"]]}, strip)
    return row


def count_variants(
    rows: Iterable[Mapping[str, str]], min_count: int
) -> tuple[dict[str, str | list[str]], dict[str, int]]:
    """Return for each character with a choice what it becomes in the rows, itself first, and what is too rare.

    What a small letter becomes, a capital becomes too, and the reverse; both count together, because capitals with
    marks are rare. Not so if capitals are what is restored.

    Args:
        rows: Pairs with `source` and `target`.
        min_count: Lowest count of a variant; rarer ones are never learned, nor made.

    Returns:
        What each character becomes, all in one text, or a list if there are signs among it, and the count of each
        variant that is too rare.

    Raises:
        ValueError: If no character has a choice.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for row in rows:
        counts.update(_pieces(row["source"], row["target"]))
    if fold_case := restores_no_case(counts):
        folded: Counter[tuple[str, str]] = Counter()
        for pair, count in counts.items():
            folded[pair[0].lower(), pair[1].lower()] += count
        counts = folded
    variants: defaultdict[str, list[str]] = defaultdict(list)
    for pair, count in sorted(counts.items()):
        if pair[0] != pair[1] and count >= min_count:
            for character, variant in {pair, (pair[0].upper(), pair[1].upper())} if fold_case else {pair}:
                if len(character) == 1 and len(variant) == len(pair[1]) and character != variant:
                    variants[character].append(variant)
    if not variants:
        raise ValueError(
            f"found no character that becomes another one in {min_count} places of the training pairs; expected some: "
            "give --strip for texts alone, or lower --min_variant_count"
        )
    rare = {pair[1]: count for pair, count in sorted(counts.items()) if pair[0] != pair[1] and count < min_count}
    found = {character: [character, *others] for character, others in sorted(variants.items())}
    if all(len(variant) == 1 for of_it in found.values() for variant in of_it):
        return {character: "".join(of_it) for character, of_it in found.items()}, rare
    return dict(found), rare


def _pieces(source: str, target: str) -> Iterable[tuple[str, str]]:
    """Return each character of a source with what it becomes; if signs are missing, also a line end after the text."""
    if len(source) != len(target):
        source, target = source + "\n", target + "\n"
    return zip(source, split_pieces(source, target))


def keeps_characters(character: str, variants: str | list[str]) -> bool:
    """Return whether variants are those that this task makes: a character, or a sign and white space."""
    return bool(variants) and all(
        len(each) == 1 or (len(each) == 2 and each[0] in SIGNS.values() and each[1] == character) for each in variants
    )


def restores_signs(variants: Mapping[str, str | list[str]]) -> bool:
    """Return whether a character may become a sign and itself, as [`count_variants`] lists them."""
    return any(isinstance(of_it, list) for of_it in variants.values())


def restores_no_case(pairs: Iterable[tuple[str, str]]) -> bool:
    """Return whether no character becomes its own capital or small letter."""
    return not any(before != after and before.lower() == after.lower() for before, after in pairs)


def vary_case(batch: Mapping[str, list], seed: int) -> dict[str, list[str]]:
    """Put some rows in capitals and some in small letters, as people write; columns are those of the rows."""
    rows = []
    for source, target, domain in zip(batch["source"], batch["target"], batch["domain"]):
        chance = random.Random(zlib.crc32(source.encode(), seed)).random()
        change = str.upper if chance < _CHANGED_CASE else str.lower if chance < 2 * _CHANGED_CASE else str
        changed = change(source), change(target)
        same_length = all(len(each) == len(source) for each in changed)
        rows.append((*(changed if same_length else (source, target)), domain))
    return dict(zip(("source", "target", "domain"), map(list, zip(*rows))))


def encode_windows(
    batch: Mapping[str, list], codes: CharacterCodes, ends: tuple[int, int], length: int, seed: int | None = None
) -> dict[str, list[list[int]]]:
    """Encode pairs, as [`encode_pieces`] does, in the windows that a tagger reads: rows joined, long ones cut.

    Args:
        batch: Columns `source` and `target`.
        codes: The tagger's inputs.
        ends: The ids of `<bos>` and `<eos>`.
        length: The maximum characters of a window.
        seed: For training: decides, together with the text, which rows are joined by a space instead of a line end,
            and which sources are partly restored already or have words without their spellings. None: none of it.
    """
    generator = None if seed is None else random.Random(zlib.crc32("".join(batch["source"]).encode(), seed))
    skip = None if generator is None else lambda: generator.random() < _UNLISTED

    def windows() -> Iterator[tuple[str, Sequence[str]]]:
        for source, target in _join(zip(batch["source"], batch["target"]), length, generator):
            if codes.ends_text:
                source, target = source + "\n", target + "\n"
            pieces = split_pieces(source, target)
            for start, end, *_ in cut_windows(len(source), length):
                window, wanted = source[start:end], pieces[start:end]
                if generator is not None and generator.random() < _PARTLY_RESTORED:
                    share = generator.random()
                    window = "".join(
                        after if len(after) == 1 and generator.random() < share else before
                        for before, after in zip(window, wanted)
                    )
                yield window, wanted

    return encode_pieces(windows(), codes, ends, skip)  # each as it is made: both draw from one generator


def encode_pieces(
    rows: Iterable[tuple[str, Sequence[str]]],
    codes: CharacterCodes,
    ends: tuple[int, int],
    skip: Callable[[], bool] | None = None,
) -> dict[str, list[list[int]]]:
    """Encode texts for a tagger.

    Args:
        rows: Each text with what each of its characters becomes.
        codes: The tagger's inputs.
        ends: The ids of `<bos>` and `<eos>`.
        skip: As in [`Spellings.suggest`].

    Returns:
        `input_ids` and `token_type_ids`, the hints; `labels`, -100 where there is nothing to learn.
    """
    encoded: dict[str, list[list[int]]] = {"input_ids": [], "token_type_ids": [], "labels": []}
    for text, pieces in rows:
        ids, hints = codes.inputs(text, skip)
        choices = codes.choices(text)
        labels = np.array([codes.label_of.get(piece, -1) for piece in pieces])
        labels[(choices == NO_CHOICE) | (labels < 0) | ~codes.allowed[choices, labels]] = -100
        encoded["input_ids"].append([ends[0], *ids.tolist(), ends[1]])
        encoded["token_type_ids"].append([0, *hints.tolist(), 0])
        encoded["labels"].append([-100, *labels.tolist(), -100])
    return encoded


def _join(pairs: Iterable[tuple[str, str]], length: int, generator: random.Random | None) -> Iterable[tuple[str, str]]:
    """Join consecutive pairs while the source has at most `length` characters, or fewer in some."""
    source = target = ""
    limit = length
    for next_source, next_target in pairs:
        if source and len(source) + 1 + len(next_source) <= limit:
            separator = " " if generator is not None and generator.random() < 0.5 else "\n"
            source, target = source + separator + next_source, target + separator + next_target
            continue
        if source:
            yield source, target
        source, target = next_source, next_target
        if generator is not None:
            limit = generator.randint(1, length) if generator.random() < _SHORT_WINDOWS else length
    if source:
        yield source, target


def count_errors(rows: Sequence[Mapping[str, str]], restored: Sequence[str], spellings: Spellings) -> dict[str, int]:
    """Count the wrong words of restored texts by what training has of them.

    Args:
        rows: Pairs with `source` and `target`.
        restored: A text for each, of the same length.
        spellings: The spellings of the words of training.
    """
    kinds = (
        "right in another sentence: training has both spellings",
        "with an acute for a circumflex or the reverse, as in Brazil and Portugal",
        "unknown to training and with a capital: mostly names",
        "unknown to training",
        "always spelt otherwise in training",
    )
    counts = dict.fromkeys(kinds, 0)
    for row, output in zip(rows, restored):
        for match in WORD.finditer(row["target"]):
            given, wanted = output[slice(*match.span())], match[0]
            if given == wanted:
                continue
            known = spellings.of(wanted)
            if given.translate(_ACUTE_AS_CIRCUMFLEX) == wanted.translate(_ACUTE_AS_CIRCUMFLEX):
                kind = 1
            elif len(known) > 1 and {lower_case(given), lower_case(wanted)} <= {lower_case(each) for each in known}:
                kind = 0
            elif not known:
                kind = 2 if wanted[0].isupper() else 3
            else:
                kind = 4
            counts[kinds[kind]] += 1
    return counts


def score_restored(
    rows: Sequence[Mapping[str, str]], restored: Sequence[str], variants: Mapping[str, str | list[str]]
) -> dict[str, float]:
    """Score restored texts.

    Args:
        rows: Pairs with `source` and `target`.
        restored: A text for each, as long as its source but for restored signs.
        variants: The characters with a choice, and what they may become.

    Returns:
        `choice_error_rate`, wrong characters / characters of the sources that have a choice; `word_accuracy`,
        `exact_match` and `letters_kept` of `recipes/metrics.py`; if signs are restored, the scores of `score_marks`.
    """
    choices = wrong = 0
    for row, output in zip(rows, restored):
        source = row["source"]
        outputs, wanted = split_pieces(source, output), split_pieces(source, row["target"])
        decided = [pair for each, *pair in zip(source, outputs, wanted) if each in variants]
        choices += len(decided)
        wrong += sum(given != wanted for given, wanted in decided)
    gold = [row["target"] for row in rows]
    others = scores(["word_accuracy", "exact_match"], predictions=list(restored), references=gold)
    has_signs = restores_signs(variants)
    plain = (lambda text: strip_punctuation(lower_case(text))) if has_signs else lower_case
    kept = scores(["letters_kept"], predictions=list(map(plain, restored)), references=list(map(plain, gold)))
    marks = score_marks(rows, restored) if has_signs else {}
    return {"choice_error_rate": wrong / max(1, choices), **others, **kept, **marks}


def most_frequent_spelling(
    train: Iterable[Row], rows: Iterable[Row], *, fold_case: bool, after_word: bool = False
) -> list[str]:
    """Return each `source` with every word in its most frequent spelling in training.

    Words are runs of letters, digits and underscores, and source and target of a row have the same length. A word that
    does not occur in training is unchanged, and a capital stays one.

    Args:
        train: Rows with `source` and `target`.
        rows: Rows with `source`.
        fold_case: Whether upper and lower case are one spelling.
        after_word: Whether to take the most frequent spelling after the same preceding word in the source, where
            training has both words in this order.
    """
    spellings: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for row in train:
        source, target, before = row["source"].lower(), row["target"], ""
        target = target.lower() if fold_case else target
        if not len(source) == len(target) == len(row["source"]):  # a letter whose lower case is two characters
            continue
        for word in WORD.finditer(source):
            spelling = target[word.start() : word.end()]
            spellings[word[0],][spelling] += 1
            if after_word:
                spellings[before, word[0]][spelling] += 1
            before = word[0]
    best = {key: counts.most_common(1)[0][0] for key, counts in spellings.items()}

    def answer(source: str) -> str:
        before, pieces, end = "", [], 0
        for word in WORD.finditer(source):
            key = word[0].lower()
            found = best.get((before, key)) or best.get((key,)) or key
            pieces += [source[end : word.start()], *_in_case_of(word[0], found)]
            before, end = key, word.end()
        return "".join([*pieces, source[end:]])

    return [answer(row["source"]) for row in rows]


def _in_case_of(word: str, spelling: str) -> Iterable[str]:
    """Return the letters of a spelling, in capitals where the word has them."""
    if len(word) != len(spelling):
        return word
    return (
        letter.upper() if given.isupper() and len(letter.upper()) == 1 else letter
        for given, letter in zip(word, spelling)
    )


class RestorationTask(Task):
    """Characters of texts.

    Its options are `strip`, if sources are made from texts with [`strip_texts`], and `sample_by`, the unit of a text.
    """

    kind = "character-restoration"

    @property
    def row_format(self) -> RowFormat:
        """The format of pairs or, where sources are made, also of texts."""
        strip = self.options.get("strip")
        if not strip:
            return CHARACTER_PAIRS

        def check(fields: Mapping[str, Any]) -> dict[str, Any]:
            if "text" not in fields:
                return check_characters(fields)
            made = strip_texts({"text": [DOCUMENTS.check(fields)["text"]]}, strip)
            return {name: values[0] for name, values in made.items()}

        def read(path: str) -> Iterator[Record | BadRow]:  # a table of texts or of pairs
            columns: tuple[str, ...] = CHARACTER_PAIRS.columns
            optional: tuple[str, ...] = CHARACTER_PAIRS.optional
            with suppress(ValueError):
                if not isinstance(next(read_table(path, ("text",))), BadRow):
                    columns, optional = ("text",), ()
            for record in read_table(path, columns, optional):
                text = None if isinstance(record, BadRow) else record[1].get("text")
                if not isinstance(text, str) or not text.strip():  # a pair, or a row that `check` refuses
                    yield record
                else:
                    yield from ((record[0], {"text": each}) for each in cut_documents({"text": [text]}, unit)["text"])

        unit = self.options.get("sample_by", "document")
        readers = {".txt": partial(read_documents, sample_by=unit)}
        readers |= dict.fromkeys((".tsv", ".csv", ".jsonl", ".parquet"), read)
        return replace(CHARACTER_PAIRS, optional=(*CHARACTER_PAIRS.optional, "text"), readers=readers, check=check)

    def fields(self, row: Row) -> Row:
        """Return the source."""
        return {"text": row["source"]}

    def score(self, rows: Sequence[Row], answers: Answers) -> dict[str, float]:
        """Return the scores of restored texts."""
        return score_restored(rows, answers, self.config["character_variants"])

    def baselines(self, train: Sequence[Row] | None = None, fold_case: bool = True) -> Baselines:
        """Return those that copy, and that look up words; upper and lower case may be one spelling."""
        answers: dict[str, Any] = {"left as it is": copy_source}
        if train is not None:
            if restores_signs(self.config["character_variants"]):
                return {**answers, "most frequent marks": partial(most_frequent_marks, train)}
            look_up = partial(most_frequent_spelling, train, fold_case=fold_case)
            answers["most frequent spelling"] = look_up
            answers["most frequent after the word before"] = partial(look_up, after_word=True)
        return answers
