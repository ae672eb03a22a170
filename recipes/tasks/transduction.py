"""Pairs of source and target texts: rows, their encoding, scores and baselines."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any
from unicodedata import normalize

from datasets import Features, List, Value
from rapidfuzz.distance import Levenshtein
from transformers import PreTrainedTokenizerBase

from atenta.recipes.reading.records import expect_text
from atenta.recipes.reading.splits import RowFormat
from atenta.recipes.source_metrics import SOURCE_METRICS, check_metrics, score_texts
from atenta.recipes.tasks.rewriting import rewriting_baselines
from atenta.recipes.tasks.task import Answers, Baselines, Row, Task
from atenta.tokenization.text_windows import GAP

# `<`, `>` and `;` are delimiters. A tag with the name of a special or byte token would become that token.
_TAG = re.compile(r"(?!(?:pad|bos|eos|mask|0x[0-9A-F]{2})\Z)[!-:=?-~]+")

AlignedRow = tuple[Row, list[tuple[str, ...]]]  # a pair, and what each letter of its source becomes
_MOST_UNITS = 5  # that a letter may become: enough for the endings of inflected words
_ROUNDS = 5  # of alignment; words to phones gain nothing from more
_EQUAL = 1e-9  # sums of logarithms that differ by less are equal but for rounding
_WINDOWS = ((4, 4), (3, 3), (2, 3), (2, 2), (1, 2), (1, 1), (0, 1), (1, 0), (0, 0))  # letters before and after
_BORDER = " "  # stands for what is before and after a word


def check_pair(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a pair: its texts unchanged, and its tags as tokens.

    Args:
        fields: `source`, `target` and optionally `tags`, a text such as `V;3;PL`. The row has the tags as the list
            `["<V>", "<3>", "<PL>"]`, in the given order. The list is empty if there are no tags.

    Raises:
        ValueError: If a source or target is missing, blank or not a text, or a tag is malformed.
    """
    tags = fields.get("tags")
    if not isinstance(tags, str | None):
        raise ValueError(f"found {tags!r:.80} ({type(tags).__name__}) as the tags; expected a text such as 'V;3;PL'")
    return {
        "source": expect_text(fields.get("source"), "source"),
        "target": expect_text(fields.get("target"), "target"),
        "tags": [] if not tags else [_tag_token(tag) for tag in tags.split(";")],
    }


def order_of_columns(rows: Sequence[Sequence[str]]) -> list[str] | None:
    """Return the names of the three columns of pairs if tags come second, as in newer SIGMORPHON data; else None.

    Tags look like `V;3;PL`: they have a semicolon, or neither small letters nor letters beyond ASCII. The second
    column has them if the third does not look so, and the second either does, and has semicolons or no more distinct
    values than the third, or has at most a tenth of the third's distinct values (`sg` and `pl`).

    Args:
        rows: The first rows of a table, with three cells each.
    """
    seconds, thirds = ([cells[place] for cells in rows] for place in (1, 2))
    kinds = [len({*cells}) for cells in (seconds, thirds)]
    are_several = _are_most(";" in cell for cell in seconds)  # which forms do not have
    look_so = (kinds[0] <= kinds[1] or are_several) and _are_most(map(_looks_like_tags, seconds))
    repeat = kinds[0] * 10 <= kinds[1] and _are_most(_TAG.fullmatch(cell) for cell in seconds)
    tags_second = (look_so or repeat) and _are_most(not _looks_like_tags(cell) for cell in thirds)
    return ["source", "tags", "target"] if tags_second else None


def _looks_like_tags(cell: str) -> bool:
    is_written_so = ";" in cell or (cell.isascii() and cell == cell.upper())
    return is_written_so and all(map(_TAG.fullmatch, cell.split(";")))


def _are_most(found: Iterable[Any]) -> bool:
    are = [*map(bool, found)]
    return sum(are) > 0.9 * len(are)


PAIRS = RowFormat(
    Features({"source": Value("string"), "target": Value("string"), "tags": List(Value("string"))}),
    check_pair,
    columns=("source", "target"),
    optional=("tags",),
    order=order_of_columns,
)


def _tag_token(tag: str) -> str:
    if not _TAG.fullmatch(tag):
        raise ValueError(
            f"found the tag {tag!r}; expected tags separated by ';' as in 'V;3;PL', each of visible ASCII characters "
            "without '<' and '>', and none named like a special or byte token (pad, bos, eos, mask, 0x00 to 0xFF)"
        )
    return f"<{tag}>"


