"""Pairs of source and target texts: rows, their encoding, and scores."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from datasets import Features, List, Value
from rapidfuzz.distance import Levenshtein
from transformers import PreTrainedTokenizerBase

from atenta.engines.kinds import saved_options
from atenta.recipes.baselines import copy_source
from atenta.recipes.metrics import PAIR_METRICS, scores
from atenta.recipes.reading import RowFormat
from atenta.recipes.reading.records import expect_text
from atenta.recipes.tasks.evaluation import Evaluation

# `<`, `>` and `;` are delimiters. A tag with the name of a special or byte token would become that token.
_TAG = re.compile(r"(?!(?:pad|bos|eos|mask|0x[0-9A-F]{2})\Z)[!-:=?-~]+")


def check_pair(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a pair: its texts unchanged, and its tags as tokens.

    Args:
        fields: `source`, `target` and optionally `tags`, a text such as `V;3;PL`. The row has the tags as the list
            `["<V>", "<3>", "<PL>"]`, in the given order. The list is empty if there are no tags.

    Raises:
        ValueError: If a source or target is missing, blank or not a text, or a tag is malformed.
    """
    tags = fields.get("tags")
    return {
        "source": expect_text(fields.get("source"), "source"),
        "target": expect_text(fields.get("target"), "target"),
        "tags": [] if tags is None else [_tag_token(tag) for tag in _split_tags(tags)],
    }


PAIRS = RowFormat(
    Features({"source": Value("string"), "target": Value("string"), "tags": List(Value("string"))}),
    check_pair,
    columns=("source", "target"),
    optional=("tags",),
)


def _split_tags(tags: Any) -> list[str]:
    if not isinstance(tags, str):
        raise ValueError(f"found {tags!r:.80} ({type(tags).__name__}) as the tags; expected a text such as 'V;3;PL'")
    return tags.split(";")


def _tag_token(tag: str) -> str:
    if not _TAG.fullmatch(tag):
        raise ValueError(
            f"found the tag {tag!r}; expected tags separated by ';' as in 'V;3;PL', each of visible ASCII characters "
            "without '<' and '>', and none named like a special or byte token (pad, bos, eos, mask, 0x00 to 0xFF)"
        )
    return f"<{tag}>"


def tag_tokens(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the distinct tag tokens of the rows, sorted by code point: the order of the rows does not matter."""
    return sorted({tag for row in rows for tag in row["tags"]})


def merge_targets(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for each source with its tags: its first target as `target`, and all as the list `targets`.

    A word may be pronounced in several ways, and dictionaries list each in a row of its own.
    """
    merged: dict[tuple[str, tuple[str, ...]], dict[str, Any]] = {}
    for row in rows:
        first = merged.setdefault((row["source"], tuple(row["tags"])), {**row, "targets": []})
        first["targets"].append(row["target"])
    return list(merged.values())


def nearest_target(output: str, targets: Sequence[str], separator: str | None = None) -> str:
    """Return the target that an output is scored against: the one with the fewest edits.

    Args:
        output: The output.
        targets: The targets that are right.
        separator: What parts the units that are edited, such as phones; None or empty: they are characters.
    """
    processor = (lambda text: text.split(separator)) if separator else None
    return min(targets, key=lambda target: Levenshtein.distance(output, target, processor=processor))


def score_pairs(
    rows: Sequence[Mapping[str, Any]], outputs: Sequence[str], metrics: Sequence[str], separator: str | None = None
) -> dict[str, float]:
    """Return the scores of outputs, each against the nearest of its row's `targets`, or its only `target`.

    Args:
        rows: Pairs, of which [`merge_targets`] may have made one.
        outputs: An output for each.
        metrics: Names of metrics of texts.
        separator: As in [`nearest_target`].
    """
    references = [
        nearest_target(text, row.get("targets", [row["target"]]), separator) for text, row in zip(outputs, rows)
    ]
    return scores(metrics, predictions=outputs, references=references)


def measure_lengths(
    rows: Iterable[Mapping[str, Any]], encoded: Mapping[str, list[list[int]]], gap: re.Pattern[str]
) -> dict[str, Any]:
    """Return the options of an encoder-decoder's configuration that say how long the training pairs are.

    Args:
        rows: Pairs with `source`, `target` and `tags`.
        encoded: The output of `encode_pairs` for them.
        gap: White space at which texts would always be cut.

    Returns:
        `window_length`, the number of source tokens that all but one in a thousand pairs do not exceed, or None if
        texts should not be cut between words, because sources are single words, or more than one pair of twenty has
        another number of words in its source than in its target, or white space at which it would be cut;
        `length_ratios`, the lowest and the highest ratio of target tokens to source tokens. Tags do not count,
        `<eos>` does.
    """
    tags, source_words, regular = [], 0, 0
    for row in rows:
        tags.append(len(row["tags"]))
        words = len(row["source"].split())
        source_words = max(source_words, words)
        regular += words == len(row["target"].split()) and not gap.search(row["source"])
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
        ValueError: If the tokenizer lacks a tag, as when a model trained without it is trained further.
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


def evaluate_pairs(config: Mapping[str, Any], metrics: Sequence[str] = ()) -> Evaluation:
    """Return how a saved encoder-decoder is scored: as its recipe did, or by other metrics.

    Raises:
        ValueError: If a metric is unknown, or the model restores masked texts.
    """
    saved = saved_options(config, "text2text-generation")
    if saved.get("denoising"):
        raise ValueError("The model restores masked texts, which its recipe scores; expected another model.")
    metrics = metrics or saved.get("metrics") or ("word_accuracy", "exact_match", "character_error_rate")
    if unknown := [name for name in metrics if name not in PAIR_METRICS]:
        raise ValueError(f"found the metric {unknown[0]!r} of pairs; expected some of {', '.join(PAIR_METRICS)}.")
    score = partial(score_pairs, metrics=metrics, separator=saved.get("target_separator"))
    return Evaluation(
        PAIRS,
        lambda row: {"text": row["source"], "tags": [tag[1:-1] for tag in row["tags"]]},
        lambda found, rows: {"left as it is": score(rows, copy_source(rows)), "model": score(rows, found)},
        prepare=merge_targets if saved.get("several_targets") else list,
    )
