"""Model cards: the template `hub_card.md`, in two languages, filled from a saved model and its `metrics.json`.

Importing this module makes models save their cards.
"""

import hashlib
import math
import platform
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jinja2
import yaml
from huggingface_hub import EvalResult, ModelCard, ModelCardData
from transformers import PreTrainedConfig, PreTrainedModel

from ..modeling.modeling_base import AtentaPreTrainedModel
from .card_command import format_command, name_from_here
from .card_facts import CardFacts, ModelFacts, Scores, registered_class
from .card_words import (
    CardLanguage,
    describe_machine,
    format_measure,
    format_number,
    format_share,
    in_language,
    in_one_line,
    markdown_table,
    translate,
)
from .usage_example import write_onnx_usage, write_usage

CARD = "README.md"
_TEXT_TO_TEXT = "text2text-generation"  # a tag, and a sub-task in the scores: the Hub has no such task
_PICTURES = ("learning_curve.png", "scores_by_length.png", "confusion.png", "reliability.png")
# Marks of cards that nobody wrote and that say nothing of the training: earlier ones, and that of transformers; ours.
_AUTOMATIC = ("<!-- Filled in when the model was saved", "This model card has been automatically generated")
_SAVED = "<!-- atenta filled this card in when the model was saved"
_SEAL = re.compile(r"\n*<!-- atenta [^>]*?([0-9a-f]{16}) -->\s*$")
_EVERYDAY_VERSIONS = ("atenta", "transformers", "tokenizers", "torch")


def write_model_card(
    folder: str | Path,
    facts: CardFacts | None = None,
    *,
    repository: str | None = None,
    model: PreTrainedModel | None = None,
) -> Path:
    """Write a model's card as `README.md`, replacing an existing one. What is not known is left out.

    Args:
        folder: Folder where the model is saved.
        facts: What is known of its training; by default, what the folder's `metrics.json` says. All texts but
            `limits` are plain: Markdown in them is shown as it is written.
        repository: The model's name on the Hub, for the example and the title. By default the example names the folder
            as it is seen from the current one.
        model: The model that was saved there, if its class is a user's own.

    Returns:
        The card's path.

    Raises:
        ValueError: If the folder has no model of this package, or its `metrics.json` is damaged.
    """
    path = Path(folder) / CARD
    make_card(folder, facts, repository=repository, model=model).save(path)
    return path


def make_card(
    folder: str | Path,
    facts: CardFacts | None = None,
    *,
    repository: str | None = None,
    model: PreTrainedModel | None = None,
    base_model: str | None = None,
    built_in: str | None = None,
) -> ModelCard:
    """Return a model's card without writing it. The arguments are those of `write_model_card`.

    `base_model` is the repository of the original, for the card of its ONNX files, and `built_in` the class of
    transformers itself, for the card of a copy that is of that class.
    """
    folder = Path(folder)
    facts = CardFacts.read(folder) if facts is None else facts
    saved, language = ModelFacts.read(folder, model), facts.card_language
    name = repository or name_from_here(folder.absolute())
    data = _metadata(saved, facts, repository or folder.absolute().name, base_model)
    content = _template().render(
        data.to_dict(),
        card_data=data.to_yaml(),
        title=_as_markdown(facts.title or _title(repository or folder.absolute().name)),
        saved=saved,
        facts=facts,
        config=saved.config,
        labels=_labels(saved.config),
        base_model=base_model,
        built_in=built_in,
        usage=write_onnx_usage(saved, name, _quantization(folder), facts.example)
        if base_model
        else write_usage(saved, name, facts.example, is_built_in=built_in is not None),
        tests={test: _score_table(scores, language) for test, scores in facts.tests.items()},
        groups={
            kind: _group_table(groups, facts.metric, language)
            for kind, groups in (("length", facts.by_length), ("domain", facts.by_domain))
            if groups and facts.metric
        },
        worst=facts.worst_groups(),
        better=facts.better_baseline(),
        pictures=[picture for picture in _PICTURES if (folder / picture).is_file() and not built_in],
        command=_as_code_block(format_command(facts.run["command"])) if facts.run.get("command") else None,
        versions=_as_markdown(_versions(facts.run)),
        # Within a block of code, where nothing can be escaped.
        atenta_version=re.sub(r"[^\w.+-]", "", facts.run.get("versions", {}).get("atenta") or version("atenta")),
        year="".join(re.findall(r"^\d{4}", facts.run.get("date", ""))),
        limits=_without_html(facts.limits or ""),
        pt=language == "pt",
        say=lambda english, portuguese: in_language({"en": english, "pt": portuguese}, language),
        machine=describe_machine(str(facts.run.get("machine", "")), language),
        plain=_as_markdown,
        code=_as_code,
        words=lambda text: _as_markdown(translate(str(text), language)),
        own=lambda text: _as_markdown(in_language(text, language)),
        number=lambda value: format_number(value, language),
        measure=lambda value: format_measure(value, language),
        share=lambda value: format_share(value, language),
    )
    card = ModelCard(content)
    body = re.sub(r"\n{3,}", "\n\n", card.text).strip()
    card.text = f"\n{body}\n"
    if not built_in:
        described = "<!-- atenta filled this card in, and does so again at each push"
        start = described if facts.is_described else f"{_SAVED}, and does so again at each save and push"
        card.text += f"\n{start} unless it is edited: {_digest(body)} -->\n"
    return card