def merge_targets(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for each source with its tags: its first target as `target`, and all as the list `targets`.

    A word may be pronounced in several ways, and dictionaries list each in a row of its own.
    """
    merged: dict[tuple[str, tuple[str, ...]], dict[str, Any]] = {}
    for row in rows:
        first = merged.setdefault((normalize("NFC", row["source"]), tuple(row["tags"])), {**row, "targets": []})
        first["targets"].append(row["target"])
    return list(merged.values())


def nearest_target(output: str, targets: Sequence[str], separator: str | None = None) -> str:
    """Return the target that an output is scored against: the one with the fewest edits, both in NFC.

    Args:
        output: The output.
        targets: The targets that are right.
        separator: What separates the units that are edited, such as phones; None or empty: they are characters.
    """

    def processor(text: str) -> Sequence[str]:
        composed = normalize("NFC", text)
        return composed.split(separator) if separator else composed

    return min(targets, key=lambda target: Levenshtein.distance(output, target, processor=processor))


def measure_lengths(rows: Iterable[Mapping[str, Any]], encoded: Mapping[str, list[list[int]]]) -> dict[str, Any]:
    """Return the options of an encoder-decoder's configuration that say how long the training pairs are.

    Args:
        rows: Pairs with `source`, `target` and `tags`.
        encoded: The output of `encode_pairs` for them.

    Returns:
        `window_length`, the number of source tokens that all but one in a thousand pairs do not exceed, or None where
        texts should not be cut: if every source is a single word, or if more than one pair in twenty has different
        numbers of words in source and target, or other white space in its source than single spaces; `length_ratios`,
        the lowest and the highest ratio of target tokens to source tokens. Tags do not count, `<eos>` does.
    """
    tags, source_words, regular = [], 0, 0
    for row in rows:
        tags.append(len(row["tags"]))
        words = len(row["source"].split())
        source_words = max(source_words, words)
        regular += words == len(row["target"].split()) and not GAP.search(row["source"])
    sources = [len(ids) - of_row for ids, of_row in zip(encoded["input_ids"], tags)]
    ratios = [len(target) / source for target, source in zip(encoded["labels"], sources)]
    can_cut = source_words > 1 and regular >= 0.95 * len(sources)
    return {
        "window_length": sorted(sources)[math.ceil(0.999 * (len(sources) - 1))] if can_cut else None,
        "length_ratios": [min(ratios), max(ratios)],
    }


def encode_pairs(batch: Mapping[str, list], tokenizer: PreTrainedTokenizerBase) -> dict[str, list[list[int]]]:
    """Encode sources, preceded by their tags, and targets.

    Tags are converted to ids by name, so a V in a word is never read as the tag `<V>`.

    Args:
        batch: Columns `source`, `target` and `tags` (tokens such as `<V>`).
        tokenizer: An encoder-decoder's tokenizer.

    Returns:
        `input_ids`, tags and source `<eos>`; `labels`, target `<eos>`.

    Raises:
        ValueError: If the tokenizer lacks a tag, as that of another package does.
    """
    if unknown := {tag for tags in batch["tags"] for tag in tags} - tokenizer.get_vocab().keys():
        raise ValueError(
            f"The tokenizer has no tag {', '.join(sorted(unknown))}; expected a token for each tag of the pairs: "
            "train a new model on them, or leave these tags out."
        )
    sources = tokenizer(batch["source"], split_special_tokens=True).input_ids
    return {
        "input_ids": [tokenizer.convert_tokens_to_ids(tags) + ids for tags, ids in zip(batch["tags"], sources)],
        "labels": tokenizer(text_target=batch["target"], split_special_tokens=True).input_ids,
    }


# Baselines


def copy_source(rows: Iterable[Row]) -> list[str]:
    """Return the `source` of each pair, unchanged."""
    return [row["source"] for row in rows]


def look_up(train: Iterable[Row], rows: Iterable[Row]) -> list[str]:
    """Return for each `source` the most frequent output in training, of the complete source or else of each word.

    A source that occurs in training with the same `tags` gets its most frequent `target`. In any other source, each
    word gets its most frequent spelling under the same tags. Words that do not occur in training, and the white space
    between words, are unchanged. Words are separated by white space. The words of a training pair are counted only if
    source and target have the same number of them; they are aligned in order. Sources and words are compared in NFC.
    """
    targets: defaultdict[tuple[str, tuple[str, ...]], Counter[str]] = defaultdict(Counter)
    spellings: defaultdict[tuple[str, tuple[str, ...]], Counter[str]] = defaultdict(Counter)
    for row in train:
        source, target, tags = normalize("NFC", row["source"]), row["target"], tuple(row["tags"])
        targets[source, tags][target] += 1
        source_words, target_words = source.split(), target.split()
        if len(source_words) == len(target_words):
            for source_word, target_word in zip(source_words, target_words):
                spellings[source_word, tags][target_word] += 1
    best_target = {key: counts.most_common(1)[0][0] for key, counts in targets.items()}
    best_spelling = {key: counts.most_common(1)[0][0] for key, counts in spellings.items()}

    def answer(source: str, tags: tuple[str, ...]) -> str:
        if target := best_target.get((normalize("NFC", source), tags)):
            return target
        return re.sub(r"\S+", lambda word: best_spelling.get((normalize("NFC", word[0]), tags), word[0]), source)

    return [answer(row["source"], tuple(row["tags"])) for row in rows]


def align_letters(train: Iterable[Row], separator: str | None = None) -> list[AlignedRow]:
    """Return each pair with what each letter of its `source` becomes: up to five units of its `target`, or none.

    A target is divided among the letters, in order, in the way that is most probable given how often each letter
    became what in the round before (Viterbi training). In the first round letters become one unit, and an equal one,
    where they can. A pair is left out if its target has more than five units for each letter.

    Args:
        train: Pairs with `source` and `target`.
        separator: The text between the units of a target; `None` if its characters are the units.
    """
    pairs = [(row, tuple(row["target"].split(separator) if separator else row["target"])) for row in train]
    pairs = [(row, units) for row, units in pairs if len(units) <= _MOST_UNITS * len(row["source"])]
    divided = [divide(row["source"], units, _by_form) for row, units in pairs]
    for _ in range(_ROUNDS - 1):
        counts = Counter(became for (row, _), parts in zip(pairs, divided) for became in zip(row["source"], parts))
        totals = Counter(letter for row, _ in pairs for letter in row["source"])
        log_probability = {became: math.log(count / totals[became[0]]) for became, count in counts.items()}
        divided = [divide(row["source"], units, log_probability.get) for row, units in pairs]
    return [(row, parts) for (row, _), parts in zip(pairs, divided)]


def _by_form(became: tuple[str, tuple[str, ...]]) -> float:
    letter, units = became
    return float(units == (letter,)) - abs(len(units) - 1)


def divide(
    source: str, units: tuple[str, ...], score: Callable[[tuple[str, tuple[str, ...]]], float | None]
) -> list[tuple[str, ...]]:
    """Return the units that each letter of a source becomes, in the division with the highest sum of scores.

    Of several, the last letters take most units: of *ss*, it is always the second that becomes s.

    Args:
        source: The letters.
        units: The units of the target.
        score: Takes a letter with what it becomes; `None` excludes it.

    Returns:
        The units of each letter; nothing if every division is excluded.
    """
    best: dict[int, float] = {0: 0.0}  # the highest sum that ends before each unit
    starts: list[dict[int, int]] = []  # for each letter, and where its units end, where they start
    for remaining, letter in zip(reversed(range(len(source))), source):
        sums: dict[int, float] = {}
        start_of: dict[int, int] = {}
        for start, so_far in sorted(best.items()):
            first_end = max(start, len(units) - _MOST_UNITS * remaining)  # the letters that remain take no more
            for end in range(first_end, min(start + _MOST_UNITS, len(units)) + 1):
                added = score((letter, units[start:end]))
                if added is not None and (end not in sums or so_far + added > sums[end] + _EQUAL):
                    sums[end], start_of[end] = so_far + added, start
        best = sums
        starts.append(start_of)
    if len(units) not in best:
        return []
    parts, end = [], len(units)
    for start_of in reversed(starts):
        parts.append(units[start_of[end] : end])
        end = start_of[end]
    return parts[::-1]


def letters_in_context(aligned: Iterable[AlignedRow], rows: Iterable[Row], separator: str | None = None) -> list[str]:
    """Return each `source` with every letter replaced by what it most often becomes between the same neighbours.

    The neighbours are the four letters on each side, or as many fewer as it takes to have seen them in training, under
    the same `tags` (as in Daelemans and van den Bosch, 1997, "Language-independent data-oriented grapheme-to-phoneme
    conversion"). A letter that training lacks under these tags becomes what it becomes under any; one that it lacks
    altogether is unchanged.

    Args:
        aligned: Training pairs, as `align_letters` returns them.
        rows: Pairs with `source` and `tags`.
        separator: The text between the units of a target; `None` if its characters are the units.
    """
    rows = list(rows)
    asked = {context for row in rows for contexts in _contexts(row) for context in contexts}
    counts: defaultdict[tuple[Any, ...], Counter[tuple[str, ...]]] = defaultdict(Counter)
    for row, parts in aligned:
        for contexts, part in zip(_contexts(row), parts):
            for context in contexts:
                if context in asked:
                    counts[context][part] += 1
    best = {context: parts.most_common(1)[0][0] for context, parts in counts.items()}

    def answer(row: Row) -> str:
        replaced = [
            next((best[context] for context in contexts if context in best), (letter,))
            for letter, contexts in zip(row["source"], _contexts(row))
        ]
        return (separator or "").join(unit for part in replaced for unit in part)

    return [answer(row) for row in rows]


def _contexts(row: Row) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the contexts of each letter of a `source`, from the widest with its `tags` to the letter alone."""
    tags, widest = tuple(row["tags"]), max(_WINDOWS)[0]
    padded = _BORDER * widest + row["source"] + _BORDER * widest
    for place, letter in enumerate(row["source"], start=widest):
        windows = [(before, padded[place - before : place + after + 1]) for before, after in _WINDOWS]
        yield [*((tags, *window) for window in windows), (letter,)]


class PairTask(Task):
    """Targets of sources.

    Its options are `metrics`, `target_separator` as in [`nearest_target`], `several_targets`, whether rows are merged
    by [`merge_targets`], and `denoising`, whether sources are masked texts.

    Raises:
        ValueError: If a metric is unknown or named twice.
    """

    kind = "text2text-generation"

    def __init__(self, config: Row | None = None, **options: Any) -> None:
        super().__init__(config, **options)
        self.metrics = self.options.get("metrics") or ("word_accuracy", "exact_match", "character_error_rate")
        check_metrics(self.metrics)

    @property
    def row_format(self) -> RowFormat:
        """The format of pairs.

        Raises:
            ValueError: If the model restores masked texts.
        """
        if self.options.get("denoising"):
            raise ValueError("The model restores masked texts, which its recipe scores; expected another model.")
        return PAIRS

    def fields(self, row: Row) -> Row:
        """Return source and tags."""
        return {"text": row["source"], "tags": [tag[1:-1] for tag in row["tags"]]}

    def prepare(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Return one row for each source if all its targets are right."""
        several = self.options.get("several_targets") and not self.options.get("denoising")
        return merge_targets(rows) if several else list(rows)

    def score(self, rows: Sequence[Row], answers: Answers) -> dict[str, float]:
        """Return the scores of outputs, each against the nearest of its row's targets."""
        separator = self.options.get("target_separator")
        references = [
            nearest_target(text, row.get("targets", [row["target"]]), separator) for text, row in zip(answers, rows)
        ]
        sources = [row["source"] for row in rows]
        return score_texts(self.metrics, sources=sources, predictions=answers, references=references)

    def baselines(
        self, train: Sequence[Row] | None = None, of_words: bool = False, aligned: Sequence[AlignedRow] | None = None
    ) -> Baselines:
        """Return those that copy, that look up texts and, with `of_words` or `aligned`, that replace letters.

        `of_words` says that all sources are single words, and needs `train`; `aligned` has the pairs of training if
        their letters are aligned already. With a metric that compares outputs with their sources, there are also those
        of `rewriting_baselines`.
        """
        answers: dict[str, Any] = {"left as it is": copy_source}
        if train is not None:
            answers["most frequent in training"] = partial(look_up, train)
            if not SOURCE_METRICS.keys().isdisjoint(self.metrics):
                answers |= rewriting_baselines(train)
        separator = self.options.get("target_separator")
        if of_words:
            aligned = align_letters(train, separator)
        if aligned is not None:
            answers["letters in context"] = partial(letters_in_context, aligned, separator=separator)
        return answers
