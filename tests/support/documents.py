"""The documents' worked examples, and the package's own classes with the examples' weights.

`tests/data/worked_examples.json` is a copy of the file of that name next to the five documents. For each example it
has the inputs, the figures that the document prints, and the exact figures, recomputed in float64.
"""

import json
from pathlib import Path
from types import SimpleNamespace

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedTokenizerFast

from atenta import AtentaDecoderConfig
from atenta.modeling.attention import MultiHeadAttention, eager_attention_forward

EXAMPLES = json.loads((Path(__file__).parents[1] / "data" / "worked_examples.json").read_text(encoding="utf-8"))
LAST_DIGIT = 2e-6  # the exact figures have six digits, and softmax is computed in float32


def worked_example(name):
    """Return a worked example by name, such as `"2/causal-mask"`: the number of its document and its subject.

    Returns:
        `inputs`, `exact` and, where the document prints figures, `printed`. They are dictionaries with numbers as
        float64 tensors. Rows of a printed triangle are filled up with 0.
    """
    return SimpleNamespace(
        **{
            part: {figure: as_tensor(value) for figure, value in figures.items()}
            for part, figures in EXAMPLES[name].items()
        }
    )


def as_tensor(value):
    """Convert lists of numbers and lists of such lists to tensors. Other values are unchanged."""
    if not isinstance(value, list) or isinstance(value[0], str):
        return value
    if isinstance(value[0], list):
        return pad_sequence([as_tensor(row) for row in value], batch_first=True)
    return torch.tensor(value, dtype=torch.float64)


def farthest(actual, printed):
    """Return the largest difference from the printed figures."""
    return (actual - printed).abs().max().item()


def one_head(inputs, is_causal, attn_implementation="eager"):
    """Return a layer of one head with an example's matrices and without an output projection."""
    width, head_dim = inputs["W_Q"].shape
    config = AtentaDecoderConfig(
        hidden_size=width, num_attention_heads=1, head_dim=head_dim, position_embedding_type="learned"
    )
    config._attn_implementation = attn_implementation
    layer = MultiHeadAttention(config, layer_idx=0, is_causal=is_causal).double()
    layer.o_proj = nn.Identity()
    for name in ("q", "k", "v"):
        getattr(layer, f"{name}_proj").weight = nn.Parameter(inputs[f"W_{name.upper()}"].mT)
    return layer.requires_grad_(False)


def scores_of(layer, states):
    """Return the layer's scores before mask and softmax, from its own projections and scaling."""
    return layer.q_proj(states) @ layer.k_proj(states).mT * layer.scaling


def weights_of_scores(scores, attention_mask=None):
    """Return the attention weights of given scores (..., keys). Identity keys keep the scores."""
    query = scores.reshape(1, 1, -1, scores.shape[-1])
    keys = torch.eye(scores.shape[-1], dtype=scores.dtype)[None, None]
    _, weights = eager_attention_forward(nn.Module(), query, keys, keys, attention_mask, scaling=1.0)
    return weights.reshape(scores.shape)


def word_tokenizer(texts):
    """Return a tokenizer of the texts' words in the order in which they appear, a `WordLevel` model."""
    words = dict.fromkeys(word for text in texts for word in text.split())
    backend = Tokenizer(WordLevel({word: index for index, word in enumerate(words)}))
    backend.pre_tokenizer = WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=backend)
