"""Models in onnxruntime: sessions over ONNX files, and the cache in which a model generates.

The ONNX files are those of `onnx_export.py`.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .token_search import TokenModel

ONNX_FOLDER = "onnx"  # in the folder of a saved model
FORMAT_KEY, FORMAT = "atenta_format", "1"  # names and meaning of inputs and outputs
HIDDEN = -1e9  # added to a score, it leaves nothing of it in float32
Quantization = Literal["int8"]


def file_name(stem: str, quantization: Quantization | None) -> str:
    """Return the name of an ONNX file: `model.onnx`, or `model_int8.onnx`."""
    return f"{stem}_{quantization}.onnx" if quantization else f"{stem}.onnx"


def key_value_names(of: str, blocks: int) -> list[str]:
    """Return the names of keys and values, block by block: `past.0.key`, `past.0.value`, …"""
    return [f"{of}.{index}.{part}" for index in range(blocks) for part in ("key", "value")]


def open_session(path: str | os.PathLike, threads: int | None = None) -> Any:
    """Open an ONNX file in onnxruntime, on the CPU.

    Args:
        path: a file that `export_onnx` wrote.
        threads: number of threads; by default, one for each physical core.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If onnxruntime cannot read it, or another version of this package wrote it.
    """
    import onnxruntime  # here, because names of files are needed where it is not installed

    if not Path(path).is_file():
        raise FileNotFoundError(f"{path} is not there; write it with `python -m atenta.recipes.export`.")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or 0
    options.log_severity_level = 3  # errors only: they are raised too
    try:
        # On a CPU, the sum and LayerNorm take a quarter of the time of the two fused.
        session = onnxruntime.InferenceSession(
            path, options, providers=["CPUExecutionProvider"], disabled_optimizers=["SkipLayerNormFusion"]
        )
    except Exception as error:  # its classes of errors share no base but Exception
        reason = " ".join(str(error).split())
        raise ValueError(
            f"onnxruntime {onnxruntime.__version__} cannot read {path}: {reason:.200} Write it again with `python -m "
            "atenta.recipes.export`, or upgrade onnxruntime."
        ) from None
    found = session.get_modelmeta().custom_metadata_map.get(FORMAT_KEY)
    if found != FORMAT:
        raise ValueError(
            f"{path} has format {found}; expected {FORMAT}. Write it again with `python -m atenta.recipes.export`."
        )
    return session


class OnnxHead:
    """A model that does not generate: an encoder with any head, or a classifier.

    Args:
        folder: the folder of the ONNX files.
        quantization: which of them.
        threads: as in [`open_session`].
    """

    def __init__(self, folder: Path, quantization: Quantization | None = None, threads: int | None = None) -> None:
        self.session = open_session(folder / file_name("model", quantization), threads)
        self.input_names = {each.name for each in self.session.get_inputs()}
        self.output_names = [each.name for each in self.session.get_outputs()]

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the outputs by name.

        Args:
            inputs: `input_ids`, `attention_mask` and, for an encoder with segments, `token_type_ids`, (batch, length)
                int64 each. Segments are left out for a model without.
        """
        feed = {name: inputs[name] for name in self.input_names}
        return dict(zip(self.output_names, self.session.run(self.output_names, feed)))


