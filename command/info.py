"""`atenta info`: what the folder of a model is, from its files, without loading the weights."""

import json
import struct
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

from atenta.command.predict import find_folder

_SHOWN_CHARACTERS = 60
_SHOWN_NAMES = 8
_SIZES = (
    "hidden_size",
    "num_hidden_layers",
    "encoder_layers",
    "decoder_layers",
    "num_attention_heads",
    "intermediate_size",
    "position_embedding_type",
    "window_length",
    "dtype",
)


def describe_model(name: str) -> dict[str, Any]:
    """Return what the files of a model's folder say.

    Args:
        name: folder, or name on the Hub of a model of atenta.

    Returns:
        `class`, `family`, `parameters`, `sizes`, `vocabulary`, `characters`, `tags`, `labels`, `restores`, `scores`,
        `trained`, `onnx` and `files`, as far as they are known.

    Raises:
        FileNotFoundError: If there is no such model.
        ValueError: If it is a model of others, or a file is damaged.
    """
    folder = find_folder(name)
    if folder is None:
        raise ValueError(f"{name} is not a model of atenta.")
    config = json.loads((folder / "config.json").read_bytes())
    metrics = _read_json(folder / "metrics.json") or {}
    characters, tags = _read_vocabulary(folder / "tokenizer.json")
    labels = list((config.get("id2label") or {}).values())
    is_classifier = any("Classification" in each for each in config.get("architectures") or [])
    run = metrics.get("run", {})
    described = {
        "class": (config.get("architectures") or [config.get("model_type")])[0],
        "family": str(config.get("model_type", "")).removeprefix("atenta_").replace("_", "-"),
        "parameters": _count_parameters(folder / "model.safetensors"),
        "sizes": {key: config[key] for key in _SIZES if config.get(key) is not None},
        "vocabulary": config.get("vocab_size"),
        "characters": "".join(characters),
        "tags": tags,
        "labels": labels if is_classifier and not config.get("character_variants") else [],
        "restores": config.get("character_variants") or {},
        "scores": metrics.get("test", {}),
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
    for key in ("tags", "labels"):
        values = described.get(key, [])
        more = f" and {len(values) - _SHOWN_NAMES:,} more" if len(values) > _SHOWN_NAMES else ""
        if values:
            found.append((key, ", ".join(values[:_SHOWN_NAMES]) + more))
    if "restores" in described:
        variants = [f"{key} → {value}" for key, value in described["restores"].items()]
        more = f" and {len(variants) - _SHOWN_NAMES:,} more" if len(variants) > _SHOWN_NAMES else ""
        found.append(("restores", ", ".join(variants[:_SHOWN_NAMES]) + more))
    for answer, scores in described.get("scores", {}).items():
        if isinstance(scores, dict):
            figures = [f"{key.replace('_', ' ')} {value:.4g}" for key, value in scores.items() if value is not None]
            found.append(("test", f"{answer}: {', '.join(figures)}"))
    found += described.get("trained", {}).items()
    found.append(("onnx", ", ".join(described.get("onnx", [])) or "none; `atenta export` writes it"))
    found.append(("files", f"{len(described['files'])}, {sum(described['files'].values()) / 1e6:,.1f} MB"))
    width = max(len(key) for key, _ in found)
    lines = [f"{name}: {described['class']}, {described['family']}"]
    lines += [f"  {key:<{width}}  {value}" for key, value in found]
    return "\n".join(lines)


def _count_parameters(path: Path) -> int | None:
    """Return the number of weights, from the header of a safetensors file."""
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(min(length, 100_000_000)))
        return sum(prod(each["shape"]) for name, each in header.items() if name != "__metadata__")
    except (struct.error, ValueError, KeyError, TypeError):
        raise ValueError(f"{path} is damaged; expected the weights as they were saved.") from None


def _read_vocabulary(path: Path) -> tuple[list[str], list[str]]:
    """Return the characters and the feature tags of a tokenizer."""
    content = _read_json(path)
    if content is None:
        return [], []
    special = [each["content"] for each in content.get("added_tokens", [])]
    characters = [token for token in content.get("model", {}).get("vocab", {}) if len(token) == 1]
    named = {"<pad>", "<bos>", "<eos>", "<mask>", "<unk>"}
    return sorted(characters), [token[1:-1] for token in special if token not in named]


def _read_json(path: Path) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    try:
        return json.loads(path.read_bytes())
    except ValueError:
        raise ValueError(f"{path} is damaged; expected JSON as it was saved.") from None
