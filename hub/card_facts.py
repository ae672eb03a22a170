"""The facts that a model card states: of a saved model, and of its training, which `metrics.json` keeps."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from huggingface_hub.dataclasses import type_validator

from ..engines.kinds import Kind, kind_of
from ..engines.saved_model import (
    AS_SAVED,
    CONFIG,
    class_of,
    is_ours,
    load_config,
    read_config,
    read_saved,
    weight_files,
)
from ..engines.saved_tensors import count_weights
from .card_words import CardLanguage, less_is_better

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel

METRICS = "metrics.json"
_DESCRIPTION = "card"  # what `metrics.json` has for the card beyond the scores
_FEWEST_TEXTS = 20  # of a group whose score is called the worst: those of fewer texts differ by chance
_MOST_DIGITS = 40  # of a whole number that a card states
_NUMBER: TypeAlias = int | float
Text: TypeAlias = str | dict[str, str]
"""A text in one language, or in each of the languages of cards."""
Scores: TypeAlias = dict[str, dict[str, _NUMBER]]
"""The figures of each system, by the names of the system and of the figure."""
# The types of what a card states of a cost and of a run, which have other values too.
_PARTS: dict[str, dict[str, Any]] = {
    "cost": {
        **dict.fromkeys(("minutes", "kilowatt_hours", "co2_grams"), _NUMBER | None),
        **dict.fromkeys(("tracker", "processor", "gpu", "country"), str | None),
    },
    "run": {**dict.fromkeys(("command", "machine", "python", "date"), str), "versions": dict[str, str]},
}


@dataclass(frozen=True, kw_only=True)
class ModelFacts:
    """The facts of a saved model.

    Attributes:
        class_name: Name of the model's class.
        kind: Its kind: what it does and what loads it.
        config: Its configuration.
        parameters: Number of its weights.
        megabytes: Size of the files of its weights, in 10⁶ bytes.
        characters: Size of its alphabet; None if the folder has no tokenizer.
    """

    class_name: str
    kind: Kind
    config: "PreTrainedConfig"
    parameters: int
    megabytes: float
    characters: int | None

    @property
    def family(self) -> str:
        """`encoder`, `decoder`, `encoder-decoder` or `pair-votes`."""
        return self.config.model_type.removeprefix("atenta_").replace("_", "-")

    @property
    def tags_characters(self) -> bool:
        """Whether the model is a tagger of characters."""
        return self.kind.task == "character-restoration"

    @property
    def writes_units(self) -> bool:
        """Whether it is such a tagger, and writes the units of words, such as their phones, instead."""
        return self.kind.name == "letters-to-units"

    @property
    def generates(self) -> bool:
        """Whether the model writes texts."""
        return self.kind.task in ("text-generation", "text2text-generation")

    @classmethod
    def read(cls, folder: str | Path, model: "PreTrainedModel | None" = None) -> Self:
        """Read the facts from a saved model's folder; `model` is what was saved there, if its class is a user's own.

        Raises:
            FileNotFoundError: If the folder has no model.
            ValueError: If it has one whose class this package does not define, or a damaged one.
        """
        folder = Path(folder)
        if model is None:
            saved = read_config(folder)
            class_name = class_of(saved)
            if not is_ours(saved):
                found = f"{class_name:.60} is not a model of this package ({saved.get('model_type')!s:.60})"
                raise ValueError(f"{folder / CONFIG}: {found}; expected one.")
            config, registered = load_config(folder), _registered_classes().get(class_name)
        else:
            config, class_name, registered = model.config, type(model).__name__, registered_class(model)
        if registered is None:
            raise ValueError(
                f"{folder / CONFIG}: architectures has {class_name:.60}; "
                "expected a class of this package or a subclass."
            )
        weights = weight_files(folder)
        return cls(
            class_name=class_name,
            kind=kind_of(config.to_dict(), registered.__name__),
            config=config,
            parameters=sum(map(count_weights, weights)),
            megabytes=sum(path.stat().st_size for path in weights) / 1e6,
            characters=_count_characters(folder / "tokenizer.json"),
        )


@dataclass(frozen=True, kw_only=True)
class CardFacts:
    """The facts of a model's training, all of them optional: what is not known is left out of the card.

    Attributes:
        title: The title; by default it is made of the repository's or the folder's name.
        card_language: `en` or `pt`.
        task: What the model does and what for, in a sentence.
        example: A text to try it with.
        data: The data that it was trained and tested on.
        language: Code of the data's language, such as `pt`.
        licence: Licence of the weights, by its name on the Hub, such as `apache-2.0`.
        datasets: Data sets on the Hub that it was trained on.
        base_model: The model on the Hub that training started from.
        rows: Number of rows of each split.
        rows_inside: Share of the rows of each split whose characters are all in the alphabet.
        characters_inside: Share of the characters of each split that are in the alphabet.
        options: The options of the training, by their names.
        cost: Minutes, hardware, energy and CO₂ of the training, as `TrainingCost` of the recipes measures them.
        limits: Limits of the model, in Markdown, in addition to those of all character models.
        tags: Tags for the Hub, in addition to those of all models of this package.
        tests: The scores of each test.
        by_length: The scores of the texts of each range of lengths, with the number of `texts`.
        by_domain: The same for each domain.
        confidence: For a restorer of characters: shares of the characters `decided` and `wrong` by least confidence.
        wrong_words: For a restorer of characters: number of the wrong words of the test, by kind.
        run: Command, machine, versions and date.
    """

    title: str | None = None
    card_language: CardLanguage = "en"
    task: Text | None = None
    example: str | None = None
    data: Text | None = None
    language: str | None = None
    licence: str | None = None
    datasets: tuple[str, ...] | list[str] = ()
    base_model: str | None = None
    rows: dict[str, int] = field(default_factory=dict)
    rows_inside: dict[str, _NUMBER] = field(default_factory=dict)
    characters_inside: dict[str, _NUMBER] = field(default_factory=dict)
    options: dict[str, str | _NUMBER | bool | None] = field(default_factory=dict)
    cost: dict[str, Any] = field(default_factory=dict)
    limits: str | None = None
    tags: tuple[str, ...] | list[str] = ()
    tests: dict[str, Scores] = field(default_factory=dict)
    by_length: dict[str, dict[str, Any]] = field(default_factory=dict)
    by_domain: dict[str, dict[str, Any]] = field(default_factory=dict)
    confidence: Scores = field(default_factory=dict)
    wrong_words: dict[str, int] = field(default_factory=dict)
    run: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for each in fields(self):
            _check_type(each.name, getattr(self, each.name), each.type)
        for name, parts in _PARTS.items():
            for part, value in getattr(self, name).items():
                _check_type(f"{name}.{part}", value, parts.get(part, Any))
                if isinstance(value, float) and not math.isfinite(value):
                    raise ValueError(f"{name}.{part} is {value}; expected a finite number")
        for least, shares in self.confidence.items():
            if missing := {"decided", "wrong"} - shares.keys():
                raise ValueError(f"confidence[{least!r}] has no {min(missing)}")
        for kind in ("by_length", "by_domain"):
            for group, of_group in getattr(self, kind).items():
                place, scores = f"{kind}[{group!r}]", {**of_group}
                _check_type(f"{place}.texts", scores.pop("texts", 0), int)
                _check_type(place, scores, Scores)
                if "model" not in scores:
                    raise ValueError(f"{place} has no figures of the model")
        if (largest := max(_whole_numbers(vars(self)), default=0)) >= 10**_MOST_DIGITS:
            raise ValueError(f"found a number of {len(str(largest))} digits")

    @classmethod
    def from_metrics(cls, metrics: Mapping[str, Any]) -> Self:
        """Return the facts in the contents of a `metrics.json`: the scores, the run, and those under `card`.

        Raises:
            ValueError: If there are facts that no card has, or a value is of another type.
        """
        _check_type(_DESCRIPTION, metrics.get(_DESCRIPTION, {}), dict[str, Any])
        _check_type("test", metrics.get("test", {}), Scores)
        described = dict(metrics.get(_DESCRIPTION, {}))
        if unknown := sorted(described.keys() - {each.name for each in fields(cls)}):
            known = ", ".join(each.name for each in fields(cls))
            raise ValueError(f"found {', '.join(unknown)} under {_DESCRIPTION} of {METRICS}; expected some of {known}")
        tests = {name: each for name, each in metrics.items() if _is_test(each)}
        for name in ("by_length", "by_domain", "confidence", "wrong_words", "run"):
            described.setdefault(name, metrics.get(name, {}))
        return cls(**{"tests": tests, **described})

    @classmethod
    def read(cls, folder: str | Path) -> Self:
        """Return the facts in the `metrics.json` of a folder; none if it has no such file.

        Raises:
            ValueError: If the file is damaged.
        """
        path = Path(folder) / METRICS
        if not path.is_file():
            return cls()
        try:
            return cls.from_metrics(_without_infinite(read_saved(path)))
        except ValueError as error:
            raise ValueError(f"{path}: expected the figures of a run: {str(error).removeprefix(f'{path} ')}") from None

    @property
    def is_described(self) -> bool:
        """Whether more is known than the model itself."""
        return self != type(self)(card_language=self.card_language, tags=self.tags)

    @property
    def test_split(self) -> str:
        """The split of the first test: `validation` if the run had no other rows for it."""
        return "validation" if "validation" in self.rows and "test" not in self.rows else "test"

    @property
    def metric(self) -> str | None:
        """The first figure of the model on the first test."""
        first: Scores = next(iter(self.tests.values()), {"model": {}})
        return next(iter(first["model"]), None)

    def worst_groups(self) -> dict[str, dict[str, Any]]:
        """Return where the model is worst, under `length`, `domain` and `test`.

        Each has the `name` of the group, the model's figure there, `worst`, and that of the first test, `mean`. A kind
        of group is missing if the model is nowhere worse than in the first test. Groups of few texts are left out.
        """
        if self.metric is None:
            return {}
        (_, first), *further = self.tests.items()
        mean = first["model"][self.metric]
        kinds = {"length": self.by_length, "domain": self.by_domain, "test": dict(further)}
        found = {}
        for kind, groups in kinds.items():
            figures = {
                name: scores["model"][self.metric]
                for name, scores in groups.items()
                if scores.get("texts", _FEWEST_TEXTS) >= _FEWEST_TEXTS and self.metric in scores["model"]
            }
            worst = max(figures, key=lambda name: self._badness(figures[name]), default=None)
            if worst is not None and self._badness(figures[worst]) > self._badness(mean):
                found[kind] = {"name": worst, "worst": figures[worst], "mean": mean}
        return found

    def better_baseline(self) -> tuple[str, float, float] | None:
        """Return the best baseline of the first test that is not worse than the model, its figure and the model's."""
        if self.metric is None:
            return None
        first = next(iter(self.tests.values()))
        own = first["model"][self.metric]
        others = {
            name: scores[self.metric]
            for name, scores in first.items()
            if not name.startswith("model") and self.metric in scores
        }
        best = min(others, key=lambda name: self._badness(others[name]), default=None)
        if best is None or self._badness(others[best]) > self._badness(own):
            return None
        return best, others[best], own

    def _badness(self, figure: float) -> float:
        return figure if less_is_better(self.metric or "") else -figure


