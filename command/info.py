"""`atenta info`: what the folder of a model is, from its files, without loading the weights."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from atenta.engines.feedback import loading_errors
from atenta.engines.saved_model import class_of, find_model, is_ours, read_config, read_saved, weight_files
from atenta.engines.saved_tensors import count_weights
from atenta.hub.card_command import restate_command
from atenta.hub.card_words import name_some

_SHOWN_CHARACTERS = 60
_SIZES = (
    "hidden_size",
    "num_hidden_layers",
    "downsampling_rate",
    "downsampling_size",
    "downsampling_layers",
    "encoder_layers",
    "decoder_layers",
    "num_attention_heads",
    "intermediate_size",
    "position_embedding_type",
    "window_length",
    "dtype",
)


def describe_model(name: str) -> dict[str, Any]:
    """Return what the files of a folder, or of a model on the Hub, say, as far as it is known.

    Raises:
        FileNotFoundError: If there is no such model.
        ValueError: If it is a model of others, or a file is damaged.
    """
    folder = find_model(name)
    config = read_config(folder)
    if not is_ours(config):
        raise ValueError(f"{name} is a model of type {config.get('model_type')!r:.60}; expected one of atenta.")
    metrics = read_saved(folder / "metrics.json") if (folder / "metrics.json").is_file() else {}
    characters, tags = _read_vocabulary(folder / "tokenizer.json")
    labels = list((config.get("id2label") or {}).values())
    is_classifier = any("Classification" in each for each in config.get("architectures") or [])
    run = _object(metrics.get("run"))
    if isinstance(command := run.get("command"), str):
        run = {name: each for name, each in run.items() if name != "command"}  # earlier versions noted secrets too
        with suppress(ValueError):  # one that no shell can read is left out
            run["command"] = restate_command(command)
    described = {
        "class": class_of(config),
        "family": str(config.get("model_type", "")).removeprefix("atenta_").replace("_", "-"),
        "parameters": sum(map(count_weights, weight_files(folder))) or None,
        "sizes": {key: config[key] for key in _SIZES if config.get(key) is not None},
        "vocabulary": config.get("vocab_size"),
        "characters": "".join(characters),
        "tags": tags,
        "labels": labels if is_classifier and not config.get("character_variants") else [],
        "restores": config.get("character_variants") or {},
        "scores": _object(metrics.get("test")),
        "trained": {key: run[key] for key in ("command", "date", "machine") if key in run},
        "onnx": sorted(path.name for path in (folder / "onnx").glob("*.onnx")),
        "files": {
            path.relative_to(folder).as_posix(): path.stat().st_size
            for path in sorted(folder.rglob("*"))
            if path.is_file() and not path.relative_to(folder).parts[0].startswith("checkpoint-")
        },
    }
    return {key: value for key, value in described.items() if value not in (None, "", [], {})}


def format_description(name: str, described: Mapping[str, Any]) -> str:
    """Return a description as lines for people."""
    found: list[tuple[str, str]] = []
    if "parameters" in described:
        found.append(("weights", f"{described['parameters']:,}"))
    found += [(key, str(value)) for key, value in described.get("sizes", {}).items()]
    if characters := described.get("characters"):
        more = f" and {len(characters) - _SHOWN_CHARACTERS:,} more" if len(characters) > _SHOWN_CHARACTERS else ""
        found.append(("alphabet", f"{len(characters):,} characters: {characters[:_SHOWN_CHARACTERS]}{more}"))
    for key in ("tags", "labels", "restores"):
        values = described.get(key, [])
        if isinstance(values, dict):  # a text is its characters; what a list has may be longer, or white space
            values = [
                f"{one!r} → {' '.join(map(repr, each))}" if isinstance(each, list) else f"{one} → {each}"
                for one, each in values.items()
            ]
        if values:
            found.append((key, name_some(values)))
    for answer, scores in described.get("scores", {}).items():
        if isinstance(scores, dict):
            numbers = {key: value for key, value in scores.items() if isinstance(value, int | float)}
            figures = [f"{key.replace('_', ' ')} {value:.4g}" for key, value in numbers.items()]
            found.append(("test", f"{answer}: {', '.join(figures)}"))
    found += described.get("trained", {}).items()
    found.append(("onnx", ", ".join(described.get("onnx", [])) or "none; `atenta export` writes it"))
    found.append(("files", f"{len(described['files'])}, {sum(described['files'].values()) / 1e6:,.1f} MB"))
    width = max(len(key) for key, _ in found)
    lines = [f"{name}: {described['class']}, {described['family']}"]
    lines += [f"  {key:<{width}}  {value}" for key, value in found]
    return "\n".join(lines)


def _read_vocabulary(path: Path) -> tuple[list[str], list[str]]:
    """Return the characters and the feature tags of a tokenizer."""
    if not path.exists():
        return [], []
    with loading_errors(path.parent, path.name):
        content = read_saved(path)
        special = [each["content"] for each in content.get("added_tokens", [])]
        characters = [token for token in content.get("model", {}).get("vocab", {}) if len(token) == 1]
        named = {"<pad>", "<bos>", "<eos>", "<mask>", "<unk>"}
        return sorted(characters), [token[1:-1] for token in special if token not in named]


def _object(value: Any) -> dict[str, Any]:
    """Return an object of a file that a person may have changed; an empty one for anything else."""
    return value if isinstance(value, dict) else {}
