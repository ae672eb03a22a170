"""Saved models written as ONNX files: what the onnxruntime engine reads.

An encoder, or a decoder with a classification head, is one graph: `model.onnx`. A model that generates has a graph for
a step of its decoder, `decoder_model.onnx`, and, if it reads a source, one for its encoder, `encoder_model.onnx`. They
need operators of ONNX's own set 24 only, and have any number of texts, tokens and cached positions.
"""

import copy
import logging
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import torch
from onnxscript import opset18
from torch import nn
from torch.export import Dim
from transformers import PreTrainedModel

from ..modeling import modeling_decoder, modeling_encoder_decoder
from ..modeling.attention import MultiHeadAttention
from ..modeling.positions import source_positions
from ..modeling.transducer import Transducer
from .choice import ONNX_FOLDER, Quantization, file_name
from .onnx_models import FORMAT, FORMAT_KEY, HIDDEN, key_value_names, remove_old_exports, source_digests
from .onnx_quantization import round_calibrated, round_weights
from .saved_model import check_files
from .torch_models import load_model, named_outputs

OPERATOR_SET = 24  # the first with TensorScatter
_MODULES_OF_NODE = "pkg.torch.onnx.name_scopes"  # what torch notes of each node
_WITH_BLOCKS = (".layers.", ".downsampling.")  # parts of such names
_PREPARED = {"onnx.quant.pre_process": "onnxruntime.quant"}  # else the quantizers ask for what torch has done
_SIZES = {"batch": 2, "new_length": 3, "capacity": 32, "source_length": 7, "length": 7}  # that torch traces with
_op: Any = opset18  # in which torch writes nodes, before they go to OPERATOR_SET
CausalModel = modeling_decoder.AtentaDecoderForCausalLM
TranslationModel = modeling_encoder_decoder.AtentaEncoderDecoderForConditionalGeneration


class AttentionNodes(nn.Module):
    """The attention of a block as three kinds of nodes: RotaryEmbedding, TensorScatter and Attention.

    It takes the place of [`MultiHeadAttention`], so that the blocks around it are exported as they are. Heads stay
    side by side in the last dimension: nothing is transposed or copied.
    """

    def __init__(self, attention: MultiHeadAttention) -> None:
        super().__init__()
        self.attention = attention
        parts = attention.q_proj, attention.k_proj, attention.v_proj
        has_bias = attention.q_proj.bias is not None
        self.qkv_proj = nn.Linear(attention.q_proj.in_features, 3 * attention.q_proj.out_features, bias=has_bias)
        self.qkv_proj.weight.data = torch.cat([part.weight.data for part in parts])
        if has_bias:
            self.qkv_proj.bias.data = torch.cat([part.bias.data for part in parts])
        self.num_heads = attention.q_proj.out_features // attention.head_dim

    def forward(
        self,
        hidden_states: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        position_embeddings: tuple[torch.Tensor, torch.Tensor] | None = None,
        key_value_states: tuple[torch.Tensor, torch.Tensor] | None = None,
        past_key_values: "CacheSlots | None" = None,
        **kwargs: Any,
    ) -> tuple[torch.Tensor, None]:
        """Attend, as [`MultiHeadAttention.forward`] does.

        Args:
            hidden_states: (batch, query_length, hidden_size).
            attention_mask: (batch, 1, query_length, key_length), added to the scores, or whether a key is seen.
            position_embeddings: rotary cosines and sines, (batch or 1, query_length, head_dim) each.
            key_value_states: keys and values of the source, (batch, source_length, heads · head_dim) each.
            past_key_values: the cache of self-attention.
            kwargs: not used.
        """
        attention = self.attention
        if key_value_states is not None:
            query = self.turn(attention.q_proj(hidden_states), position_embeddings)
            key, value = key_value_states
        else:
            query, key, value = self.qkv_proj(hidden_states).chunk(3, dim=-1)  # one product takes less time than three
            query, key = self.turn(query, position_embeddings), self.turn(key, position_embeddings)
            if past_key_values is not None:
                key, value = past_key_values.write(key, value)
        output, *_ = torch.onnx.ops.attention(
            query,
            key,
            value,
            attention_mask,
            q_num_heads=self.num_heads,
            kv_num_heads=self.num_heads,
            scale=attention.scaling,
        )
        return attention.o_proj(output), None

    def turn(
        self, states: torch.Tensor, position_embeddings: tuple[torch.Tensor, torch.Tensor] | None
    ) -> torch.Tensor:
        """Return queries or keys, (batch, length, heads · head_dim), turned by their rotary positions, if any."""
        if position_embeddings is None:
            return states
        half = self.attention.head_dim // 2
        cosines, sines = (
            each[..., :half].expand(states.shape[0], -1, -1)  # the other half repeats it
            for each in position_embeddings
        )
        return torch.onnx.ops.rotary_embedding(states, cosines, sines, num_heads=self.num_heads)


