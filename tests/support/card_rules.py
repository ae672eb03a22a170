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
_LANGUAGE = re.compile(r"([a-z]{2,3}|code|multilingual)$")


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
    for name, known in (("license", LICENCES), ("pipeline_tag", TASKS), ("base_model_relation", RELATIONS)):
        if name in data and data[name] not in known:
            yield f'"{name}" must be one of {sorted(known)}'
    for name, rule in (("language", _LANGUAGE), ("datasets", _REPOSITORY), ("base_model", _REPOSITORY)):
        for each in _listed(data.get(name)):
            if not rule.match(str(each)):
                yield f'"{name}" with value {each!r} is not valid'
    for name in ("tags", "datasets", "metrics"):
        if not all(isinstance(each, str) for each in _listed(data.get(name))):
            yield f'"{name}" must be an array of strings'
    emissions = data.get("co2_eq_emissions", 0)
    numbers = emissions if isinstance(emissions, dict) else {"emissions": emissions}
    if not isinstance(numbers.get("emissions"), int | float):
        yield '"co2_eq_emissions" must have a number'
    for name in ("source", "training_type", "geographical_location", "hardware_used"):
        if not isinstance(numbers.get(name, ""), str):
            yield f'"co2_eq_emissions.{name}" must be a string'
    for index, model in enumerate(_listed(data.get("model-index"))):
        yield from _errors_of_results(f"model-index[{index}]", model)


def _errors_of_results(where: str, model: Any) -> Iterator[str]:
    if not isinstance(model, dict) or not isinstance(model.get("name"), str):
        yield f'"{where}.name" is required'
        return
    for index, result in enumerate(model.get("results") or []):
        place = f"{where}.results[{index}]"
        for part, name in (("task", "type"), ("dataset", "type"), ("dataset", "name")):
            if not isinstance(result.get(part, {}).get(name), str):
                yield f'"{place}.{part}.{name}" is required'
        metrics = result.get("metrics") or [{}]
        if any(not isinstance(each.get("type"), str) or each.get("value") is None for each in metrics):
            yield f'"{place}.metrics" need a type and a value'


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
