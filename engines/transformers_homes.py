"""Models of this package as models of transformers' own classes, which open without `trust_remote_code`.

A class of transformers is the home of a model if it computes the same from other weights. The algebra:

- The factor √hidden_size is part of the token embeddings, and so is the first segment where a class has no segments.
- The outputs of a LayerNorm, before its weight and bias, have the sum 0. So where a head has no bias, the norm before
  it gets the bias 1, and a constant is added to each row of the head, which contributes only the missing bias.
- RMSNorm is LayerNorm where the mean is 0: what layers write into the residual stream is centred, and the bias of a
  norm moves into the layers that read it. A gate that is always 1 is none.
- Marian has all sines before the cosines: the hidden dimensions change places.

It is exact, with two exceptions that hold in float32 and not in half precision: ReLU in a class of GELU is gelu(cx)/c
with a large c; and in MegatronBERT's head of masked characters, numbers are made so large that its activation leaves
them as they are.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import torch
import transformers
from torch import nn
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.activations import ACT2FN

from .kinds import saved_options

Weights: TypeAlias = dict[str, torch.Tensor]
Options: TypeAlias = dict[str, Any]
# Of a block, the name of a layer in it, its weight and its bias, of which a class may have none.
Change: TypeAlias = Callable[[Any, str, torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor | None]]

_OF_NO_CLASS = (
    *("ngram_sizes", "shared_ngram_sizes", "conv_kernel_size", "downsampling_rate"),
    *("character_variants", "tag_token_ids", "transducer"),
)
_STEEP = 2.0**20  # |gelu(cx)/c - relu(x)| is at most 0.17/c
_LINEAR_FROM = 16.0  # from here on most activations return what they are given
_LONGEST = 8192  # what a configuration says of rotary positions, which have no limit
_UNREAD = ("model.shared.", "contact_head.")  # weights that a class has and does not use here

# The layers of a block, here and in each class.
_OURS = (
    *("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "self_attn_frame.norm"),
    *("feed_forward.up_proj", "feed_forward.down_proj", "feed_forward_frame.norm"),
)
_EUROBERT = (
    *("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "input_layernorm"),
    *("mlp.gate_proj", "mlp.down_proj", "post_attention_layernorm"),
)
_BERT = (
    *("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"),
    *("attention.LayerNorm", "intermediate.dense", "output.dense", "LayerNorm"),
)
_MEGATRON = tuple(name.replace("LayerNorm", "ln") for name in _BERT)
_NEOX = (
    *("attention.query_key_value", "attention.dense", "input_layernorm"),
    *("mlp.dense_h_to_4h", "mlp.dense_4h_to_h", "post_attention_layernorm"),
)
_BART = (
    *("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.out_proj", "self_attn_layer_norm"),
    *("fc1", "fc2", "final_layer_norm"),
)


def home_of(config: PreTrainedConfig, class_name: str) -> str:
    """Return the name of the class of transformers that computes what a model of this package computes.

    Args:
        config: its configuration.
        class_name: the name of its class.

    Raises:
        ValueError: If there is none. The message names each value that no class supports, and one that is supported.
    """
    home = _nearest_class(config, class_name)
    if lacking := list(_lacking(config, home)):
        raise ValueError(f"transformers has no class that computes this {class_name}: {'; '.join(lacking)}.")
    return home


def _nearest_class(config: PreTrainedConfig, class_name: str) -> str:
    """Return the class that is a home if all other options are right; it may lack the head."""
    is_rotary = config.position_embedding_type == "rotary"
    if config.model_type == "atenta_encoder_decoder":
        return "PegasusForConditionalGeneration" if config.norm_first else "MarianMTModel"
    if config.model_type == "atenta_decoder":
        return class_name.replace("AtentaDecoder", "GPTNeoX" if is_rotary else "OPT")
    if not is_rotary:
        return class_name.replace("AtentaEncoder", "MegatronBert")
    of_tokens = class_name.endswith(("MaskedLM", "TokenClassification"))
    return class_name.replace("AtentaEncoder", "EuroBert" if of_tokens else "Esm")


def _lacking(config: PreTrainedConfig, home: str) -> Iterator[str]:
    """Yield each value of a configuration that no class supports, with what is expected instead."""
    family, positions, width = config.model_type, config.position_embedding_type, config.hidden_size
    for name in _OF_NO_CLASS:
        if getattr(config, name, None):
            yield f"found {name}={getattr(config, name)!r:.60}, expected null"
    if family == "atenta_encoder_decoder":
        if positions == "rotary" or (positions == "learned" and not config.norm_first):
            expected = (
                "'sinusoidal' or 'learned'" if config.norm_first else "'sinusoidal', or 'learned' with norm_first=True"
            )
            yield f"found position_embedding_type={positions!r}, expected {expected}"
    elif not config.norm_first and not home.startswith("OPT"):
        added = " (False has one in a decoder with other positions)" * (family == "atenta_decoder")
        yield f"found norm_first=False, expected True{added}"
    if not hasattr(transformers, home):
        head = home.partition("For")[2]
        expected = "other positions" + " or the head MaskedLM" * (head == "PreTraining")
        yield f"found rotary positions and the head {head}, expected {expected}"
    if home.startswith("Esm"):
        saved = {"task_specific_params": getattr(config, "task_specific_params", None)}
        if saved_options(saved, "text-classification").get("text_pairs"):
            yield "found rotary positions and pairs of texts, expected other positions"
        if config.hidden_act not in ("gelu", "relu"):
            yield f"found hidden_act={config.hidden_act!r}, expected 'gelu' or 'relu'"
    if home in ("MegatronBertForMaskedLM", "MegatronBertForPreTraining"):
        large = torch.linspace(_LINEAR_FROM, 100, 1000)
        if not torch.allclose(ACT2FN[config.hidden_act](large), large):
            yield f"found hidden_act={config.hidden_act!r}, expected one such as 'gelu' or 'relu'"
    if home.startswith(("Esm", "Marian")) and config.position_embedding_theta != 10000:
        yield f"found position_embedding_theta={config.position_embedding_theta}, expected 10000"
    if home.startswith(("OPT", "Marian", "Pegasus")) and config.layer_norm_eps != 1e-5:
        yield f"found layer_norm_eps={config.layer_norm_eps}, expected 1e-5"
    if width % config.num_attention_heads or (
        not home.startswith("EuroBert") and config.num_attention_heads * config.head_dim != width
    ):
        expected = f"that of {config.num_attention_heads} heads in hidden_size={width}"
        yield f"found head_dim={config.head_dim}, expected {expected}"


@torch.no_grad()
def to_home(model: PreTrainedModel) -> PreTrainedModel:
    """Return a model of transformers that computes what a model of this package computes, of the same dtype.

    Raises:
        ValueError: As in [`home_of`].
    """
    config = model.config
    home = getattr(transformers, home_of(config, type(model).__name__))
    convert = _CONVERSIONS[home.config_class.model_type]
    base = f"{home.base_model_prefix}." if hasattr(model, "model") else ""  # before all names but those of a head
    options, weights = convert(model, base)
    names = ["vocab_size", "pad_token_id", "bos_token_id", "eos_token_id", "attention_dropout"]
    if not config.is_encoder_decoder:
        names += ["hidden_size", "num_hidden_layers", "num_attention_heads", "id2label", "label2id", "problem_type"]
    shared = {name: getattr(config, name) for name in names}
    is_rotary = config.position_embedding_type == "rotary"
    shared["max_position_embeddings"] = _LONGEST if is_rotary else config.max_position_embeddings
    made = home(home.config_class(**shared, tie_word_embeddings=False, **options)).to(model.dtype).eval()
    made.load_state_dict(weights, strict=False)
    for name, weight in made.named_parameters():
        if any(part in name for part in _UNREAD):
            weight.zero_()  # they would be random numbers, different in each export
    if made.can_generate():
        made.generation_config = model.generation_config
    return made


# The parts of a model


def _weight_and_bias(layer: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the numbers of a linear layer or a norm, with zeros for a bias that it lacks."""
    return layer.weight, layer.weight.new_zeros(len(layer.weight)) if layer.bias is None else layer.bias


