"""The scoring of a saved model of a task: the rows that it reads, and what its answers to them are worth.

Each task has a function `evaluate_…` that returns an `Evaluation` from what a recipe saved with its model.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from atenta.recipes.reading import RowFormat

Row = Mapping[str, Any]
Scores = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Evaluation:
    """The rows on which a saved model is scored, and their scores.

    Attributes:
        row_format: The format of the rows' files.
        fields: Returns what the model reads of a row, as the fields of a line of `atenta predict`.
        score: Returns the scores of the model, and of what it is compared with, from its answers and the rows.
        answer: Returns the part of a prediction that is scored.
        prepare: Returns the rows that are scored, such as one for each source of several pairs.
    """

    row_format: RowFormat
    fields: Callable[[Row], Row]
    score: Callable[[Sequence[Any], Sequence[Row]], Scores]
    answer: Callable[[Any], Any] = attrgetter("text")
    prepare: Callable[[Sequence[Row]], Sequence[Row]] = list


def with_known(row_format: RowFormat, column: str, known: Collection[str]) -> RowFormat:
    """Return a format that refuses labels or tags which a model does not have.

    Args:
        row_format: The format of the task.
        column: The column with a label, or with a list of tags.
        known: The labels of the model.
    """

    def check(fields: Row) -> dict[str, Any]:
        row = row_format.check(fields)
        found = row[column] if isinstance(row[column], list) else [row[column]]
        if unknown := [name for name in found if name not in known]:
            name = column.removesuffix("s")
            raise ValueError(f"found the {name} {unknown[0]!r}; expected one of the model's: {', '.join(known):.400}")
        return row

    return replace(row_format, check=check)