class CacheSlots:
    """The keys and values of a block, (batch, capacity, heads · head_dim) each, and where new ones are written.

    If a caller binds an output to the memory of its input, TensorScatter writes in place.
    """

    def __init__(self, keys: torch.Tensor, values: torch.Tensor, write_index: torch.Tensor) -> None:
        self.keys, self.values, self.write_index = keys, values, write_index

    def write(self, keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Write keys and values, (batch, new_length, heads · head_dim) each, and return all slots."""
        self.keys, self.values = self._scatter(self.keys, keys), self._scatter(self.values, values)
        return self.keys, self.values

    def _scatter(self, slots: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        return torch.onnx.ops.symbolic(
            "TensorScatter",
            (slots, states, self.write_index),
            attrs={"axis": 1},
            dtype=slots.dtype,
            shape=slots.shape,
            version=OPERATOR_SET,
        )


class DecoderStep(nn.Module):
    """The graph of a step: the logits of the tokens after some new ones, whose keys and values join the cache.

    Positions and mask are inputs. So the new tokens may be a prompt, the next token of each text, or the branches of
    each text in a beam search, which all read one cache and see their own ancestors only.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        self.decoder, self.lm_head = model.get_decoder(), model.lm_head
        self.transducer = getattr(model, "transducer", None)

    def forward(
        self,
        input_ids: torch.Tensor,
        position_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        write_index: torch.Tensor,
        past: Sequence[tuple[torch.Tensor, torch.Tensor]],
        source_mask: torch.Tensor | None = None,
        source: Sequence[tuple[torch.Tensor, torch.Tensor]] = (),
        source_logits: torch.Tensor | None = None,
        places: torch.Tensor | None = None,
    ) -> tuple[Any, ...]:
        """Read new tokens.

        Args:
            input_ids: (batch, new_length).
            position_ids: (batch, new_length).
            attention_mask: (batch, 1, new_length, capacity), added to the scores.
            write_index: (batch,), the first slot of the new keys and values.
            past: keys and values of each block, (batch, capacity, heads · head_dim) each.
            source_mask: (batch, 1, new_length, source_length), added to the scores of cross-attention.
            source: keys and values of the source in each block, (batch, source_length, heads · head_dim) each.
            source_logits: a transducer's, (batch, source_length, vocab_size).
            places: a transducer's weights of the places before each new token, (batch, new_length, source_length).

        Returns:
            Logits, (batch, new_length, vocab_size), `past` with the new keys and values, and a transducer's weights
            of the places after each new token.
        """
        decoder, present = self.decoder, []
        hidden_states = decoder.embeddings(decoder.embeddings.embed_tokens(input_ids), position_ids)
        rotary = decoder.rotary(position_ids, hidden_states.dtype) if decoder.rotary is not None else None
        for index, (block, slots) in enumerate(zip(decoder.layers, past)):
            cache = CacheSlots(*slots, write_index)
            hidden_states = block(
                hidden_states,
                source[index] if source else None,
                attention_mask=attention_mask,
                encoder_attention_mask=source_mask,
                position_embeddings=rotary,
                past_key_values=cache,
            )
            present.append((cache.keys, cache.values))
        logits = self.lm_head(decoder.norm(hidden_states))
        if self.transducer is None or source_mask is None:
            return logits, present
        is_place = source_mask[:, 0] == 0
        decisions = self.transducer.decide(logits, source_logits, input_ids)
        places = self.transducer.go_on(places, *decisions, is_place)
        return self.transducer.mix(places, logits, source_logits, is_place[:, 0]), present, places


class SourceKeysAndValues(nn.Module):
    """The graph of an encoder-decoder's encoder: what the cross-attention of each block reads of the source.

    A transducer also has the logits of each place.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        self.config, self.model = model.config, model.model
        self.lm_head: nn.Module = model.lm_head
        self.transducer: Transducer | None = model.transducer

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> tuple[Any, ...]:
        """Map ids and mask, (batch, length) each, to keys and values, (batch, length, heads · head_dim)."""
        position_ids = source_positions(input_ids, attention_mask, input_ids, self.config.tag_token_ids)
        states = self.model.encoder(input_ids, attention_mask, position_ids=position_ids).last_hidden_state
        rotary = None
        if self.config.rotary_cross_attention:
            rotary = self.model.decoder.rotary(position_ids, states.dtype)
        layers = [block.cross_attn for block in self.model.decoder.layers]
        pairs = [
            (layer.turn(layer.attention.k_proj(states), rotary), layer.attention.v_proj(states)) for layer in layers
        ]
        return (pairs,) if self.transducer is None else (pairs, self.lm_head(self.transducer.source_proj(states)))


class HeadOutputs(nn.Module):
    """The graph of a model that does not generate: all outputs of its head."""

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, ...]:
        """Return the outputs that [`named_outputs`] names, as the model's own `forward` does."""
        segments = {} if token_type_ids is None else {"token_type_ids": token_type_ids}
        outputs = self.model(input_ids=input_ids, attention_mask=attention_mask, return_dict=True, **segments)
        return tuple(named_outputs(outputs).values())


def export_onnx(
    folder: str | os.PathLike,
    quantization: Quantization | None = None,
    calibration: Sequence[Mapping[str, np.ndarray]] = (),
) -> list[Path]:
    """Write the ONNX files of a saved model into its folder `onnx`, from where `load_engine` takes them.

    Files there that were made from a model other than the one that is in the folder now are deleted.

    Args:
        folder: a saved model of this package, an encoder, a decoder or an encoder-decoder.
        quantization: `"int8"` rounds the weights of the matrix products in the blocks; the head and everything else
            stay in float32. By default nothing is rounded.
        calibration: some hundred examples of what a model that does not generate reads: arrays by name as in
            [`Head.run`], of texts like those that it was trained on. With them, int8 also rounds the numbers that
            the weights multiply, in the ranges that the examples have, which is faster. A model that generates gains
            nothing by this.

    Returns:
        The paths of the files.

    Raises:
        ValueError: If the folder has no model, or a model of another kind, or a link to somewhere else, or there are
            examples for float32 or for a model that generates.
    """
    if calibration and quantization is None:
        raise ValueError("calibration is for quantization='int8'; leave it out for float32.")
    check_files(Path(folder))
    model, metadata = load_model(folder), source_digests(Path(folder))
    if calibration and isinstance(model, CausalModel | TranslationModel):
        raise ValueError(f"{folder} has a model that generates; calibration is for other models, leave it out.")
    target = Path(folder) / ONNX_FOLDER
    target.mkdir(exist_ok=True)
    written = []
    for name, export in graphs_of(model).items():
        path = target / file_name(name, quantization)
        unfinished = path.with_suffix(".part")
        graph = export()
        for key, value in metadata.items():
            graph.model.metadata_props.add(key=key, value=value)
        if quantization is None:
            onnx.save(graph.model, unfinished)
        elif calibration:
            round_calibrated(graph.model, unfinished, graph.outside_blocks, calibration)
        else:
            round_weights(graph.model, unfinished, graph.outside_blocks)
        unfinished.replace(path)
        written.append(path)
    remove_old_exports(target)
    return written


class Graph(NamedTuple):
    """A graph, and the names of its nodes outside the blocks, such as those of the head."""

    model: onnx.ModelProto
    outside_blocks: list[str]


def graphs_of(model: PreTrainedModel) -> dict[str, Callable[[], Graph]]:
    """Return functions that export the graphs of a model of [`load_model`], by the stems of their files."""
    nodes = with_attention_nodes(model)
    if isinstance(model, TranslationModel):
        return {"encoder_model": lambda: export_source(nodes), "decoder_model": lambda: export_step(nodes)}
    if isinstance(model, CausalModel):
        return {"decoder_model": lambda: export_step(nodes)}
    return {"model": lambda: export_head(nodes)}


def with_attention_nodes(model: PreTrainedModel) -> PreTrainedModel:
    """Return a copy of a model whose attention is exported as [`AttentionNodes`]."""
    model = copy.deepcopy(model)
    model.set_attn_implementation("eager")  # whose masks are numbers to add: others are converted in each block
    for parent in list(model.modules()):
        for name, child in parent.named_children():
            if isinstance(child, MultiHeadAttention):
                setattr(parent, name, AttentionNodes(child))
    return model


def export_step(model: PreTrainedModel) -> Graph:
    """Export [`DecoderStep`]."""
    config = model.config
    blocks, width = len(model.get_decoder().layers), config.num_attention_heads * config.head_dim
    inputs = {
        "input_ids": given("batch", "new_length", dtype=torch.long),
        "position_ids": given("batch", "new_length", dtype=torch.long),
        "attention_mask": given("batch", 1, "new_length", "capacity"),
        "write_index": given("batch", dtype=torch.long),
        "past": given("batch", "capacity", width, blocks=blocks),
    }
    outputs = ["logits", *key_value_names("present", blocks)]
    if config.is_encoder_decoder:
        inputs["source_mask"] = given("batch", 1, "new_length", "source_length")
        inputs["source"] = given("batch", "source_length", width, blocks=blocks)
    if getattr(config, "transducer", False):
        inputs["source_logits"] = given("batch", "source_length", config.vocab_size)
        inputs["places"] = given("batch", "new_length", "source_length")
        outputs.append("new_places")
    return export_graph(DecoderStep(model), inputs, outputs)


def export_source(model: PreTrainedModel) -> Graph:
    """Export [`SourceKeysAndValues`]."""
    inputs = {name: given("batch", "source_length", dtype=torch.long) for name in ("input_ids", "attention_mask")}
    inputs["attention_mask"].example[1, 5:] = 0
    outputs = key_value_names("source", len(model.get_decoder().layers))
    if model.transducer is not None:
        outputs.append("source_logits")
    return export_graph(SourceKeysAndValues(model), inputs, outputs)


def export_head(model: PreTrainedModel) -> Graph:
    """Export [`HeadOutputs`]."""
    model.config.use_cache = False  # a decoder that classifies reads its text once
    inputs = {name: given("batch", "length", dtype=torch.long) for name in ("input_ids", "attention_mask")}
    inputs["attention_mask"].example[1, 5:] = 0
    if getattr(model.config, "type_vocab_size", 0):
        inputs["token_type_ids"] = given("batch", "length", dtype=torch.long)
        inputs["token_type_ids"].example[:] = 0  # there may be one segment only
    with torch.no_grad():
        outputs = named_outputs(model(**{name: each.example for name, each in inputs.items()}))
    return export_graph(HeadOutputs(model), inputs, [*outputs])


def _log_sums_of_firsts(numbers: Any, dim: int) -> Any:
    """Write logcumsumexp over the last dimension, for which torch has nodes that overflow."""
    places = _op.Range(0, _op.Squeeze(_op.Shape(numbers, start=-1)), 1)
    is_later = _op.Greater(_op.Unsqueeze(places, [0]), _op.Unsqueeze(places, [1]))
    square = _op.Where(is_later, _op.CastLike(float(HIDDEN), numbers), _op.Unsqueeze(numbers, [-2]))
    return _op.ReduceLogSumExp(square, [-1], keepdims=0)


class Given(NamedTuple):
    """An input of a graph: what torch traces with, and the names of its sizes that vary, by axis."""

    example: Any
    sizes: Any


def given(*sizes: str | int, blocks: int | None = None, dtype: torch.dtype = torch.float32) -> Given:
    """Return an input of these sizes (names from `_SIZES` vary); with `blocks`, a pair of such inputs for each one."""

    def example() -> torch.Tensor:  # each is another: what is one tensor in two places becomes one input of the graph
        return torch.ones([_SIZES[size] if isinstance(size, str) else size for size in sizes], dtype=dtype)

    varying = {axis: Dim(size) for axis, size in enumerate(sizes) if isinstance(size, str)}
    if blocks is None:
        return Given(example(), varying)
    return Given([(example(), example()) for _ in range(blocks)], [(varying, varying)] * blocks)


def export_graph(graph: nn.Module, inputs: Mapping[str, Given], output_names: list[str]) -> Graph:
    """Export a module with the inputs of its `forward`, by name."""
    names = []
    for name, (example, _) in inputs.items():
        names += key_value_names(name, len(example)) if isinstance(example, list) else [name]
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # it warns of torchvision, which is not needed
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names of sizes that are equal, and what torch itself calls of torch
        program = torch.onnx.export(
            graph.eval(),
            kwargs={name: each.example for name, each in inputs.items()},
            dynamic_shapes={name: each.sizes for name, each in inputs.items()},
            input_names=names,
            output_names=output_names,
            opset_version=OPERATOR_SET,
            custom_translation_table={torch.ops.aten.logcumsumexp.default: _log_sums_of_firsts},
            dynamo=True,
            verbose=False,
        )
    outside_blocks = [
        node.name
        for node in program.model.graph
        if node.name and not any(part in node.metadata_props.get(_MODULES_OF_NODE, "") for part in _WITH_BLOCKS)
    ]
    program.model.metadata_props.update({FORMAT_KEY: FORMAT, **_PREPARED})
    model = program.model_proto
    for part in (*model.graph.node, *model.graph.value_info, *model.graph.input, *model.graph.output):
        part.ClearField("metadata_props")  # among them the paths of this machine's files
    return Graph(model, outside_blocks)
