"""The rules of the Hub for the metadata of model cards, as its documentation states them.

Sources: hub-docs, `modelcard.md` (the metadata and `model-index`), "Model Cards" (base models), "Displaying carbon
emissions for your model", "Licenses"; the list of tasks in huggingface.js, `packages/tasks/src/pipelines.ts`, from
which text2text-generation was taken out in July 2025 (pull request 1590: it is a sub-task of text-generation now).
"""

import re
from collections.abc import Iterator
from typing import Any

import yaml

LICENCES = {
    *("apache-2.0", "mit", "openrail", "bigscience-openrail-m", "creativeml-openrail-m", "afl-3.0", "artistic-2.0"),
    *("bsl-1.0", "bsd", "bsd-2-clause", "bsd-3-clause", "bsd-3-clause-clear", "c-uda", "cc", "cc0-1.0", "cc-by-2.0"),
    *("cc-by-2.5", "cc-by-3.0", "cc-by-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc-by-nc-2.0", "cc-by-nc-3.0"),
    *("cc-by-nc-4.0", "cc-by-nd-4.0", "cc-by-nc-nd-3.0", "cc-by-nc-nd-4.0", "cc-by-nc-sa-2.0", "cc-by-nc-sa-3.0"),
    *("cc-by-nc-sa-4.0", "cdla-sharing-1.0", "cdla-permissive-1.0", "cdla-permissive-2.0", "wtfpl", "ecl-2.0"),
    *("epl-1.0", "epl-2.0", "etalab-2.0", "eupl-1.1", "eupl-1.2", "agpl-3.0", "gfdl", "gpl", "gpl-2.0", "gpl-3.0"),
    *("lgpl", "lgpl-2.1", "lgpl-3.0", "isc", "lppl-1.3c", "ms-pl", "mpl-2.0", "odc-by", "odbl", "osl-3.0"),
    *("postgresql", "ofl-1.1", "ncsa", "unlicense", "zlib", "pddl", "unknown", "other"),
}
TASKS = {
    *("text-classification", "token-classification", "table-question-answering", "question-answering"),
    *("zero-shot-classification", "translation", "summarization", "feature-extraction", "text-generation"),
    *("fill-mask", "sentence-similarity", "text-retrieval", "text-ranking"),
}
RELATIONS = {"adapter", "merge", "quantized", "finetune"}
_REPOSITORY = re.compile(r"([\w.-]+/)?[\w.-]{1,96}$")


def card_errors(content: str) -> list[str]:
    """Return what the Hub would refuse in the metadata of a card."""
    found = re.match(r"---\r?\n(.*?)\r?\n---\r?\n", content, re.DOTALL)
    if found is None:
        return ["the card has no metadata"]
    try:
        data = yaml.safe_load(found.group(1))
    except yaml.YAMLError as error:
        return [f"the metadata are no YAML: {error}"]
    return list(_errors(data)) if isinstance(data, dict) else ["the metadata are no mapping"]


def _errors(data: dict[str, Any]) -> Iterator[str]:
    if data.get("license", "unknown") not in LICENCES:
        yield f'"license" must be one of {sorted(LICENCES)}'
    if data.get("pipeline_tag", "fill-mask") not in TASKS:
        yield f'"pipeline_tag" must be one of {sorted(TASKS)}'
    for language in _listed(data.get("language")):
        if not re.fullmatch(r"[a-z]{2,3}|code|multilingual", str(language)):
            yield f'"language" must be an ISO 639 code, found {language!r}'
    for name in ("tags", "datasets", "metrics"):
        if not all(isinstance(each, str) for each in _listed(data.get(name))):
            yield f'"{name}" must be an array of strings'
    for name in ("datasets", "base_model"):
        for each in _listed(data.get(name)):
            if not _REPOSITORY.match(str(each)):
                yield f'"{name}" with value {each!r} is not valid'
    if data.get("base_model_relation", "finetune") not in RELATIONS:
        yield f'"base_model_relation" must be one of {sorted(RELATIONS)}'
    emissions = data.get("co2_eq_emissions")
    if isinstance(emissions, dict):
        if not _is_number(emissions.get("emissions")):
            yield '"co2_eq_emissions.emissions" must be a number'
        for name in ("source", "training_type", "geographical_location", "hardware_used"):
            if not isinstance(emissions.get(name, ""), str):
                yield f'"co2_eq_emissions.{name}" must be a string'
    elif emissions is not None and not _is_number(emissions):
        yield '"co2_eq_emissions" must be a number or an object'
    for index, model in enumerate(_listed(data.get("model-index"))):
        yield from _errors_of_results(f"model-index[{index}]", model)


def _errors_of_results(where: str, model: Any) -> Iterator[str]:
    if not isinstance(model, dict) or not isinstance(model.get("name"), str):
        yield f'"{where}.name" is required'
        return
    for index, result in enumerate(model.get("results") or []):
        place = f"{where}.results[{index}]"
        if not isinstance(result.get("task", {}).get("type"), str):
            yield f'"{place}.task.type" is required'
        for name in ("type", "name"):
            if not isinstance(result.get("dataset", {}).get(name), str):
                yield f'"{place}.dataset.{name}" is required'
        if not result.get("metrics"):
            yield f'"{place}.metrics" is required'
        for metric in result.get("metrics") or []:
            if not isinstance(metric.get("type"), str) or metric.get("value") is None:
                yield f'"{place}.metrics" need a type and a value'


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
