"""The cross-attention of an encoder-decoder as an ONNX file: what each character of an output read of its source."""

import copy
import logging
import warnings
from pathlib import Path

import torch
from torch import nn
from torch.export import Dim
from transformers import PreTrainedModel

from atenta.engines.onnx_export import OPERATOR_SET


class CrossAttentionWeights(nn.Module):
    """The graph: source and target ids to the weights of every block and head."""

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        self.model = copy.deepcopy(model)
        self.model.set_attn_implementation("eager")  # the others return no weights

    def forward(self, input_ids: torch.Tensor, decoder_input_ids: torch.Tensor) -> torch.Tensor:
        """Return the weights, (blocks, heads, target_length, source_length), each row with the sum 1.

        Args:
            input_ids: (1, source_length).
            decoder_input_ids: (1, target_length), from the start token on: position i chooses character i + 1.
        """
        outputs = self.model(
            input_ids=input_ids, decoder_input_ids=decoder_input_ids, output_attentions=True, use_cache=False
        )
        return torch.cat(outputs.cross_attentions)


def export_cross_attention(model: PreTrainedModel, path: Path) -> None:
    """Write the graph of an encoder-decoder with an output layer into an ONNX file."""
    inputs = {name: torch.ones(1, length, dtype=torch.long) for name, length in _LENGTHS.items()}
    shapes = {name: {1: Dim(name.replace("input_ids", "length"))} for name in _LENGTHS}
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # it warns of torchvision, which is not needed
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what torch itself calls of torch
        program = torch.onnx.export(
            CrossAttentionWeights(model).eval(),
            kwargs=inputs,
            dynamic_shapes=shapes,
            input_names=list(inputs),
            output_names=["weights"],
            opset_version=OPERATOR_SET,
            dynamo=True,
            verbose=False,
        )
    for node in program.model.graph:
        node.metadata_props.clear()  # among them the paths of this machine's files
    program.save(path)


_LENGTHS = {"input_ids": 7, "decoder_input_ids": 5}  # of the texts that torch traces with
