"""The rows of rows.yaml, each of which is a task: a recipe with its options, its seeds and its figures."""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

import yaml

FOLDER = Path(__file__).resolve().parent
_Named = TypeVar("_Named")


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of rows.yaml.

    Attributes:
        name: the name of its runs.
        task: what it is about, in English (`en`) and Portuguese (`pt`).
        command: the recipe with its options; `{data}` stands for the folder of data that are not shipped, `{outputs}`
            for that of the models, `{seed}` for the seed.
        seeds: the seeds that it is run with.
        quick: whether a run takes less than five minutes on two cores.
        figures: the scores in the table: `score` in metrics.json, `label`, `error` if 1 − score is shown, the `test`
            set if it is not `test`, and the `target`, the worst figure that reaches it. None: a step that other rows
            start from, which is not in the table.
        answers: which of the answers in metrics.json is the model's.
        baseline: the answer in metrics.json that is made without a model; `None` if there is none.
        ensemble_of: another row, whose models are scored together instead of a training.
        test_file: what an ensemble is scored on.
        needs: rows that are run before.
        files: files of `{data}` that must be there; those with a value are copied to it in `{outputs}`.
        where: where these files can be had, in English and Portuguese.
        samples: splits of the recipes' samples of pairs, such as `accents/test`, and the files of `{outputs}` that
            they are written to, for what reads files alone.
        published: figures of others: `figure`, `by`, `source`, a `note`, and `figure_of`, the number of our figure
            that each is compared with, if not 0.
        note: what else must be known, in English and Portuguese.
    """

    name: str
    task: Mapping[str, str]
    figures: Sequence[Mapping[str, Any]] = ()
    command: str = ""
    seeds: Sequence[int] = (42,)
    quick: bool = False
    answers: str = "model"
    baseline: str | None = None
    ensemble_of: str | None = None
    test_file: str | None = None
    needs: Sequence[str] = ()
    files: Mapping[str, str | None] = field(default_factory=dict)
    where: Mapping[str, str] = field(default_factory=dict)
    samples: Mapping[str, str] = field(default_factory=dict)
    published: Sequence[Mapping[str, Any]] = ()
    note: Mapping[str, str] = field(default_factory=dict)

    @property
    def needed(self) -> list[str]:
        """The rows whose models this one starts from, or scores."""
        return [*self.needs, *filter(None, [self.ensemble_of])]


def read_rows(path: Path = FOLDER / "rows.yaml") -> dict[str, Row]:
    """Return the rows by their names.

    Raises:
        ValueError: If the file is no list of rows, a key is unknown or missing, a name is there twice, or a row names
            one that is not before it.
    """
    rows = read_named(read_yaml(path), Row, "row", path)
    for place, row in enumerate(rows.values()):
        if missing := set(row.needed) - set(list(rows)[:place]):
            raise ValueError(f"{path}: {row.name!r} needs {', '.join(sorted(missing))}; expected rows before it.")
    if without := [row.name for row in rows.values() if not row.command]:
        raise ValueError(f"{path}: {', '.join(without)}: no command; expected a recipe or, of an ensemble, options.")
    return rows


def read_yaml(path: Path) -> Any:
    """Return what a YAML file holds.

    Raises:
        ValueError: If it cannot be read.
    """
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ValueError(f"{path} cannot be read as YAML: {' '.join(str(error).split())}") from None


def read_named(found: Any, made: type[_Named], kind: str, path: Path) -> dict[str, _Named]:
    """Return objects by their names.

    Args:
        found: a list of mappings, whose keys are fields of the objects; one is `name`.
        made: the dataclass of the objects. It may check its fields, and raise `ValueError`.
        kind: what an object is, in a word, for the messages.
        path: the file in which they were found, for the messages.

    Raises:
        ValueError: If this is no such list, a key is unknown or missing, a name is there twice, or a field is wrong.
    """
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise ValueError(f"{path} has no list of {kind}s; expected `- name: …` for each {kind}.")
    objects: dict[str, _Named] = {}
    for given in found:
        name = given.get("name", f"a {kind} without a name")
        expect_keys(given, made, f"{path}: {name!r}")
        if not isinstance(name, str):
            raise ValueError(f"{path}: {name!r} is the name of a {kind}; expected text.")
        if name in objects:
            raise ValueError(f"{path} has two {kind}s {name!r}; expected one of each name.")
        try:
            objects[name] = made(**given)
        except ValueError as error:
            raise ValueError(f"{path}: {name!r}: {error}") from None
    return objects


def expect_keys(given: Mapping[str, Any], made: type, where: str) -> None:
    """Check that keys are fields of a dataclass, and that those that it needs are there.

    Raises:
        ValueError: If a key is unknown or missing. The message begins with where that is.
    """
    known = {each.name for each in fields(made)}
    needed = {each.name for each in fields(made) if each.default is MISSING and each.default_factory is MISSING}
    if unknown := given.keys() - known:
        listed = ", ".join(sorted(map(str, unknown)))
        raise ValueError(f"{where} has {listed}; expected some of {', '.join(sorted(known))}.")
    if missing := needed - given.keys():
        raise ValueError(f"{where} has no {', '.join(sorted(missing))}.")