def _layer(name: str, weight: torch.Tensor, bias: torch.Tensor | None) -> Weights:
    return {f"{name}.weight": weight} | ({} if bias is None else {f"{name}.bias": bias})


def _same(name: str, layer: Any) -> Weights:
    return _layer(name, *_weight_and_bias(layer))


def _blocks(
    stack: Any, name: str, theirs: tuple[str, ...], change: Change | None = None, ours: tuple[str, ...] = _OURS
) -> Weights:
    """Return the weights of all blocks: `name` is that of the list of blocks, the others are those of layers."""
    weights: Weights = {}
    for index, block in enumerate(stack.layers):
        for our_name, their_name in zip(ours, theirs, strict=True):
            weight, bias = _weight_and_bias(block.get_submodule(our_name))
            if change is not None:
                weight, bias = change(block, our_name, weight, bias)
            weights |= _layer(f"{name}.{index}.{their_name}", weight, bias)
    return weights


def _token_table(stack: Any, with_segment: bool = True) -> torch.Tensor:
    """Return the embeddings of the tokens, (vocab_size, hidden_size), with the first segment unless it is apart."""
    table = stack.embeddings.embed_tokens.weight * stack.embeddings.scale
    segments = stack.embeddings.embed_segments
    return table if segments is None or not with_segment else table + segments.weight[0]


