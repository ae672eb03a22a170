# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["atenta[recipes]"]
#
# [tool.uv.sources]
# atenta = { path = "..", editable = true }  # this clone; UV_NO_SOURCES=1 takes the package from an index
# ///
"""Train an encoder-decoder on pairs of your own, `source<TAB>target` lines: --train_file pairs.tsv, and no more.

The file of options follows from the pairs: words.yaml if their sources are single words, with or without feature tags
in a third column, and sentences.yaml otherwise. The number of steps follows from the number of pairs. What is chosen
is printed, and each option that is given overrides it. All options are those of seq2seq.py, which trains.
"""

import atenta.recipes.terminal  # noqa: F401  # first, because the others take seconds

import math
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from atenta.recipes import seq2seq
from atenta.recipes.reading.records import BadRow, exit_on, printable
from atenta.recipes.tasks.transduction import PAIRS
from atenta.recipes.training.parsing import given_options, parse_arguments
from atenta.recipes.training.runs import run_recipe

_SINGLE_WORDS = 0.95  # share of the sources
_STEPS = 40  # times the square root of the number of pairs
_FEWEST_STEPS, _MOST_STEPS = 200, 10_000


def main() -> None:
    """Choose the options that the pairs ask for, say which, and train with `seq2seq.py`."""
    given, words = given_options(), sys.argv[1:]
    has_width = "num_beams" in given and not given & {"config", "num_return_sequences"}
    if has_width:
        words += ["--num_return_sequences", "1"]  # until it is known whether there are as many as beams
    options = parse_arguments(*seq2seq.OPTIONS, description=__doc__, default_config="words.yaml", arguments=words)
    data, search, training = options[0], options[-2], options[-1]
    if not data.train_file:
        raise SystemExit(
            "Give --train_file, a file of your own pairs: source<TAB>target lines, csv, jsonl or parquet."
        )
    if "config" not in given:
        with exit_on(ValueError, OSError):
            count, kind, config = describe_pairs(data.train_file)
        chosen = {"config": config, "output_dir": str(Path("outputs", Path(data.train_file[0]).stem))}
        chosen["max_steps"] = "-1" if "num_train_epochs" in given else str(choose_steps(count))
        if has_width and config == "words.yaml":
            chosen["num_return_sequences"] = str(search.num_beams)
        words = [word for name, value in chosen.items() if name not in given for word in (f"--{name}", value)]
        sys.argv[1:1] = words  # which the card states too
        if training.process_index == 0:
            print(
                printable(f"{count:,} pair{'s' * (count != 1)} of {kind}: as `seq2seq {shlex.join(words)}`\n"),
                flush=True,
            )
    seq2seq.main()


def describe_pairs(paths: Sequence[str]) -> tuple[int, str, str]:
    """Return the number of pairs in files, what they are, and the file of options for them; bad rows do not count.

    Raises:
        ValueError: If a file has no pairs, or they cannot be read.
        OSError: If a file cannot be read.
    """
    records = [record for path in paths for record in PAIRS.read(path) if not isinstance(record, BadRow)]
    rows = []
    for _, fields in records:
        with suppress(ValueError):  # of a bad row
            rows.append(PAIRS.check(fields))
    single = sum(len(row["source"].split()) == 1 for row in rows)
    kind, config = ("words", "words.yaml") if single >= _SINGLE_WORDS * len(rows) else ("sentences", "sentences.yaml")
    tagged = " with feature tags" if any(row["tags"] for row in rows) else ""
    return len(rows), f"{kind}{tagged}", config


def choose_steps(pairs: int) -> int:
    """Return the number of steps for a number of pairs: 800 for 400, and twice as many for four times as many."""
    hundreds = round(_STEPS * math.sqrt(pairs) / 100)  # so that the last evaluation, at a tenth, is at the end
    return min(max(100 * hundreds, _FEWEST_STEPS), _MOST_STEPS)


if __name__ == "__main__":
    run_recipe(main)
