"""The data sets of the table: their files, the rows that are used of them, how outputs are scored, and baselines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from atenta.recipes.reading.records import read_lines
from atenta.recipes.samples.files import DATA, FILES, SPLITS
from atenta.recipes.tasks.transduction import PairTask, check_pair, look_up
from atenta.recipes.training.parsing import CONFIGS

Rows = Sequence[Mapping[str, Any]]

_SHARED_TASK = "<https://github.com/sigmorphon/{}>"
_G2P_WHERE = {
    "en": f"`data` of {_SHARED_TASK.format('2021-task1')}, as the folder `g2p-sigmorphon-2021`",
    "pt": f"`data` de {_SHARED_TASK.format('2021-task1')}, como a pasta `g2p-sigmorphon-2021`",
}


@dataclass(frozen=True)
class DataSet:
    """Pairs of words that all contestants are trained and tested on.

    Attributes:
        name: Its name on the command line.
        label: What it is, in English (`en`) and in Portuguese (`pt`).
        config: The file of `recipes/configs` that ours is trained with, and whose sizes its peer of equal size has.
        files: The files of training, validation and test, in the user's folder or, if they are `shipped`, in
            `recipes/data`: a source, a target and, for some, tags, separated by tabs.
        shipped: Whether the repository has the files.
        rows: How many rows of a split are used, evenly spaced; without a number: all.
        where: Where a user gets files that are not shipped, in both languages.
    """

    name: str
    label: Mapping[str, str]
    config: str
    files: tuple[str, str, str]
    shipped: bool = False
    rows: Mapping[str, int] = field(default_factory=dict)
    where: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def options(self) -> dict[str, Any]:
        """The options of ours: those of its configuration file."""
        return yaml.safe_load((CONFIGS / self.config).read_text(encoding="utf-8"))

    @property
    def separator(self) -> str | None:
        """The text that separates the units of a target; `None` if its characters are the units."""
        return self.options.get("target_separator")

    @property
    def task(self) -> PairTask:
        """The task, which scores the nearest of a word's targets."""
        return PairTask(metrics=["exact_match"], target_separator=self.separator, several_targets=True)

    def read(self, folder: Path) -> dict[str, Rows]:
        """Return the rows of `train`, `validation` and `test`; in the test, those of a source are one, with `targets`.

        Files that are not shipped are in the user's folder.

        Raises:
            FileNotFoundError: If a file is missing.
            ValueError: If a line is not a source, a target and perhaps tags.
        """
        paths = [(DATA if self.shipped else folder) / file for file in self.files]
        if missing := [str(path) for path in paths if not path.is_file()]:
            where = f"; get {self.where['en']}, and name the folder above with --data_folder" if self.where else ""
            raise FileNotFoundError(f"{self.name}: found no {', '.join(missing)}{where}")
        rows: dict[str, Rows] = {}
        for split, path in zip(SPLITS, paths):
            read = [_read_row(f"{path}, line {number}", line) for number, line in read_lines(path)]
            count = min(self.rows.get(split, len(read)), len(read))
            rows[split] = [read[index * len(read) // count] for index in range(count)]
        return {**rows, "test": self.task.prepare(rows["test"])}

    def words_wrong(self, test: Rows, outputs: Sequence[str]) -> float:
        """Return the share of test words whose output is none of their targets."""
        return 1 - self.task.score(test, outputs)["exact_match"]

    def answer(self, contestant: str, train: Rows, test: Rows) -> Sequence[str]:
        """Return the outputs of a contestant without a model: `look_up` or `letters_in_context`."""
        if contestant == "look_up":
            return look_up(train, test)
        return self.task.baselines(train, of_words=True)["letters in context"](test)


def _read_row(where: str, line: Any) -> Mapping[str, Any]:
    try:
        if not isinstance(line, str):
            raise line
        cells = line.split("\t")
        if not 2 <= len(cells) <= 3:
            raise ValueError(f"found {len(cells)} columns; expected a source, a target and perhaps tags")
        return check_pair(dict(zip(("source", "target", "tags"), cells)))
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def write_rows(path: Path, rows: Rows) -> None:
    """Write rows as lines of a source, a target and, if any row has tags, these: `V;3;PL`. Nothing is quoted."""
    columns = [[row["source"] for row in rows], [row["target"] for row in rows]]
    if any(row["tags"] for row in rows):
        columns.append([";".join(tag[1:-1] for tag in row["tags"]) for row in rows])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join("\t".join(cells) + "\n" for cells in zip(*columns)), encoding="utf-8")


def _low(name: str, code: str, label: Mapping[str, str]) -> DataSet:
    files = tuple(f"g2p-sigmorphon-2021/low/{code}_{split}.tsv" for split in ("train", "dev", "test"))
    return DataSet(name, label, "italian_g2p.yaml", files, where=_G2P_WHERE)


def _shipped(name: str, label: Mapping[str, str]) -> DataSet:
    return DataSet(name, label, f"{name}_g2p.yaml", FILES[f"{name}_g2p"], shipped=True)


DATA_SETS = {
    each.name: each
    for each in (
        _shipped("italian", {"en": "Italian, 800 words to phones", "pt": "Italiano, 800 palavras em fones"}),
        _low("greek", "gre", {"en": "Greek, 800 words to phones", "pt": "Grego, 800 palavras em fones"}),
        _low("adyghe", "ady", {"en": "Adyghe, 800 words to phones", "pt": "Adigue, 800 palavras em fones"}),
        _shipped("french", {"en": "French, 8,000 words to phones", "pt": "Francês, 8.000 palavras em fones"}),
        DataSet(
            "fg2p",
            {
                "en": "Portuguese of Brazil with stress marks (FG2P), 10,000 words to phones",
                "pt": "Português do Brasil com marcas de tonicidade (FG2P), 10.000 palavras em fones",
            },
            "french_g2p.yaml",  # the configuration of as many words
            ("g2p-pt/fg2p-train.tsv", "g2p-pt/fg2p-val.tsv", "g2p-pt/fg2p-test.tsv"),
            rows={"train": 10_000, "validation": 1_000, "test": 2_000},
            where={
                "en": "`dicts/pt-br.tsv` of <https://github.com/LeoPR/FG2P>, split by its own code, phones separated "
                "by spaces, as `fg2p-train.tsv`, `fg2p-val.tsv` and `fg2p-test.tsv` in the folder `g2p-pt`",
                "pt": "`dicts/pt-br.tsv` de <https://github.com/LeoPR/FG2P>, dividido por seu próprio código, fones "
                "separados por espaços, como `fg2p-train.tsv`, `fg2p-val.tsv` e `fg2p-test.tsv` na pasta `g2p-pt`",
            },
        ),
        DataSet(
            "inflection",
            {"en": "Portuguese inflection, 1,000 pairs", "pt": "Flexão do português, 1.000 pares"},
            "inflection.yaml",
            tuple(f"inflection-pt/portuguese-{split}" for split in ("train-medium", "dev", "uncovered-test")),
            where={
                "en": f"`all/task1` of {_SHARED_TASK.format('conll2017')}, as the folder `inflection-pt`",
                "pt": f"`all/task1` de {_SHARED_TASK.format('conll2017')}, como a pasta `inflection-pt`",
            },
        ),
    )
}