def _position_table(stack: Any) -> torch.Tensor:
    """Return learned or sinusoidal positions, (max_position_embeddings, hidden_size)."""
    positions = stack.embeddings.positions
    if isinstance(positions, nn.Embedding):
        return positions.weight
    return positions.compute(torch.arange(stack.config.max_position_embeddings, device=stack.device)).to(stack.dtype)


def _last_norm_and_head(model: Any, norm: nn.LayerNorm, name: str) -> Weights:
    """Return the weights of the last norm of a decoder, under a name, and of the head after it, if there is one.

    The classes have no bias in the head of tokens. For numbers n with the sum 0, (W + a1ᵀ)(n + 1) = Wn + W1 + ad,
    where d is their number: a is what makes the last two the bias.
    """
    if hasattr(model, "lm_head"):
        head, bias = _weight_and_bias(model.lm_head)
        weight, one = head * norm.weight, torch.ones_like(norm.weight)
        added = (head @ norm.bias + bias - weight.sum(-1)) / weight.shape[1]
        return {**_layer(name, one, one), "lm_head.weight": weight + added[:, None]}
    return _same(name, norm) | ({"score.weight": model.score.weight} if hasattr(model, "score") else {})


# Encoders


def _to_eurobert(model: Any, base: str) -> tuple[Options, Weights]:
    stack, config = model.model, model.config
    name, head = ("lm_head", model.lm_head) if hasattr(model, "lm_head") else ("classifier", model.classifier)

    def change(block: Any, name: str, weight: torch.Tensor, bias: torch.Tensor) -> tuple:
        part, _, layer = name.partition(".")
        if layer == "norm":
            return weight, None
        if layer in ("o_proj", "down_proj"):
            return weight - weight.mean(0), bias - bias.mean()
        return weight, bias + weight @ block.get_submodule(f"{part}_frame").norm.bias

    table = _token_table(stack)
    weights = {f"{base}embed_tokens.weight": table - table.mean(-1, keepdim=True)}
    weights |= _blocks(stack, f"{base}layers", _EUROBERT, change)
    for index in range(config.num_hidden_layers):
        weights[f"{base}layers.{index}.mlp.up_proj.weight"] = table.new_zeros(config.intermediate_size, table.shape[1])
        weights[f"{base}layers.{index}.mlp.up_proj.bias"] = table.new_ones(config.intermediate_size)
    weights[f"{base}norm.weight"] = stack.norm.weight
    weights |= _layer(name, head.weight, head.bias + head.weight @ stack.norm.bias)
    options = {
        "intermediate_size": config.intermediate_size,
        "head_dim": config.head_dim,
        "hidden_act": config.hidden_act,
        "rms_norm_eps": config.layer_norm_eps,
        "attention_bias": True,
        "mlp_bias": True,
        "mask_token_id": 0,  # not read; who has the tokenizer enters the right one
        "rope_parameters": {"rope_type": "default", "rope_theta": config.position_embedding_theta},
    }
    return options, weights