def is_unedited(text: str) -> bool:
    """Return whether a card's text, without the metadata, is as this module wrote it."""
    seal = _SEAL.search(text)
    if seal is None:
        return _AUTOMATIC[0] in text
    return _digest(text[: seal.start()]) == seal.group(1)


def keep_entries(card: ModelCard, path: Path, made: Iterable[ModelCard]) -> ModelCard:
    """Copy to a card the metadata entries of a file that none of the cards made for it has.

    A person has added them, such as the licence of the data.

    Raises:
        ValueError: If the file's metadata are not YAML.
    """
    try:
        entries = ModelCard.load(path).data.to_dict()
    except yaml.YAMLError as error:
        raise ValueError(f"{path}: the metadata are not YAML ({' '.join(str(error).split()):.200})") from None
    written = [each.data.to_dict() for each in made]
    for name, value in entries.items():
        if name != "model-index" and all(name not in each for each in written):
            card.data[name] = value
    return card


def write_automatic_card(model: PreTrainedModel, folder: str | Path, repo_id: str | None = None) -> None:
    """Write the card of a model of this package that was saved, or that is about to be pushed.

    When a model is saved, a card that a person or a recipe wrote is kept, and one of an earlier save is replaced. When
    it is pushed, the folder has the repository's card, or a generic one of transformers: it is replaced if it has a
    mark of automatic cards, or is of an earlier save and unedited.
    """
    if registered_class(model) is None:
        return
    path = Path(folder) / CARD
    text = path.read_text(encoding="utf-8", errors="replace").partition("\n---\n")[2] if path.exists() else None
    is_of_save = text is not None and _SAVED in text and is_unedited(text)
    if repo_id is None:
        if text is None or is_of_save:
            write_model_card(folder, CardFacts(), model=model)
        return
    card = ModelCard.load(path)
    if is_of_save or any(mark in card.content for mark in _AUTOMATIC):
        write_model_card(folder, CardFacts(tags=tuple(card.data.tags or ())), repository=repo_id, model=model)


@cache  # compiling it takes longer than filling it in, and each checkpoint has a card
def _template() -> jinja2.Template:
    return jinja2.Template(Path(__file__).with_name("hub_card.md").read_text(encoding="utf-8"))


def _metadata(saved: ModelFacts, facts: CardFacts, name: str, base_model: str | None) -> ModelCardData:
    task = saved.kind.pipeline_tag
    kind = "pair-votes" if saved.family == "pair-votes" else "character-level"
    text_to_text = [_TEXT_TO_TEXT] if saved.kind.task == _TEXT_TO_TEXT else []
    onnx = ["onnx"] if base_model else []
    results = [] if base_model else _results(facts, task or _TEXT_TO_TEXT)
    emissions: dict[str, Any] = {}
    if facts.cost.get("co2_grams") is not None and not base_model:
        emissions["co2_eq_emissions"] = {
            "emissions": facts.cost["co2_grams"],
            "source": facts.cost.get("tracker"),
            "training_type": "fine-tuning" if facts.base_model else "pre-training",
            "geographical_location": facts.cost.get("country"),
            "hardware_used": facts.cost.get("gpu") or facts.cost.get("processor"),
        }
    return ModelCardData(
        language=facts.language,
        license=facts.licence,
        library_name="transformers",
        pipeline_tag=task,
        tags=["atenta", kind, *text_to_text, *onnx, *facts.tags],
        datasets=list(facts.datasets) or None,
        base_model=base_model or facts.base_model,
        base_model_relation="quantized" if base_model else "finetune" if facts.base_model else None,
        model_name=name if results else None,
        eval_results=results or None,
        **emissions,
    )


