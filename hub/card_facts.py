"""The facts that a model card states: of a saved model, and of its training, which `metrics.json` keeps."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from pathlib import Path
from textwrap import shorten
from typing import Any, Literal, Self, TypeAlias

from huggingface_hub.dataclasses import type_validator
from safetensors import SafetensorError, safe_open
from transformers import PreTrainedConfig, PreTrainedModel

from .. import registration  # not its names: it is half imported if it is what imports transformers first
from ..configuration.configuration_base import AtentaConfig
from ..engines.saved_model import AS_SAVED, class_of, load_config, read_config, read_saved

METRICS = "metrics.json"
WEIGHTS, INDEX, SHARDS = "model.safetensors", "model.safetensors.index.json", "model-*.safetensors"
_DESCRIPTION = "card"  # what `metrics.json` has for the card beyond the scores
_FEWEST_TEXTS = 20  # of a group whose score is called the worst: those of fewer texts differ by chance
_MOST_DIGITS = 40  # of a whole number that a card states
_LOWER_IS_BETTER = ("error_rate", "bits_per", "perplexity", "loss")
Text = str | Mapping[str, str]
"""A text in one language, or in each of the languages of cards."""
Scores = Mapping[str, Mapping[str, float]]
"""The figures of each system, by the names of the system and of the figure."""

_NUMBER: TypeAlias = int | float
_TEXT: TypeAlias = str | None
_FIGURES = dict[str, dict[str, _NUMBER]]
# The types of what `metrics.json` holds for the card, by the names of `CardFacts`; a cost and a run by their own.
_DESCRIBED: dict[str, Any] = {
    **dict.fromkeys(("title", "example", "language", "licence", "base_model", "limits"), _TEXT),
    **dict.fromkeys(("task", "data"), str | dict[str, str] | None),
    **dict.fromkeys(("datasets", "tags"), list[str]),
    **dict.fromkeys(("rows_inside", "characters_inside"), dict[str, _NUMBER]),
    **dict.fromkeys(("rows", "wrong_words"), dict[str, int]),
    **dict.fromkeys(("cost", "run"), dict[str, Any]),
    "options": dict[str, str | _NUMBER | bool | None],
    "confidence": _FIGURES,
    "card_language": Literal["en", "pt"],
}
_CONFIGURED: dict[str, Any] = {  # what nothing else checks before it is used
    "auto_map": dict[str, Any] | None,
    "dtype": _TEXT,
}
_PARTS: dict[str, dict[str, Any]] = {
    "cost": {
        **dict.fromkeys(("minutes", "kilowatt_hours", "co2_grams"), _NUMBER | None),
        **dict.fromkeys(("tracker", "processor", "gpu", "country"), _TEXT),
    },
    "run": {**dict.fromkeys(("command", "machine", "python", "date"), str), "versions": dict[str, str]},
}


@dataclass(frozen=True, kw_only=True)
class ModelFacts:
    """The facts of a saved model.

    Attributes:
        class_name: Name of the model's class.
        auto_class: Name of transformers' auto class that loads it.
        config: Its configuration.
        parameters: Number of its weights.
        megabytes: Size of the files of its weights, in 10⁶ bytes.
        characters: Size of its alphabet; None if the folder has no tokenizer.
    """

    class_name: str
    auto_class: str
    config: PreTrainedConfig
    parameters: int
    megabytes: float
    characters: int | None

    @property
    def family(self) -> str:
        """`encoder`, `decoder`, `encoder-decoder` or `pair-votes`."""
        return self.config.model_type.removeprefix("atenta_").replace("_", "-")

    @property
    def restores(self) -> bool:
        """Whether the model is a tagger that restores characters."""
        return bool(getattr(self.config, "character_variants", None))

    @property
    def generates(self) -> bool:
        """Whether the model writes texts."""
        return self.auto_class in ("AutoModelForCausalLM", "AutoModelForSeq2SeqLM")

    @classmethod
    def read(cls, folder: str | Path, model: PreTrainedModel | None = None) -> Self:
        """Read the facts from the folder of a saved model.

        Args:
            folder: The folder, with `config.json` and the weights, which are not loaded.
            model: The model that was saved there, if its class is a user's own.

        Raises:
            ValueError: If the folder has no model, or one whose class this package does not define, or is damaged.
        """
        folder = Path(folder)
        if not (folder / "config.json").is_file():
            raise ValueError(f"{folder} has no config.json; expected the folder of a saved model.")
        config = _load_config(folder) if model is None else model.config
        found = next(iter(config.architectures or []), None) if model is None else type(model).__name__
        auto_class = _auto_class_named(found) if model is None else auto_class_of(model)
        if auto_class is None or not isinstance(config, AtentaConfig):
            raise ValueError(
                f"{folder / 'config.json'}: architectures has {found}; expected a class of this package or a subclass."
            )
        weights = weight_files(folder)
        return cls(
            class_name=found,
            auto_class=auto_class,
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
    card_language: str = "en"
    task: Text | None = None
    example: str | None = None
    data: Text | None = None
    language: str | None = None
    licence: str | None = None
    datasets: tuple[str, ...] | list[str] = ()
    base_model: str | None = None
    rows: Mapping[str, int] = field(default_factory=dict)
    rows_inside: Mapping[str, float] = field(default_factory=dict)
    characters_inside: Mapping[str, float] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    cost: Mapping[str, Any] = field(default_factory=dict)
    limits: str | None = None
    tags: tuple[str, ...] | list[str] = ()
    tests: Mapping[str, Scores] = field(default_factory=dict)
    by_length: Mapping[str, Scores] = field(default_factory=dict)
    by_domain: Mapping[str, Scores] = field(default_factory=dict)
    confidence: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    wrong_words: Mapping[str, int] = field(default_factory=dict)
    run: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_metrics(cls, metrics: Mapping[str, Any]) -> Self:
        """Return the facts in the contents of a `metrics.json`: the scores, the run, and those under `card`.

        Raises:
            ValueError: If there are facts that no card has.
        """
        described = dict(metrics.get(_DESCRIPTION, {}))
        if unknown := sorted(described.keys() - {each.name for each in fields(cls)}):
            known = ", ".join(each.name for each in fields(cls))
            raise ValueError(f"found {', '.join(unknown)} under {_DESCRIPTION} of {METRICS}; expected some of {known}")
        tests = {name: each for name, each in metrics.items() if _is_scores(each)}
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
            metrics = read_saved(path)
            _expect_types(metrics)
            return cls.from_metrics(metrics)
        except (ValueError, TypeError) as error:
            while isinstance(error.__cause__, TypeError):  # which names the innermost value
                error = error.__cause__
            told = " ".join(str(error).split()).removeprefix(f"{path} ").partition(" Errors: ")[0]
            raise ValueError(f"{path}: expected the figures of a run: {told}") from None

    @property
    def is_described(self) -> bool:
        """Whether more is known than the model itself."""
        return self != type(self)(card_language=self.card_language, tags=self.tags)

    @property
    def metric(self) -> str | None:
        """The first figure of the model on the first test."""
        first = next(iter(self.tests.values()), {"model": {}})
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
        return figure if any(each in (self.metric or "") for each in _LOWER_IS_BETTER) else -figure


def auto_class_of(model: PreTrainedModel) -> str | None:
    """Return the most specific auto class of a model, or `None` if this package does not register its class."""
    for models in registration.AUTO_CLASSES.values():
        names = [name for name, model_class in models.items() if isinstance(model, model_class)]
        if names:
            return names[-1]
    return None


def _auto_class_named(class_name: str | None) -> str | None:
    for models in registration.AUTO_CLASSES.values():
        names = [name for name, model_class in models.items() if model_class.__name__ == class_name]
        if names:
            return names[-1]
    return None


def is_of_this_package(folder: str | Path) -> bool:
    """Return whether a folder holds a model of this package, going by its `config.json`."""
    try:
        model_type = json.loads(Path(folder, "config.json").read_text(encoding="utf-8")).get("model_type")
    except (OSError, ValueError, AttributeError):
        return False
    return model_type in _model_types()


def _model_types() -> list[str]:
    return [config_class.model_type for config_class in registration.AUTO_CLASSES]


def weight_files(folder: Path) -> list[Path]:
    """Return the files that a loader reads a model's weights from; none if it has no weights.

    Raises:
        ValueError: If the list of several files is damaged, or names something else.
    """
    if (folder / WEIGHTS).is_file() or not (folder / INDEX).is_file():
        return [path for path in [folder / WEIGHTS] if path.is_file()]
    shards = read_saved(folder / INDEX).get("weight_map")
    names: list[Any] = list(shards.values()) if isinstance(shards, dict) and shards else [shards]
    for name in names:
        if not isinstance(name, str) or "/" in name or not fnmatchcase(name, SHARDS):
            raise ValueError(f"{folder / INDEX}: weight_map has {name!r}; expected names such as {SHARDS}.")
    return [folder / name for name in sorted(set(names))]


def count_weights(path: Path) -> int:
    """Return the number of weights in a safetensors file.

    Raises:
        ValueError: If it is damaged.
    """
    try:
        with safe_open(path, framework="numpy") as tensors:
            names = tensors.keys()
            return sum(math.prod(tensors.get_slice(name).get_shape()) for name in names)
    except SafetensorError as error:
        raise ValueError(f"{path} is damaged ({error}): save or download the model again.") from None


def _load_config(folder: Path) -> PreTrainedConfig:
    saved = read_saved(folder / "config.json")
    model_type = saved.get("model_type")
    if isinstance(model_type, str) and model_type not in _model_types():
        raise ValueError(
            f"{folder / 'config.json'}: {class_of(saved)} is not a model of this package ({model_type:.60})."
        )
    for name, expected in _CONFIGURED.items():
        try:
            type_validator(name, saved.get(name), expected)
        except TypeError as error:
            told = shorten(str(error).partition(" Errors: ")[0], 300, placeholder="…")
            raise ValueError(f"{folder / 'config.json'} is damaged: {told}; {AS_SAVED}") from None
    read_config(folder)
    return load_config(folder)


def _count_characters(path: Path) -> int | None:
    if not path.is_file():
        return None
    model = read_saved(path).get("model")
    vocabulary = model.get("vocab") if isinstance(model, Mapping) else None
    if not isinstance(vocabulary, dict | list):  # a list in tokenizers of words
        raise ValueError(f"{path} is damaged: model.vocab is no list of tokens; expected it as it was saved.")
    return sum(len(token) == 1 for token in vocabulary) if model.get("byte_fallback") else None


def _expect_types(metrics: Mapping[str, Any]) -> None:
    """Check the types of what a card states.

    Raises:
        TypeError, ValueError: If one is wrong; the innermost cause names it.
    """
    if (largest := max(_whole_numbers(metrics), default=0)) >= 10**_MOST_DIGITS:
        raise ValueError(f"found a number of {len(str(largest))} digits")
    described = metrics.get(_DESCRIPTION, {})
    type_validator(_DESCRIPTION, described, dict[str, Any])
    for name, expected in _DESCRIBED.items():
        for place, found in ((f"{_DESCRIPTION}.{name}", described), (name, metrics)):
            if name in found and (found is described or name in ("confidence", "wrong_words", "run")):
                type_validator(place, found[name], expected)
                _expect_parts(place, found[name], _PARTS.get(name, {}))
    for least, shares in metrics.get("confidence", {}).items():
        for name in ("decided", "wrong"):
            if name not in shares:
                raise ValueError(f"confidence[{least!r}] has no {name}")
    for name, found in metrics.items():
        if name == "test" or _is_scores(found):
            type_validator(name, found, _FIGURES)
    for kind in ("by_length", "by_domain"):
        type_validator(kind, metrics.get(kind, {}), dict[str, dict[str, Any]])
        for group, of_group in metrics.get(kind, {}).items():
            type_validator(f"{kind}[{group!r}].texts", of_group.get("texts", 0), int)
            scores = {name: each for name, each in of_group.items() if name != "texts"}
            type_validator(f"{kind}[{group!r}]", scores, _FIGURES)
            if "model" not in scores:
                raise ValueError(f"{kind}[{group!r}] has no figures of the model")


def _whole_numbers(value: Any) -> Iterator[int]:
    """Yield the sizes of the whole numbers within an object of JSON."""
    if isinstance(value, int):
        yield abs(value)
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _whole_numbers(inner)


def _expect_parts(place: str, found: Mapping[str, Any], parts: Mapping[str, Any]) -> None:
    for name, expected in parts.items():
        if name in found:
            type_validator(f"{place}.{name}", found[name], expected)
            if isinstance(found[name], float) and not math.isfinite(found[name]):
                raise ValueError(f"{place}.{name} is {found[name]}; expected a finite number")


def _is_scores(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("model"), Mapping)