def _bert_options(config: PreTrainedConfig) -> Options:
    return {
        "intermediate_size": config.intermediate_size,
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": config.attention_dropout,
        "layer_norm_eps": config.layer_norm_eps,
    }


def _to_esm(model: Any, base: str) -> tuple[Options, Weights]:
    stack, config = getattr(model, "model", model), model.config
    steep = _STEEP if config.hidden_act == "relu" else 1.0

    def change(block: Any, name: str, weight: torch.Tensor, bias: torch.Tensor) -> tuple:
        if name == "feed_forward.up_proj":
            return weight * steep, bias * steep
        return (weight / steep, bias) if name == "feed_forward.down_proj" else (weight, bias)

    weights = {f"{base}embeddings.word_embeddings.weight": _token_table(stack)}
    weights |= _blocks(stack, f"{base}encoder.layer", _BERT, change)
    weights |= _same(f"{base}encoder.emb_layer_norm_after", stack.norm)
    weights |= _same("classifier.dense" if base else "pooler.dense", stack.pooler.dense)
    if base:
        weights |= _same("classifier.out_proj", model.classifier)
    options = _bert_options(config) | {
        "position_embedding_type": "rotary",
        "emb_layer_norm_before": False,
        "token_dropout": False,
    }
    return options, weights


def _to_megatron(model: Any, base: str) -> tuple[Options, Weights]:
    stack, config = getattr(model, "model", model), model.config
    table, segments = _token_table(stack, with_segment=False), stack.embeddings.embed_segments
    weights = {
        f"{base}embeddings.word_embeddings.weight": table,
        f"{base}embeddings.position_embeddings.weight": _position_table(stack),
        f"{base}embeddings.token_type_embeddings.weight": table.new_zeros(1, table.shape[1])
        if segments is None
        else segments.weight,
    }
    weights |= _blocks(stack, f"{base}encoder.layer", _MEGATRON)
    weights |= _same(f"{base}encoder.ln", stack.norm)
    if stack.pooler is not None:
        weights |= _same(f"{base}pooler.dense", stack.pooler.dense)
    for ours, theirs in (("classifier",) * 2, ("qa_outputs",) * 2, ("seq_relationship", "cls.seq_relationship")):
        if hasattr(model, ours):
            weights |= _same(theirs, getattr(model, ours))
    if hasattr(model, "lm_head"):
        # The norm's own weight and bias are those of the norm in the head, so that no number before it exceeds √d.
        one = torch.ones_like(stack.norm.weight)
        weights |= _layer(f"{base}encoder.ln", one, one * 0)
        shift = one * (config.hidden_size**0.5 + _LINEAR_FROM)
        weights |= _layer("cls.predictions.transform.dense", torch.diag(one), shift)
        weights |= _same("cls.predictions.transform.LayerNorm", stack.norm)
        weights |= _same("cls.predictions.decoder", model.lm_head)
        weights["cls.predictions.bias"] = weights["cls.predictions.decoder.bias"]
        if stack.pooler is not None:
            weight, bias = _weight_and_bias(stack.pooler.dense)
            weights |= _layer(f"{base}pooler.dense", weight * stack.norm.weight, bias + weight @ stack.norm.bias)
    options = _bert_options(config) | {"hidden_act": config.hidden_act, "type_vocab_size": config.type_vocab_size or 1}
    return options, weights


# Decoders


