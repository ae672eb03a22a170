"""Models in onnxruntime: sessions over ONNX files, and the cache in which a model generates.

The ONNX files are those of `onnx_export.py`.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from .choice import Quantization, export_command, file_name
from .feedback import describe_error
from .kinds import class_names, kind_of
from .saved_model import CONFIG, check_inside, learned_positions, read_config, read_saved, saved_weights
from .saved_tensors import SavedTensor
from .token_search import TokenModel

FORMAT_KEY, FORMAT = "atenta_format", "1"  # names and meaning of inputs and outputs
WEIGHTS_KEY = "atenta_weights"  # the `weights_digest` of the model that a file was made of
_CONFIG_KEY, _VOCABULARY_KEY = "atenta_config", "atenta_vocabulary"  # digests of the other files that it was made of
_IN_GRAPHS = (  # options that change what a graph computes, and no shape of its weights
    *("architectures", "num_attention_heads", "head_dim", "hidden_act", "norm_first", "layer_norm_eps"),
    *("position_embedding_type", "position_embedding_theta", "scale_embedding", "rotary_cross_attention"),
    *("tag_token_ids", "ngram_sizes", "shared_ngram_sizes", "pad_token_id"),
)
# Newer ones, which must not change the digest of earlier models.
_IN_GRAPHS_IF_SET = ("downsampling_heads", "transducer")
_INT8_NODES = re.compile(rb'"(\x0bMatMulNBits|\x10DequantizeLinear)')  # as protocol buffers write the type of a node
_OF_CLASSES = ("text-classification", "token-classification", "character-restoration")  # tasks with names of classes
HIDDEN = np.float32(-1e9)  # added to a score, it leaves nothing of it in float32


def weights_digest(folder: Path) -> str:
    """Return the SHA-256 of a saved model's weights, in hexadecimal: of their names, sizes and numbers in float32.

    It does not depend on how they are saved: in which type, divided among which files, and beside what else.

    Raises:
        FileNotFoundError: If the folder has no weights.
        ValueError: If they are damaged.
    """
    tensors = saved_weights(folder)
    if not tensors:
        raise FileNotFoundError(f"{folder} has no model.safetensors; expected the folder of a saved model.")
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.shape}".encode())
        digest.update(_in_float32(tensor))
    return digest.hexdigest()


def source_digests(folder: Path) -> dict[str, str]:
    """Return digests of what the ONNX files of a saved model are made of, by their keys in the files' metadata.

    They are of its weights, of the options in `config.json` that are in a graph, and of the tokens and their ids.
    Without weights, or without a `tokenizer.json`, there is no digest of them.

    Raises:
        FileNotFoundError: If the folder has no `config.json`.
        ValueError: If one of the files is damaged.
    """
    config = read_config(folder)
    options = {name: config.get(name) for name in _IN_GRAPHS}
    options |= {name: config[name] for name in _IN_GRAPHS_IF_SET if config.get(name)}
    if config.get("transducer"):  # the graph goes on to the next place by this id
        options["eos_token_id"] = config.get("eos_token_id")
    parts: dict[str, Any] = {_CONFIG_KEY: options}
    if (folder / "tokenizer.json").is_file():
        tokenizer = read_saved(folder / "tokenizer.json")
        parts[_VOCABULARY_KEY] = [tokenizer.get("model"), tokenizer.get("added_tokens")]
    found = {key: hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest() for key, part in parts.items()}
    with suppress(FileNotFoundError):
        found[WEIGHTS_KEY] = weights_digest(folder)
    return found


def _in_float32(tensor: SavedTensor) -> Any:
    """Return the numbers of a tensor as engines read them, those that are saved in fewer or more bits too."""
    if tensor.dtype == "BF16":  # the first half of float32
        return np.frombuffer(tensor.data, np.uint16).astype(np.uint32) << 16
    types = {"F16": np.float16, "F64": np.float64}
    is_other = tensor.dtype in types
    return np.frombuffer(tensor.data, types[tensor.dtype]).astype(np.float32) if is_other else tensor.data


def key_value_names(of: str, blocks: int) -> list[str]:
    """Return the names of keys and values, block by block: `past.0.key`, `past.0.value`, …"""
    return [f"{of}.{index}.{part}" for index in range(blocks) for part in ("key", "value")]


def count_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def open_session(path: str | os.PathLike) -> Any:
    """Open an ONNX file in onnxruntime, on the CPU, in one thread: batches run side by side in several threads.

    A model of characters is too small to gain from sharing out each of its products.

    Args:
        path: a file that `export_onnx` wrote.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If onnxruntime cannot read it, another version of this package wrote it, it is in int8 and not
            named so, or the reverse, or it was made of other weights than those beside it.
    """
    import onnxruntime  # here, because names of files are needed where it is not installed

    again = f"Write it again: {export_command(Path(path))}"
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path} is not there. {again}")
    check_inside(Path(path), Path(path).parent.parent)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3  # errors only: they are raised too
    try:
        # On a CPU, the sum and LayerNorm take a quarter of the time of the two fused.
        session = onnxruntime.InferenceSession(
            path, options, providers=["CPUExecutionProvider"], disabled_optimizers=["SkipLayerNormFusion"]
        )
    except Exception as error:  # its classes of errors share no base but Exception
        raise ValueError(
            f"onnxruntime {onnxruntime.__version__} cannot read {path}: {describe_error(error)} {again}, or upgrade "
            "onnxruntime."
        ) from None
    found = session.get_modelmeta().custom_metadata_map.get(FORMAT_KEY)
    if found != FORMAT:
        raise ValueError(f"{path} has format {found}; expected {FORMAT}. {again}")
    check_export(Path(path))
    return session


def check_export(path: Path) -> None:
    """Check that an ONNX file is what its name says, and was made of the model beside it.

    Raises:
        FileNotFoundError: If there is no `config.json` beside it.
        ValueError: If it is in int8 and not named so, or the reverse, or the weights, the options or the tokens of the
            model are others now: it was trained again, or edited.
    """
    folder, content = path.parent.parent, path.read_bytes()
    again = f"Write it again: {export_command(path)}"
    is_int8 = _INT8_NODES.search(content) is not None
    if is_int8 != path.stem.endswith("_int8"):
        found, expected = ("int8", "float32") if is_int8 else ("float32", "int8")
        raise ValueError(f"{path} is in {found}; expected {expected} by its name. {again}")
    # As protocol buffers write an entry of the metadata. Neither onnx nor onnxruntime may be installed.
    entries = dict(re.findall(rb"(atenta_[a-z]+)\x12\x40([0-9a-f]{64})", content))
    files = {WEIGHTS_KEY: "the weights", _CONFIG_KEY: CONFIG, _VOCABULARY_KEY: "tokenizer.json"}
    for key, digest in source_digests(folder).items():
        entry = entries.get(key.encode(), b"").decode()
        # The files of earlier versions name their weights alone.
        if entry != digest and (entry or key == WEIGHTS_KEY):
            raise ValueError(f"{path} was not made of {files[key]} in {folder}. {again}")


def remove_old_exports(folder: Path) -> list[Path]:
    """Remove the ONNX files that were not made from the model beside them as it is now, and return their paths."""
    names = [file_name(stem, kind) for stem in ("model", "encoder_model", "decoder_model") for kind in (None, "int8")]
    removed = []
    for path in filter(Path.is_file, map(folder.joinpath, names)):
        try:
            check_export(path)
        except ValueError:
            path.unlink()
            removed.append(path)
    return removed


class OnnxHead:
    """A model that does not generate: an encoder with any head, or a classifier.

    Args:
        folder: the folder of the ONNX files, in that of the saved model.
        quantization: which of them.

    Raises:
        FileNotFoundError: If there is no such file, or no `config.json`.
        ValueError: If one of them is damaged, or they do not have as many classes.
    """

    def __init__(self, folder: Path, quantization: Quantization | None = None) -> None:
        self._opened = folder, quantization
        path = folder / file_name("model", quantization)
        self.session = open_session(path)
        self.input_names = {each.name for each in self.session.get_inputs()}
        widths = {each.name: each.shape[-1] for each in self.session.get_outputs()}
        self.output_names = [*widths]
        config = read_config(folder.parent)
        classes = len(class_names(config))
        if kind_of(config).task in _OF_CLASSES and widths.get("logits") != classes:
            raise ValueError(
                f"{path} has logits of {widths.get('logits')} classes, and {folder.parent / CONFIG} the names of "
                f"{classes} (id2label); expected as many. Write the file again: {export_command(path)}"
            )

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what opens it again in another process, since a session cannot be pickled."""
        return type(self), self._opened

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the outputs by name, as in [`Head.run`]; inputs that the model does not have are left out."""
        feed = {name: inputs[name] for name in self.input_names}
        return dict(zip(self.output_names, self.session.run(self.output_names, feed)))


class OnnxGenerator:
    """A model that generates: sessions that any number of threads may share.

    Args:
        folder: the folder of the ONNX files.
        config: the model's configuration.
        quantization: which of the files.
    """

    def __init__(self, folder: Path, config: Mapping[str, Any], quantization: Quantization | None = None) -> None:
        self._opened = folder, config, quantization
        self.decoder = open_session(folder / file_name("decoder_model", quantization))
        self.encoder = None
        if config.get("is_encoder_decoder"):
            self.encoder = open_session(folder / file_name("encoder_model", quantization))
        self.start_token_id = config.get("decoder_start_token_id")
        self.tag_token_ids = config.get("tag_token_ids") or []
        past = [each for each in self.decoder.get_inputs() if each.name.startswith("past.")]
        if not past:
            raise ValueError(f"{folder} has a decoder_model without a cache; expected the files of `atenta export`.")
        self.blocks, self.width = len(past) // 2, past[0].shape[-1]
        self.vocab_size = self.decoder.get_outputs()[0].shape[-1]
        self.is_transducer = any(each.name == "places" for each in self.decoder.get_inputs())
        self.longest = learned_positions(config)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what opens it again in another process, since a session cannot be pickled."""
        return type(self), self._opened

    def begin(self) -> TokenModel:
        """Return the model with an empty cache, for the texts of one batch."""
        return OnnxTexts(self)


