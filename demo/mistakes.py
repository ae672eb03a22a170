"""Sentences that the model of the page gets wrong, as the page shows them beside its box: computed, not chosen."""

import csv
from collections import defaultdict
from itertools import chain, zip_longest
from pathlib import Path

from atenta import restore_accents
from atenta.tokenization.base_letters import strip_accents

# With the columns `group` and `text`, without quotes.
SENTENCES = Path(__file__).parents[1] / "recipes" / "data" / "everyday_pt" / "test.tsv"
MOST, MOST_OF_GROUP = 12, 2  # sentences that are shown


def find_mistakes() -> dict[str, list[dict]]:
    """Return how many sentences of a test come out right, and some of those that do not.

    Returns:
        `groups`, with `name`, `all` and `right` of each, and `sentences`, with `group`, `given`, `answered` and
        `right`: the first wrong one of each group, then the second.
    """
    with SENTENCES.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    given = [strip_accents(row["text"]) for row in rows]
    answers = restore_accents(given)
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    wrong: dict[str, list[dict]] = defaultdict(list)
    for row, source, answer in zip(rows, given, answers, strict=True):
        group, right = row["group"], row["text"]
        counts[group][0] += 1
        counts[group][1] += answer == right
        if answer != right and len(wrong[group]) < MOST_OF_GROUP:
            wrong[group].append({"group": group, "given": source, "answered": answer, "right": right})
    in_turns = chain.from_iterable(zip_longest(*wrong.values()))
    return {
        "groups": [{"name": name, "all": total, "right": right} for name, (total, right) in counts.items()],
        "sentences": [sentence for sentence in in_turns if sentence][:MOST],
    }