def _to_neox(model: Any, base: str) -> tuple[Options, Weights]:
    stack, config = getattr(model, "model", model), model.config
    weights = {f"{base}embed_in.weight": _token_table(stack)}

    def change(block: Any, name: str, weight: torch.Tensor, bias: torch.Tensor) -> tuple:
        if name != "self_attn.q_proj":
            return weight, bias
        three = [_weight_and_bias(getattr(block.self_attn, each)) for each in ("q_proj", "k_proj", "v_proj")]
        by_heads = [[each.unflatten(0, (config.num_attention_heads, -1)) for each in part] for part in zip(*three)]
        weight, bias = (torch.cat(part, 1).flatten(0, 1) for part in by_heads)  # each head's three are together
        return weight, bias

    weights |= _blocks(stack, f"{base}layers", _NEOX, change, ours=(_OURS[0], *_OURS[3:]))
    weights |= _last_norm_and_head(model, stack.norm, f"{base}final_layer_norm")
    theta = config.position_embedding_theta
    options = {
        "intermediate_size": config.intermediate_size,
        "hidden_act": config.hidden_act,
        "hidden_dropout": config.dropout,
        "layer_norm_eps": config.layer_norm_eps,
        "attention_bias": True,
        "use_parallel_residual": False,
        "rope_parameters": {"rope_type": "default", "rope_theta": theta, "partial_rotary_factor": 1.0},
    }
    return options, weights


def _to_opt(model: Any, base: str) -> tuple[Options, Weights]:
    stack, config = getattr(model, "model", model), model.config
    positions = _position_table(stack)
    weights = {
        f"{base}decoder.embed_tokens.weight": _token_table(stack),
        f"{base}decoder.embed_positions.weight": torch.cat((torch.zeros_like(positions[:2]), positions)),  # from 2 on
    }
    weights |= _blocks(stack, f"{base}decoder.layers", _BART)
    norm, place = stack.norm, "final_layer_norm"
    if not config.norm_first:
        norm, place = stack.layers[-1].feed_forward_frame.norm, f"layers.{config.num_hidden_layers - 1}.{place}"
    weights |= _last_norm_and_head(model, norm, f"{base}decoder.{place}")
    options = {
        "ffn_dim": config.intermediate_size,
        "activation_function": config.hidden_act,
        "dropout": config.dropout,
        "do_layer_norm_before": config.norm_first,
    }
    return options, weights


# Encoder-decoders


def _to_marian_or_pegasus(model: Any, base: str) -> tuple[Options, Weights]:
    config = model.config
    order = torch.arange(config.hidden_size, device=model.device)
    if not config.norm_first:
        order = torch.cat((order[0::2], order[1::2]))

    def change(block: Any, name: str, weight: torch.Tensor, bias: torch.Tensor) -> tuple:
        if name.endswith((".norm", "o_proj", "down_proj")):
            return weight[order], bias[order]
        return weight[:, order], bias

    weights = {"lm_head.weight": model.lm_head.weight[:, order]}
    weights["final_logits_bias"] = _weight_and_bias(model.lm_head)[1][None]
    for side in ("encoder", "decoder"):
        stack, place = getattr(model.model, side), f"{base}{side}"
        weights[f"{place}.embed_tokens.weight"] = _token_table(stack)[:, order]
        weights |= _blocks(stack, f"{place}.layers", _BART, change)
        if config.norm_first:
            weights[f"{place}.embed_positions.weight"] = _position_table(stack)
            weights |= _same(f"{place}.layer_norm", stack.norm)
    ours = tuple(name.replace("self_attn", "cross_attn") for name in _OURS[:5])
    theirs = tuple(name.replace("self_attn", "encoder_attn") for name in _BART[:5])
    weights |= _blocks(model.model.decoder, f"{base}decoder.layers", theirs, change, ours)
    options = {
        "d_model": config.hidden_size,
        "encoder_layers": config.encoder_layers,
        "decoder_layers": config.decoder_layers,
        "encoder_attention_heads": config.num_attention_heads,
        "decoder_attention_heads": config.num_attention_heads,
        "encoder_ffn_dim": config.intermediate_size,
        "decoder_ffn_dim": config.intermediate_size,
        "activation_function": config.hidden_act,
        "dropout": config.dropout,
        "decoder_start_token_id": config.decoder_start_token_id,
        "forced_eos_token_id": None,
    }
    if not config.norm_first:
        options |= {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": config.vocab_size}
    return options, weights


_CONVERSIONS: dict[str, Callable[[Any, str], tuple[Options, Weights]]] = {
    "eurobert": _to_eurobert,
    "esm": _to_esm,
    "megatron-bert": _to_megatron,
    "gpt_neox": _to_neox,
    "opt": _to_opt,
    "marian": _to_marian_or_pegasus,
    "pegasus": _to_marian_or_pegasus,
}