class OnnxTexts:
    """The texts of a batch while they are generated: their cache, and what each of their branches sees of it.

    Branches of a text are the beams of a search, or samples. Each step adds a slot to the cache for each branch. A
    branch sees the slots of its ancestors only, so nothing is copied when branches end or split. When the slots are
    used up, those that no branch sees any more are taken out. onnxruntime writes into the slots in place, because each
    output of the graph is bound to the memory of its input.

    Args:
        model: the sessions.
    """

    def __init__(self, model: OnnxGenerator) -> None:
        self.model = model
        self.caches: list[np.ndarray] = []  # keys and values of each block, (texts, capacity, width) each
        self.length = 0  # number of used slots
        self.visible = np.empty((0, 0, 0), np.float32)  # (texts, branches, capacity), added to the scores
        self.positions = np.empty(0, np.int64)  # (texts,), of the next token
        self.source: dict[str, np.ndarray] = {}  # its keys and values in each block, and a transducer's logits
        self.source_mask: np.ndarray | None = None  # (texts, source_length), added to the scores
        self.places: np.ndarray | None = None  # (texts, branches, source_length), a transducer's weights of them
        # The memory that onnxruntime reads and writes, by name, until texts, branches or capacity change.
        self.bound: dict[str, np.ndarray] = {}

    def start(self, input_ids: np.ndarray, attention_mask: np.ndarray) -> np.ndarray:
        """Read the sources or the prompts, as in [`TokenModel.start`].

        Raises:
            ValueError: If a text is longer than the positions that the model has learned.
        """
        if self.model.encoder is not None:
            tags = self.model.tag_token_ids  # they are at position 0, and other tokens are counted from 1
            counted = attention_mask * ~np.isin(input_ids, tags)
            self._check_length(int(counted.sum(-1).max()) + bool(tags))
            names = [each.name for each in self.model.encoder.get_outputs()]
            inputs = {"input_ids": input_ids, "attention_mask": attention_mask}
            self.source = dict(zip(names, self.model.encoder.run(names, inputs)))
            self.source_mask = np.where(attention_mask, np.float32(0), HIDDEN)
            if self.model.is_transducer:
                is_first = attention_mask * attention_mask.cumsum(-1) == 1
                self.places = np.where(is_first, np.float32(0), HIDDEN)[:, None]
            input_ids = np.full((len(input_ids), 1), self.model.start_token_id)
            attention_mask = np.ones_like(input_ids)
        texts, length = input_ids.shape
        position_ids = np.maximum(attention_mask.cumsum(-1) - 1, 0)
        self.positions = position_ids[:, -1]
        self._allocate(texts, length)
        mask = np.full((texts, length, self.caches[0].shape[1]), HIDDEN)
        mask[:, :, :length] = np.where(attention_mask[:, None] * np.tri(length, dtype=np.int64), 0, HIDDEN)
        self._bind(mask)
        logits = self._run(input_ids, position_ids)[:, -1:]
        self.visible, self.bound = mask[:, -1:], {}
        return logits

    def step(self, token_ids: np.ndarray, parents: np.ndarray) -> np.ndarray:
        """Read the next token of each branch, as in [`TokenModel.step`]; errors are those of `start`."""
        branches = token_ids.shape[1]
        is_full = self.length + branches > self.visible.shape[2]
        if is_full or not self.bound or branches != self.visible.shape[1]:
            visible = np.take_along_axis(self.visible, parents[:, :, None], axis=1)
            self._bind(self._make_room(visible) if is_full else visible)
        elif branches > 1:
            self.visible[:] = np.take_along_axis(self.visible, parents[:, :, None], axis=1)
        if self.places is not None:
            self.places = np.take_along_axis(self.places, parents[:, :, None], axis=1)
        own = np.arange(branches)
        self.visible[:, own, self.length + own] = 0
        return self._run(token_ids, self.positions[:, None])

    def keep(self, rows: np.ndarray) -> None:
        """Go on with these texts only, (kept,) int64."""
        self.caches = [each[rows] for each in self.caches]
        self.source = {name: each[rows] for name, each in self.source.items()}
        if self.source_mask is not None:
            self.source_mask = self.source_mask[rows]
        if self.places is not None:
            self.places = self.places[rows]
        self.visible, self.positions, self.bound = self.visible[rows], self.positions[rows], {}

    def _run(self, input_ids: np.ndarray, position_ids: np.ndarray) -> np.ndarray:
        """Run the graph on new tokens, (texts, new_length), and return their logits."""
        self._check_length(int(self.positions.max()) + 1)
        self.bound["input_ids"][:] = input_ids
        self.bound["position_ids"][:] = position_ids
        self.bound["write_index"][:] = self.length
        if self.places is not None:
            self.bound["places"][:] = self.places
        self.model.decoder.run_with_iobinding(self.binding)
        if self.places is not None:
            self.places = self.bound["new_places"].copy()
        self.length += input_ids.shape[1]
        self.positions = self.positions + 1
        return self.bound["logits"]

    def _check_length(self, length: int) -> None:
        longest = self.model.longest
        if longest is not None and length > longest:
            raise ValueError(
                f"A text has {length} tokens; expected at most the {longest} positions that this model has learned "
                "(max_position_embeddings). Shorten it, or lower max_new_tokens."
            )

    def _allocate(self, texts: int, used: int, branches: int = 1) -> None:
        """Make empty caches with room for a number of used slots and for some steps."""
        capacity = -(-(used + max(32, 8 * branches, used // 4)) // 16) * 16
        self.caches = [np.zeros((texts, capacity, self.model.width), np.float32) for _ in range(2 * self.model.blocks)]

    def _make_room(self, visible: np.ndarray) -> np.ndarray:
        """Move the slots that a branch sees into new caches, and return what each branch sees there."""
        texts, branches, _ = visible.shape
        seen = (visible[:, :, : self.length] == 0).any(1)  # (texts, used)
        order = np.argsort(~seen, axis=1, kind="stable")[:, : seen.sum(1).max()]  # seen slots first, in their order
        used, old = order.shape[1], self.caches
        self._allocate(texts, used, branches)
        for cache, before in zip(self.caches, old):
            cache[:, :used] = np.take_along_axis(before, order[:, :, None], axis=1)
        room = np.full((texts, branches, self.caches[0].shape[1]), HIDDEN)
        room[:, :, :used] = np.take_along_axis(visible, order[:, None], axis=2)
        self.length = used
        return room

    def _bind(self, mask: np.ndarray) -> None:
        """Give onnxruntime memory for steps in which new tokens see what a mask says, (texts, new_length, capacity).

        What is written into `self.visible` from now on, onnxruntime reads.
        """
        texts, new, _ = mask.shape
        inputs = {
            "input_ids": np.empty((texts, new), np.int64),
            "position_ids": np.empty((texts, new), np.int64),
            "attention_mask": np.ascontiguousarray(mask[:, None]),
            "write_index": np.empty(texts, np.int64),
            **dict(zip(key_value_names("past", self.model.blocks), self.caches)),
            **self.source,
        }
        if self.source_mask is not None:
            inputs["source_mask"] = np.repeat(self.source_mask[:, None, None], new, axis=2)
        if self.places is not None:
            inputs["places"] = np.empty((texts, new, self.places.shape[2]), np.float32)
        self.binding = self.model.decoder.io_binding()
        for name, array in inputs.items():
            value = _share(array)
            self.binding.bind_ortvalue_input(name, value)
            if name.startswith("past."):  # written in place
                self.binding.bind_ortvalue_output(name.replace("past", "present"), value)
        outputs = {"logits": np.empty((texts, new, self.model.vocab_size), np.float32)}
        if self.places is not None:
            outputs["new_places"] = np.empty_like(inputs["places"])
        for name, array in outputs.items():
            self.binding.bind_ortvalue_output(name, _share(array))
        self.bound = {**inputs, **outputs}
        self.visible = inputs["attention_mask"][:, 0]


def _share(array: np.ndarray) -> Any:
    from onnxruntime import OrtValue

    return OrtValue.ortvalue_from_numpy(array)  # with the memory of the array
