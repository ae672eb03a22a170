"""Models in torch behind the interface of the engines: the engine without an export."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import Cache, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput
from transformers.utils import ModelOutput

from ..modeling import modeling_decoder, modeling_encoder, modeling_encoder_decoder, modeling_encoder_pretraining
from ..modeling.cache_layers import CACHE_NAME
from ..modeling.modeling_encoder_decoder import AtentaEncoderDecoderModel
from ..modeling.positions import source_positions
from .saved_model import class_of, load_weights, read_config
from .token_search import TokenModel


def load_model(folder: str | os.PathLike) -> PreTrainedModel:
    """Load the saved model of a folder in float32, in evaluation mode.

    Args:
        folder: folder of an encoder, a decoder or an encoder-decoder of this package.

    Raises:
        FileNotFoundError: If the folder has no model.
        ValueError: If it has a model of another kind, or a damaged one.
    """
    folder = Path(folder)
    name = class_of(read_config(folder))
    modules = (modeling_encoder, modeling_encoder_pretraining, modeling_decoder, modeling_encoder_decoder)
    model_class = next((found for module in modules if (found := getattr(module, name, None))), None)
    is_model = isinstance(model_class, type) and issubclass(model_class, PreTrainedModel)
    if not is_model or model_class is AtentaEncoderDecoderModel:
        raise ValueError(
            f"{folder} has a model of class {name}; expected an encoder, a decoder, or an encoder-decoder with an "
            "output layer, of this package."
        )
    return load_weights(model_class, folder, dtype=torch.float32)


def named_outputs(outputs: ModelOutput) -> dict[str, torch.Tensor]:
    """Return the tensors of a model's outputs by name, without caches."""
    return {name: value for name, value in outputs.items() if isinstance(value, torch.Tensor)}


class TorchHead:
    """A model that does not generate: an encoder with any head, or a classifier."""

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model

    @torch.inference_mode()
    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the outputs by name, as [`OnnxHead.run`] does."""
        names = ["input_ids", "attention_mask"]
        if getattr(self.model.config, "type_vocab_size", 0):
            names.append("token_type_ids")
        outputs = self.model(**{name: torch.from_numpy(inputs[name]) for name in names}, return_dict=True)
        return {name: value.numpy() for name, value in named_outputs(outputs).items()}


class TorchGenerator:
    """A model that generates."""

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model

    def begin(self) -> TokenModel:
        """Return the model with an empty cache, for the texts of one batch."""
        return TorchTexts(self.model)


class TorchTexts:
    """The texts of a batch while they are generated, with a row of the model's own cache for each branch."""

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model
        self.branches = 1
        self.cache: Cache | None = None
        self.rows: dict[str, torch.Tensor] = {}  # what else the model reads at each step, a row for each branch

    def start(self, input_ids: np.ndarray, attention_mask: np.ndarray) -> np.ndarray:
        """Read the sources or the prompts, as in [`TokenModel.start`]."""
        config, ids = self.model.config, torch.from_numpy(input_ids)
        self.rows = {"attention_mask": torch.from_numpy(attention_mask)}
        if not config.is_encoder_decoder:
            return self._run(ids)[:, -1:]
        with torch.inference_mode():
            self.rows["position_ids"] = source_positions(ids, self.rows["attention_mask"], ids, config.tag_token_ids)
            encoded = self.model.get_encoder()(input_ids=ids, return_dict=True, **self.rows)
        self.rows["last_hidden_state"] = encoded.last_hidden_state
        return self._run(torch.full((len(ids), 1), config.decoder_start_token_id))

    def step(self, token_ids: np.ndarray, parents: np.ndarray) -> np.ndarray:
        """Read the next token of each branch, as in [`TokenModel.step`]."""
        self._select(np.arange(len(parents))[:, None] * self.branches + parents)
        self.branches = parents.shape[1]
        if not self.model.config.is_encoder_decoder:
            mask = self.rows["attention_mask"]
            self.rows["attention_mask"] = torch.cat((mask, mask.new_ones(len(mask), 1)), dim=1)
        return self._run(torch.from_numpy(token_ids).reshape(-1, 1)).reshape(*token_ids.shape, -1)

    def keep(self, rows: np.ndarray) -> None:
        """Go on with these texts only, (kept,) int64."""
        self._select(rows[:, None] * self.branches + np.arange(self.branches))

    @torch.inference_mode()
    def _select(self, rows: np.ndarray) -> None:
        index: Any = torch.from_numpy(rows.reshape(-1))  # a LongTensor
        if torch.equal(index, torch.arange(len(self.rows["attention_mask"]))):
            return
        self.rows = {name: tensor[index] for name, tensor in self.rows.items()}
        self.cache.reorder_cache(index)

    @torch.inference_mode()
    def _run(self, ids: torch.Tensor) -> np.ndarray:
        inputs = dict(self.rows)
        if "last_hidden_state" in inputs:
            inputs["encoder_outputs"] = BaseModelOutput(inputs.pop("last_hidden_state"))
            inputs["decoder_input_ids"] = ids
        else:
            inputs["input_ids"] = ids
        outputs = self.model(**inputs, past_key_values=self.cache, use_cache=True, return_dict=True)
        self.cache = outputs[CACHE_NAME]
        return outputs.logits.numpy()
