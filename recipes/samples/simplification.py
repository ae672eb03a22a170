"""Samples of sentences and their simpler wordings: which of two is the simpler one, and how to word it."""

import random
from typing import Any

from atenta.recipes.samples.files import SPLITS, read_cells


def simpler_sentences() -> dict[str, list[dict[str, Any]]]:
    """Return pairs of a sentence and its rewriting, in one order or the other, and which of them is the simpler one.

    The pairs are those of all levels that differ, without rewritings into several sentences that are joined: there,
    counting full stops would answer. Of a strong rewriting into several, which has the longest sentence alone, a pair
    stays. The order is drawn for each pair by its texts, whatever other rows there are.

    Returns:
        The rows of each split: `text` and `text_pair` are sentences, `label` is `first` or `second`.
    """
    return {
        split: [
            _in_an_order(source, target)
            for level, _, divided, source, target in _read(split)
            if source != target and (divided == "N" or level == "ORI>STR")
        ]
        for split in SPLITS
    }


def simplifications() -> dict[str, list[dict[str, Any]]]:
    """Return pairs of a sentence, or a few, and a simpler wording, with the level of the rewriting as a tag.

    The levels are ORI-NAT, of a sentence as written, naturally simplified; NAT-STR, of that, strongly simplified; and
    ORI-STR, of both steps at once. Pairs that do not differ are left out: most are copies, which a model of few pairs
    learns first. So are those of ORI-STR that were divided, of which the corpus has the longest part alone.

    Returns:
        The rows of each split: `source`, `target` and `tags`.
    """
    return {
        split: [
            {"source": source, "target": target, "tags": [f"<{level.replace('>', '-')}>"]}
            for level, _, divided, source, target in _read(split)
            if source != target and not (divided == "S" and level == "ORI>STR")
        ]
        for split in SPLITS
    }


def _in_an_order(source: str, target: str) -> dict[str, str]:
    if random.Random(f"{source}\t{target}").random() < 0.5:
        return {"text": source, "text_pair": target, "label": "second"}
    return {"text": target, "text_pair": source, "label": "first"}


def _read(split: str) -> list[list[str]]:
    """Return the cells of each row: level, whether the text changed, whether it was divided, source and target."""
    return read_cells(f"simplification_pt/{split}.tsv")[1:]
