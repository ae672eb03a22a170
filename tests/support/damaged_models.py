"""One damage to one file of a saved model, drawn at random, and taken back."""

import json
import math
import random
import shutil
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from transformers import GenerationConfig

from atenta import AtentaDecoderConfig, AtentaEncoderConfig, AtentaEncoderDecoderConfig, AtentaPairVotesConfig

# Of files, by how often they are damaged.
FILES = {
    **{"config.json": 50, "tokenizer.json": 12, "model.safetensors": 15, "tokenizer_config.json": 10},
    **{"generation_config.json": 10, "spellings.txt": 3},
}
CONFIGS = (AtentaEncoderConfig, AtentaDecoderConfig, AtentaEncoderDecoderConfig, AtentaPairVotesConfig)
# Keys that a file may have, besides those that it has.
KEYS = {
    "config.json": [
        *sorted({field.name for each in CONFIGS for field in fields(each)}),
        *("name_or_path", "_name_or_path", "num_labels", "torch_dtype", "attn_implementation", "_attn_implementation"),
        *("per_layer_config", "rope_scaling", "rope_parameters", "rope_theta", "layer_types", "mlp_layer_types"),
        *("quantization_config", "configuration_files", "tokenizer_class", "output_attentions", "num_hidden_layers"),
        *("save_pretrained", "attribute_map", "__class__", "__dict__", "to_dict", "_commit_hash", "trust_remote_code"),
        *("max_length", "sub_configs", "base_model_tp_plan", "torchscript", "pruned_heads", "text_config", "decoder"),
    ],
    "generation_config.json": [*sorted(GenerationConfig()._get_default_generation_params()), "custom_generate"],
    "tokenizer_config.json": [
        *("model_max_length", "padding_side", "truncation_side", "bos_token", "eos_token", "pad_token", "unk_token"),
        *("mask_token", "tokenizer_class", "auto_map", "added_tokens_decoder", "extra_special_tokens", "tags"),
        *("chat_template", "clean_up_tokenization_spaces", "family", "model_input_names", "name_or_path"),
    ],
    "tokenizer.json": ["version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "decoder"],
}
DEEP = "nested deep"  # in place of what json could not write
VALUES = [
    *(None, True, False, 0, 1, -1, 2, 3, 7, 64, 900, 30_000, 900_000, 2**31, 10**9, 10**12, 10**30, -(10**18)),
    *(0.5, -1.5, 1e-300, 1e300, math.nan, math.inf, -math.inf, "", "a", "ação", "5", "relu", "float16", "../x.txt"),
    *("/etc/passwd", "\x00", "*", "\ud800", "config.json", "a/b--c.D", "x" * 10_000, [], [0], [-1], [1, 2]),
    *([0.5, 2.0], [2.0, 0.5], [math.nan, 1.0], ["a"], [None], [[]], [{}], {}, {"a": 1}, {"a": "b"}, {"0": "a"}),
    *({"0": "a", "5": "b"}, {"a": {"b": []}}, DEEP),
]
WHOLE = [b"", b"{", b"{}", b"[]", b"null", b"5", b'"a"', b"\xff\xfe", b"\x00" * 64, b"[" * 100_000, b'{"a":' * 500]
DELETED, FOLDER = "deleted", "a folder"


class Damage(NamedTuple):
    """A change of a file.

    Attributes:
        file: its name.
        place: the keys that lead to the value, or nothing: the whole file.
        value: what is there then.
        is_plausible: whether a file of another model could have this value, so that nobody could tell that it is
            damaged.
    """

    file: str
    place: tuple[Any, ...]
    value: Any
    is_plausible: bool

    def __str__(self) -> str:
        return f"{self.file} {'.'.join(map(str, self.place)) or 'whole'} = {self.value!r:.60}"


def draw_damage(rng: random.Random, folder: Path) -> Damage:
    """Return a damage to one of the files of a folder."""
    files = [name for name in FILES if (folder / name).is_file()]
    (name,) = rng.choices(files, [FILES[each] for each in files])
    content = (folder / name).read_bytes()
    if name == "spellings.txt":
        return Damage(name, (), rng.choice([content[:-3], b"a\xff", "está casa\n".encode(), b"\x00", FOLDER]), True)
    if rng.random() < 0.12:
        cut = content[: rng.randrange(len(content) - 1)]
        return Damage(name, (), rng.choice([cut, rng.choice(WHOLE), DELETED, FOLDER]), False)
    if name == "model.safetensors":
        return _draw_in_weights(rng, content)
    saved = json.loads(content)
    place, original = _draw_place(rng, saved, KEYS[name])
    value = DELETED if rng.random() < 0.12 else rng.choice(VALUES)
    return Damage(name, place, value, value == DELETED or _is_alike(original, value))


@contextmanager
def damaged(folder: Path, damage: Damage) -> Iterator[None]:
    """Damage a file, and put back what it was."""
    path = folder / damage.file
    before = path.read_bytes()
    path.unlink()
    try:
        if damage.value == FOLDER and not damage.place:
            path.mkdir()
        elif damage.place:
            path.write_bytes(_changed(before, damage))
        elif damage.value != DELETED:
            path.write_bytes(damage.value)
        yield
    finally:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        path.write_bytes(before)


def _draw_place(rng: random.Random, saved: Any, keys: list[str]) -> tuple[tuple[Any, ...], Any]:
    """Return the keys that lead to some value, and the value."""
    if rng.random() < 0.35:
        key = rng.choice(keys)
        return (key,), saved.get(key)
    place = []
    while isinstance(saved, dict | list) and saved and (not place or rng.random() < 0.6):
        place.append(rng.choice(list(saved)) if isinstance(saved, dict) else rng.randrange(len(saved)))
        saved = saved[place[-1]]
    return tuple(place), saved


def _draw_in_weights(rng: random.Random, content: bytes) -> Damage:
    """Return a damage to the header of weights, or a weight that is no number."""
    header = json.loads(content[8 : 8 + struct.unpack("<Q", content[:8])[0]])
    name = rng.choice([each for each in header if each != "__metadata__"])
    shape = header[name]["shape"]
    choices = [
        (("length",), rng.choice([0, 1, 2**63, 2**64 - 1, 10**9])),
        (("nan",), rng.randrange(header[name]["data_offsets"][1] // 4)),
        ((name,), rng.choice([DELETED, None, {}, [], 5])),
        ((name, "renamed"), rng.choice(["", "x", f"{name}.weight", "../x"])),
        ((name, "dtype"), rng.choice([None, "F64", "F16", "I32", "U32", "BOOL", "x", 5])),
        ((name, "shape"), rng.choice([None, [], [*shape, 2], [0], [-1], [2**40, 2**40], ["a"], [shape], 5])),
        ((name, "data_offsets"), rng.choice([None, [], [0, 0], [0, 2**62], [-4, 0], [8, 4], "a"])),
        (("__metadata__",), rng.choice([DELETED, None, {}, {"format": "tf"}, {"format": 5}, "a"])),
        (("extra",), {"dtype": "F32", "shape": [0], "data_offsets": [len(content), len(content)]}),
    ]
    place, value = rng.choice(choices)
    return Damage("model.safetensors", place, value, place[0] == "__metadata__")


def _changed(content: bytes, damage: Damage) -> bytes:
    if damage.file == "model.safetensors":
        return _changed_weights(content, damage)
    saved = json.loads(content)
    _put(saved, damage.place, damage.value)
    return _as_json(saved)


def _changed_weights(content: bytes, damage: Damage) -> bytes:
    length = struct.unpack("<Q", content[:8])[0]
    header, data = json.loads(content[8 : 8 + length]), bytearray(content[8 + length :])
    if damage.place == ("length",):
        return struct.pack("<Q", damage.value) + content[8:]
    if damage.place == ("nan",):
        data[4 * damage.value : 4 * damage.value + 4] = struct.pack("<f", math.nan)
    elif damage.place[1:] == ("renamed",):
        header = {damage.value if name == damage.place[0] else name: each for name, each in header.items()}
    elif damage.place == ("extra",):
        header["extra"] = {**damage.value, "data_offsets": [len(data), len(data)]}
    else:
        _put(header, damage.place, damage.value)
    head = json.dumps(header).encode()
    return struct.pack("<Q", len(head)) + head + bytes(data)


def _put(saved: Any, place: tuple[Any, ...], value: Any) -> None:
    for key in place[:-1]:
        saved = saved[key]
    if value != DELETED:
        saved[place[-1]] = value
    elif isinstance(saved, list):
        del saved[place[-1]]
    else:
        saved.pop(place[-1], None)


def _as_json(saved: Any) -> bytes:
    text = json.dumps(saved, ensure_ascii=True)
    return text.replace(json.dumps(DEEP), "[" * 50_000 + "]" * 50_000).encode()


def _is_alike(original: Any, value: Any) -> bool:
    """Return whether a value has the type of another, so that it could be that of another model."""
    if original is None or value is None:
        return value != DEEP
    if isinstance(original, bool) or isinstance(value, bool):
        return isinstance(original, bool) and isinstance(value, bool)
    if isinstance(original, int | float) and isinstance(value, int | float):
        return True
    if isinstance(original, list) and isinstance(value, list):
        return all(_is_alike(one, other) for one in original[:1] for other in value)
    if isinstance(original, dict) and isinstance(value, dict):
        return all(_is_alike(one, other) for one in list(original.values())[:1] for other in value.values())
    return type(original) is type(value) and value != DEEP