class OnnxGenerator:
    """A model that generates: sessions that any number of threads may share.

    Args:
        folder: the folder of the ONNX files.
        config: the model's configuration.
        quantization: which of the files.
        threads: as in [`open_session`].
    """

    def __init__(
        self,
        folder: Path,
        config: Mapping[str, Any],
        quantization: Quantization | None = None,
        threads: int | None = None,
    ) -> None:
        self.decoder = open_session(folder / file_name("decoder_model", quantization), threads)
        self.encoder = None
        if config.get("is_encoder_decoder"):
            self.encoder = open_session(folder / file_name("encoder_model", quantization), threads)
        self.start_token_id = config.get("decoder_start_token_id")
        past = [each for each in self.decoder.get_inputs() if each.name.startswith("past.")]
        self.blocks, self.width = len(past) // 2, past[0].shape[-1]
        self.vocab_size = self.decoder.get_outputs()[0].shape[-1]
        self.longest = None  # number of tokens that learned positions allow
        if config["position_embedding_type"] == "learned":
            self.longest = config["max_position_embeddings"]

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
        self.binding = model.decoder.io_binding()
        self.bound: dict[str, np.ndarray] = {}  # keeps the memory alive that onnxruntime reads and writes
        self.source: dict[str, np.ndarray] = {}
        self.source_mask: np.ndarray | None = None  # (texts, source_length), added to the scores
        self.caches: list[np.ndarray] = []  # keys and values of each block, (texts, capacity, width) each
        self.visible = np.empty((0, 0, 0), np.float32)  # (texts, branches, capacity), added to the scores
        self.length = 0  # number of used slots
        self.positions = np.empty(0, np.int64)  # (texts,), of the next token

    def start(self, input_ids: np.ndarray, attention_mask: np.ndarray) -> np.ndarray:
        """Read the sources or, padded on the left, the prompts.

        Args:
            input_ids: (texts, length), int64.
            attention_mask: (texts, length), int64, 1 for tokens and 0 for padding.

        Returns:
            The logits of the first new token, (texts, 1, vocab_size), float32.

        Raises:
            ValueError: If a text is longer than the positions that the model has learned.
        """
        texts = len(input_ids)
        if self.model.encoder is not None:
            self._check_length(int(attention_mask.sum(-1).max()))
            names = key_value_names("source", self.model.blocks)
            self.source = dict(
                zip(names, self.model.encoder.run(names, {"input_ids": input_ids, "attention_mask": attention_mask}))
            )
            self.source_mask = np.where(attention_mask, np.float32(0), np.float32(HIDDEN))
            input_ids = np.full((texts, 1), self.model.start_token_id)
            attention_mask = np.ones((texts, 1), np.int64)
        length = input_ids.shape[1]
        position_ids = np.maximum(attention_mask.cumsum(-1) - 1, 0)
        self.positions = position_ids[:, -1] + 1
        self._allocate(texts, length)
        seen = np.where(attention_mask, np.float32(0), np.float32(HIDDEN))
        self.visible = np.full((texts, 1, self.caches[0].shape[1]), HIDDEN, np.float32)
        self.visible[:, 0, :length] = seen
        mask = np.repeat(self.visible, length, axis=1)  # (texts, length, capacity)
        mask[:, :, :length] += np.triu(np.full((length, length), HIDDEN, np.float32), 1)
        return self._run(input_ids, position_ids, mask)[:, -1:]

    def step(self, token_ids: np.ndarray, parents: np.ndarray) -> np.ndarray:
        """Read the next token of each branch.

        Args:
            token_ids: (texts, branches), int64.
            parents: (texts, branches), int64, the branch of the step before that each one continues.

        Returns:
            Logits, (texts, branches, vocab_size), float32; the next step writes over them.

        Raises:
            ValueError: As in [`OnnxTexts.start`].
        """
        branches = token_ids.shape[1]
        if branches == self.visible.shape[1] == 1:
            visible = self.visible
        else:
            visible = np.take_along_axis(self.visible, parents[:, :, None], axis=1)
        if self.length + branches > visible.shape[2]:
            visible = self._make_room(visible)
        own = np.arange(branches)
        visible[:, own, self.length + own] = 0
        self.visible = visible
        position_ids = np.repeat(self.positions[:, None], branches, axis=1)
        self.positions = self.positions + 1
        return self._run(token_ids, position_ids, visible)

    def keep(self, rows: np.ndarray) -> None:
        """Go on with some of the texts.

        Args:
            rows: (kept,), int64, their indices.
        """
        self.caches = [each[rows] for each in self.caches]
        self.source = {name: each[rows] for name, each in self.source.items()}
        if self.source_mask is not None:
            self.source_mask = self.source_mask[rows]
        self.visible, self.positions = self.visible[rows], self.positions[rows]

    def _check_length(self, length: int) -> None:
        longest = self.model.longest
        if longest is not None and length > longest:
            raise ValueError(
                f"A text has {length} tokens; expected at most the {longest} positions that this model has learned "
                "(max_position_embeddings). Shorten it, or lower max_new_tokens."
            )

    def _allocate(self, texts: int, used: int) -> None:
        """Make empty caches with room for a number of used slots and some more."""
        capacity = _capacity(used)
        self.caches = [np.zeros((texts, capacity, self.model.width), np.float32) for _ in range(2 * self.model.blocks)]

    def _make_room(self, visible: np.ndarray) -> np.ndarray:
        """Move the slots that a branch sees into new caches, and return what each branch sees there."""
        seen = (visible[:, :, : self.length] == 0).any(1)  # (texts, used)
        order = np.argsort(~seen, axis=1, kind="stable")[:, : seen.sum(1).max()]  # seen slots first, in their order
        used, old = order.shape[1], self.caches
        self._allocate(len(visible), used)
        for cache, before in zip(self.caches, old):
            cache[:, :used] = np.take_along_axis(before, order[:, :, None], axis=1)
        room = np.full((*visible.shape[:2], self.caches[0].shape[1]), HIDDEN, np.float32)
        room[:, :, :used] = np.take_along_axis(visible, order[:, None], axis=2)
        self.length = used
        return room

    def _run(self, input_ids: np.ndarray, position_ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Run the graph, and return its logits, (texts, new_length, vocab_size)."""
        self._check_length(int(self.positions.max()))
        texts, new = input_ids.shape
        inputs = {
            "input_ids": input_ids,
            "position_ids": position_ids,
            "attention_mask": mask[:, None],
            "write_index": np.full(texts, self.length),
            **dict(zip(key_value_names("past", self.model.blocks), self.caches)),
            **self.source,
        }
        if self.source_mask is not None:
            shape = (texts, 1, new, self.source_mask.shape[1])
            inputs["source_mask"] = np.broadcast_to(self.source_mask[:, None, None], shape)
        for name, array in inputs.items():
            self._bind(name, array)
        logits = self.bound.get("logits")
        if logits is None or logits.shape[:2] != (texts, new):
            logits = np.empty((texts, new, self.model.vocab_size), np.float32)
            self.binding.bind_ortvalue_output("logits", _ortvalue(logits))
            self.bound["logits"] = logits
        self.model.decoder.run_with_iobinding(self.binding)
        self.length += new
        return logits

    def _bind(self, name: str, array: np.ndarray) -> None:
        """Let an input of the graph be the memory of an array, and for a cache the output that it becomes too."""
        bound = self.bound.get(name)
        if bound is array:
            return
        if name.startswith(("past.", "source.")):  # large, and ours alone
            self.bound[name] = array
            value = _ortvalue(array)
            self.binding.bind_ortvalue_input(name, value)
            if name.startswith("past."):
                self.binding.bind_ortvalue_output(name.replace("past", "present"), value)
        elif bound is not None and bound.shape == array.shape:
            np.copyto(bound, array)  # cheaper than binding anew
        else:
            self.bound[name] = np.array(array, order="C")
            self.binding.bind_ortvalue_input(name, _ortvalue(self.bound[name]))


def _capacity(used: int) -> int:
    return -(-(used + max(64, used // 4)) // 32) * 32


def _ortvalue(array: np.ndarray) -> Any:
    from onnxruntime import OrtValue

    return OrtValue.ortvalue_from_numpy(array)  # shares the array's memory