def _results(facts: CardFacts, task: str) -> list[EvalResult]:
    """Return the model's scores on each test, for the `model-index` of the metadata."""
    data = in_language(facts.data, "en") or "test"
    (first, *_) = (*facts.tests, None)
    return [
        EvalResult(
            task_type=task,
            dataset_type=(list(facts.datasets) or ["custom"])[0],
            dataset_name=data if test == first else f"{data}: {test}",
            dataset_config=None if test == first else test,
            dataset_split=facts.test_split if test == first else "test",
            metric_type=name,
            metric_name=name.replace("_", " "),
            metric_value=value,
        )
        for test, scores in facts.tests.items()
        for name, value in scores["model"].items()
        if math.isfinite(value)
    ]


def _digest(text: str) -> str:
    """Return a hash of a text that does not depend on white space, which git and editors change."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:16]


def _title(name: str) -> str:
    """Return a name as a title: `ana/portuguese_accents` as `Portuguese accents`."""
    words = re.sub(r"[-_]+", " ", name.rpartition("/")[2]).strip() or name
    return words[:1].upper() + words[1:]


def _as_markdown(text: str | None) -> str:
    """Return Markdown of one line that shows a plain text."""
    escaped = re.sub(r"[\\`*_{}\[\]<>|#&~$]", r"\\\g<0>", in_one_line(text or ""))
    return re.sub(r"^(\d*)(?=[.)])|^(?=[-+=])", r"\1\\", escaped)  # what begins a list or a line across the page


def _without_html(markdown: str) -> str:
    """Return Markdown in which tags and fences are shown as they are, so that what follows is not part of them."""
    shown = re.sub(r"<(?=[a-zA-Z/!?])", "&lt;", markdown)
    return re.sub(r"^([\s>*+-]*|\s*\d+[.)]\s*)(?=```|~~~)", r"\1\\", shown, flags=re.MULTILINE)


def _as_code(text: str) -> str:
    """Return a code span of Markdown of one line, also within a table."""
    shown = in_one_line(text).replace("|", "\\|")
    ticks = "`" * (1 + max(map(len, re.findall("`+", shown)), default=0))
    return f"{ticks} {shown} {ticks}" if "`" in shown else f"`{shown}`"


def _score_table(scores: Scores, language: CardLanguage) -> str:
    columns = list(dict.fromkeys(name for figures in scores.values() for name in figures))
    rows = [[system, *(figures.get(name) for name in columns)] for system, figures in scores.items()]
    return _table(["", *columns], rows, language)


def _group_table(groups: Mapping[str, Scores], metric: str, language: CardLanguage) -> str:
    systems = [name for name in next(iter(groups.values())) if name != "texts"]
    rows = [
        [group, of_group.get("texts"), *(of_group.get(system, {}).get(metric) for system in systems)]
        for group, of_group in groups.items()
    ]
    return _table(["", "textos" if language == "pt" else "texts", *systems], rows, language)


def _table(names: list[str], rows: list[list[Any]], language: CardLanguage) -> str:
    """Return a table of Markdown: a name and figures in each row."""
    lines = [[_as_markdown(translate(name, language)) for name in names]]
    for name, *figures in rows:
        shown = ("–" if figure is None else format_number(figure, language) for figure in figures)
        lines.append([_as_markdown(translate(name, language)), *shown])
    return markdown_table(lines, "l" + "r" * (len(names) - 1))


def _labels(config: PreTrainedConfig) -> list[str]:
    """Return the labels of a classifier or tagger, unless they are only numbered."""
    names = [str(label) for label in (config.id2label or {}).values()]
    return [] if any(re.fullmatch(r"LABEL_\d+", name) for name in names) else names


def _quantization(folder: Path) -> str | None:
    """Return the argument of `load_engine` for the ONNX files of a folder."""
    names = [path.stem for path in (folder / "onnx").glob("*.onnx")]
    return "int8" if names and all(name.endswith("_int8") for name in names) else None


def _as_code_block(text: str) -> str:
    """Return a block of code of a shell in Markdown, whatever marks the text has."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}sh\n{text}\n{fence}"


def _versions(run: Mapping[str, Any]) -> str:
    found = run.get("versions") or {name: version(name) for name in _EVERYDAY_VERSIONS}
    python = run.get("python") or platform.python_version()
    return ", ".join([f"Python {python}", *(f"{name} {number}" for name, number in found.items())])


AtentaPreTrainedModel.card_writer = write_automatic_card
