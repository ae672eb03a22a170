"""The base of every task: the rows of its files, what a model reads of them, scores, and baselines."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from atenta.engines.kinds import KINDS, class_names, saved_options
from atenta.recipes.reading.splits import RowFormat

Row = Mapping[str, Any]
Answers = Sequence[Any]
Baselines = Mapping[str, Callable[[Sequence[Row]], Answers]]


def distinct_names(rows: Iterable[Row], column: str) -> list[str]:
    """Return the distinct labels, or tags of lists, in a column, by code point: the order of rows does not matter."""
    values = (row[column] for row in rows)
    return sorted({name for value in values for name in ([value] if isinstance(value, str) else value)})


class Task:
    """A task, with which a recipe scores its model, and `atenta evaluate` a saved one.

    Attributes:
        kind: The name of the kind of models that answer, in `engines/kinds.py`.
        columns: What a model reads of a row, if a line of `atenta predict` has fields of the same names.
        config: The model's `config.json`; empty for a task without a model yet.
        options: What scores depend on besides the model, saved with it in `task_specific_params`.
    """

    kind: ClassVar[str]
    columns: ClassVar[Sequence[str]] = ()

    def __init__(self, config: Row | None = None, **options: Any) -> None:
        """Take the options that were saved with a model, and others instead of them."""
        self.config = config or {}
        self.options: dict[str, Any] = {**saved_options(self.config, KINDS[self.kind].task), **options}

    @property
    def task_specific_params(self) -> dict[str, dict[str, Any]]:
        """The options, as they are saved in the model's configuration, with the kind if others have its head too."""
        kind = KINDS[self.kind]
        has_others = any(each.head == kind.head and each is not kind for each in KINDS.values())
        return {kind.task: self.options | ({"kind": kind.name} if has_others else {})}

    @property
    def row_format(self) -> RowFormat:
        """The format of the rows' files, for the options; labels and tags must be those of the model."""
        raise NotImplementedError

    def fields(self, row: Row) -> Row:
        """Return what the model reads of a row, as the fields of a line of `atenta predict`."""
        return {name: row[name] for name in self.columns}

    def answer(self, prediction: Any) -> Any:
        """Return the part of a line's prediction that is scored."""
        return prediction.text

    def prepare(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Return the rows that are scored."""
        return rows

    def score(self, rows: Sequence[Row], answers: Answers) -> dict[str, float]:
        """Return the scores of an answer to each row."""
        raise NotImplementedError

    def baselines(self, train: Sequence[Row] | None = None) -> Baselines:
        """Return what answers rows without a model; without training rows, what needs none."""
        return {}

    def with_baselines(
        self, rows: Sequence[Row], output: Answers, baselines: Baselines | None = None
    ) -> dict[str, Answers]:
        """Return the answers of the baselines, by default of those without training, and a `model`'s output."""
        answers = {name: answer(rows) for name, answer in (baselines or self.baselines()).items()}
        return {**answers, "model": output}

    def compare(
        self, rows: Sequence[Row], output: Answers, baselines: Baselines | None = None
    ) -> dict[str, dict[str, float]]:
        """Return the scores of the baselines, by default of those without training, and of a model's output."""
        answers = self.with_baselines(rows, output, baselines)
        return {name: self.score(rows, of_kind) for name, of_kind in answers.items()}

    def _with_known(self, row_format: RowFormat, column: str) -> RowFormat:
        """Return a format that refuses the labels, or lists of tags, that the model does not have."""
        if not self.config:
            return row_format
        known: Collection[str] = class_names(self.config).values()

        def check(fields: Row) -> dict[str, Any]:
            row = row_format.check(fields)
            found = row[column] if isinstance(row[column], list) else [row[column]]
            if unknown := [name for name in found if name not in known]:
                name = column.removesuffix("s")
                raise ValueError(
                    f"found the {name} {unknown[0]!r}; expected one of the model's: {', '.join(known):.400}"
                )
            return row

        return replace(row_format, check=check)