def _registered_classes() -> dict[str, "type[PreTrainedModel]"]:
    from .. import registration  # which imports transformers, and that this module

    return {each.__name__: each for models in registration.AUTO_CLASSES.values() for each in models.values()}


def registered_class(model: "PreTrainedModel") -> "type[PreTrainedModel] | None":
    """Return the class of this package that a model is of; `None` for other models, such as a user's own."""
    registered = {*_registered_classes().values()}
    return next((each for each in type(model).__mro__ if each in registered), None)


def is_of_this_package(folder: str | Path) -> bool:
    """Return whether a folder holds a model of this package, going by its `config.json`.

    Raises:
        ValueError: If that file is damaged.
    """
    path = Path(folder) / CONFIG
    return path.is_file() and is_ours(read_saved(path))


def _count_characters(path: Path) -> int | None:
    if not path.is_file():
        return None
    model: Any = read_saved(path).get("model")
    vocabulary = model.get("vocab") if isinstance(model, Mapping) else None
    if not isinstance(vocabulary, dict | list):  # a list in tokenizers of words
        raise ValueError(f"{path} is damaged: model.vocab is not a list of tokens; {AS_SAVED}.")
    return sum(len(token) == 1 for token in vocabulary) if model.get("byte_fallback") else None


def _check_type(name: str, value: Any, expected: Any) -> None:
    """Check the type of a value.

    Raises:
        ValueError: If it, or one within it, is of another. The message names the innermost.
    """
    try:
        type_validator(name, value, expected)
    except TypeError as error:
        while isinstance(error.__cause__, TypeError):
            error = error.__cause__
        raise ValueError(shorten(str(error).partition(" Errors: ")[0], 300, placeholder="…")) from None


def _without_infinite(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Return metrics without the scores of tests that are null, as infinite ones are saved."""

    def finite(row: Any) -> Any:
        return {name: each for name, each in row.items() if each is not None} if isinstance(row, Mapping) else row

    return {
        name: {kind: finite(row) for kind, row in each.items()} if _is_test(each) else each
        for name, each in metrics.items()
    }


def _is_test(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("model"), Mapping)


def _whole_numbers(value: Any) -> Iterator[int]:
    """Yield the sizes of the whole numbers within an object of JSON."""
    if isinstance(value, int):
        yield abs(value)
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _whole_numbers(inner)
