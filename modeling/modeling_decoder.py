"""The decoder family: every position sees itself and earlier ones (documents 2 and 4; GPT: Radford et al., 2018)."""

from itertools import islice
from typing import Any

import torch
from torch import nn
from transformers import Cache, DynamicCache, EncoderDecoderCache, GenerationConfig
from transformers.generation import GenerationMixin
from transformers.masking_utils import create_bidirectional_mask, create_causal_mask
from transformers.modeling_outputs import (
    BaseModelOutputWithPastAndCrossAttentions,
    CausalLMOutputWithPast,
    SequenceClassifierOutputWithPast,
)
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
from transformers.processing_utils import Unpack
from transformers.utils import TransformersKwargs, can_return_tuple
from transformers.utils.generic import merge_with_config_defaults
from transformers.utils.output_capturing import capture_outputs

from ..configuration.configuration_decoder import AtentaDecoderConfig
from .block import TransformerBlock
from .cache_layers import CACHE_NAME, given_cache, with_our_layers
from .embeddings import Embeddings
from .modeling_transformer import (
    AtentaTransformerPreTrainedModel,
    check_not_empty,
    check_one_input,
    classifier_dropout,
    share_of_batch,
    without_states,
)
from .positions import RotaryPositions, position_ids_from_mask, source_positions


class AtentaDecoderPreTrainedModel(AtentaTransformerPreTrainedModel):
    """Base class of the decoder's models: loading, saving, initial weights."""

    config: AtentaDecoderConfig


class AtentaDecoderModel(AtentaDecoderPreTrainedModel):
    """Embeddings and a stack of causal blocks. The encoder-decoder's decoder adds cross-attention to each."""

    has_cross_attention = False

    def __init__(self, config: AtentaDecoderConfig) -> None:
        super().__init__(config)
        self.embeddings = Embeddings(config)
        self.rotary = RotaryPositions(config) if config.position_embedding_type == "rotary" else None
        self.layers = nn.ModuleList(
            [
                TransformerBlock(config, layer_idx, is_causal=True, cross_attention=self.has_cross_attention)
                for layer_idx in range(self.depth)
            ]
        )
        self.norm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps) if config.norm_first else nn.Identity()
        self.gradient_checkpointing = False
        self.post_init()

    @property
    def depth(self) -> int:
        """Number of blocks that run. `generate(assistant_early_exit=...)` lowers it while it drafts tokens."""
        return self.config.num_hidden_layers

    @merge_with_config_defaults
    @capture_outputs
    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        position_ids: torch.LongTensor | None = None,
        past_key_values: Cache | None = None,
        inputs_embeds: torch.Tensor | None = None,
        use_cache: bool | None = None,
        encoder_hidden_states: torch.Tensor | None = None,
        encoder_attention_mask: torch.Tensor | None = None,
        encoder_position_ids: torch.LongTensor | None = None,
        **kwargs: Unpack[TransformersKwargs],
    ) -> BaseModelOutputWithPastAndCrossAttentions:
        """Read texts from left to right.

        Args:
            input_ids: (batch, length), the tokens that are not yet in the cache.
            attention_mask: (batch, past_length + length), 1 for real tokens and 0 for padding.
            position_ids: (batch, length); defaults to positions counted from the attention mask. If positions start
                again at 0, and neither a mask nor a cache is given, they mark packed texts, which do not see each
                other; under flash attention only in a batch of one row.
            past_key_values: keys and values of past positions, in any cache class; with cross-attention, in an
                `EncoderDecoderCache` of any two. `cache` is another name for them. Steps are fastest in the cache that
                the model makes itself.
            inputs_embeds: (batch, length, hidden_size), replaces `input_ids`; before the factor √hidden_size.
            use_cache: whether to return a cache. If none is given, a new one is made, except in training.
            encoder_hidden_states: (batch, source_length, hidden_size), for a decoder with cross-attention.
            encoder_attention_mask: (batch, source_length), 1 for real source tokens and 0 for padding.
            encoder_position_ids: (batch, source_length), the positions that rotary cross-attention reads in its first
                step; defaults to positions counted from the encoder's mask.
            kwargs: `output_attentions` and `output_hidden_states`; others are passed to the attention implementation.

        Returns:
            `last_hidden_state` (batch, length, hidden_size) and `past_key_values`; on request, `hidden_states`,
            `attentions` (for each block, (batch, heads, length, past_length + length)) and `cross_attentions`.

        Raises:
            ValueError: If both or neither of `input_ids` and `inputs_embeds` are given, if they are empty, or if the
                encoder's output is missing for a decoder with cross-attention or given to a decoder without it, or its
                cache is of another class.
        """
        check_one_input(input_ids, inputs_embeds)
        if self.has_cross_attention != (encoder_hidden_states is not None):
            raise ValueError(
                "encoder_hidden_states must be given to a decoder with cross-attention."
                if self.has_cross_attention
                else "encoder_hidden_states must not be given to a decoder without cross-attention. Leave them out."
            )
        if inputs_embeds is None:
            inputs_embeds = self.embeddings.embed_tokens(input_ids)
        past_key_values = self_attention_cache = given_cache(past_key_values, kwargs)
        if isinstance(past_key_values, EncoderDecoderCache):
            self_attention_cache = past_key_values.self_attention_cache
        elif self.has_cross_attention and past_key_values is not None:
            raise ValueError(
                f"past_key_values is a {type(past_key_values).__name__}; expected an EncoderDecoderCache: "
                "EncoderDecoderCache(cache, DynamicCache())."
            )
        # Before a cache is made, with which transformers would not look for packed texts. Only position ids given by
        # the caller can mark them.
        mask = create_causal_mask(
            self.config, inputs_embeds, attention_mask, self_attention_cache, position_ids=position_ids
        )
        if use_cache and past_key_values is None and not self.training:
            past_key_values = DynamicCache(config=self.config)
            if self.has_cross_attention:
                past_key_values = EncoderDecoderCache(past_key_values, DynamicCache(config=self.config))
            if not torch.compiler.is_exporting():  # exported programs return caches with transformers' own layers only
                past_key_values = with_our_layers(past_key_values)

        encoder_position_embeddings = None  # without rotary cross-attention, or if the source is in the cache
        has_source = isinstance(past_key_values, EncoderDecoderCache) and past_key_values.is_updated.get(0)
        if self.has_cross_attention and self.config.rotary_cross_attention and not has_source:
            if encoder_position_ids is None:
                tags = self.config.tag_token_ids
                encoder_position_ids = source_positions(None, encoder_attention_mask, encoder_hidden_states, tags)
            encoder_position_embeddings = self.rotary(encoder_position_ids, encoder_hidden_states.dtype)
        if encoder_attention_mask is not None:
            encoder_attention_mask = create_bidirectional_mask(
                self.config, inputs_embeds, encoder_attention_mask, encoder_hidden_states=encoder_hidden_states
            )
        if position_ids is None:
            past_length = past_key_values.get_seq_length() if past_key_values is not None else 0
            position_ids = position_ids_from_mask(
                attention_mask, inputs_embeds.shape[1], past_length, inputs_embeds.device
            )
        hidden_states = self.embeddings(inputs_embeds, position_ids)
        position_embeddings = None if self.rotary is None else self.rotary(position_ids, hidden_states.dtype)
        # Flash attention has no mask of packed texts: it knows them by their positions. No targets are packed.
        packed = {} if self.has_cross_attention else {"position_ids": position_ids}
        for layer in islice(self.layers, self.depth):
            hidden_states = layer(
                hidden_states,
                encoder_hidden_states,  # positional: gradient checkpointing tracks only positional arguments
                attention_mask=mask,
                encoder_attention_mask=encoder_attention_mask,
                position_embeddings=position_embeddings,
                encoder_position_embeddings=encoder_position_embeddings,
                **{CACHE_NAME: past_key_values},  # the name under which gradient checkpointing leaves it out
                **packed,
                **kwargs,
            )
        return BaseModelOutputWithPastAndCrossAttentions(
            last_hidden_state=self.norm(hidden_states), **{CACHE_NAME: past_key_values}
        )


class AtentaGenerationMixin(GenerationMixin):
    """Generation as in transformers, in caches with the layers of `cache_layers.py`."""

    def generate(self, inputs: torch.Tensor | None = None, *args: Any, **kwargs: Any) -> Any:
        """Generate texts as in transformers, from the ids of prompts or sources, (batch, length).

        Raises:
            ValueError: If there are no texts or no tokens, or as in transformers.
        """
        input_ids = kwargs.get("input_ids") if inputs is None else inputs
        if kwargs.get("inputs_embeds") is not None:
            check_not_empty("inputs_embeds", kwargs["inputs_embeds"])
        elif input_ids is not None:
            check_not_empty("input_ids", input_ids)
        return super().generate(inputs, *args, **kwargs)

    def _prepare_cache_for_generation(
        self, generation_config: GenerationConfig, model_kwargs: dict[str, Any], *args: Any, **kwargs: Any
    ) -> bool:
        # The only place that tells a cache that `generate` makes from the caller's own, which keeps its layers.
        is_given = model_kwargs.get(CACHE_NAME) is not None
        prepared = super()._prepare_cache_for_generation(generation_config, model_kwargs, *args, **kwargs)
        if not is_given and model_kwargs.get(CACHE_NAME) is not None:
            with_our_layers(model_kwargs[CACHE_NAME])
        return prepared


class AtentaDecoderForCausalLM(AtentaDecoderPreTrainedModel, AtentaGenerationMixin):
    """A decoder that predicts the next character and generates text (documents 2 and 4).

    The output layer covers the whole vocabulary.
    """

    _tied_weights_keys = {"lm_head.weight": "model.embeddings.embed_tokens.weight"}
    _tp_plan = {"lm_head": "colwise_gather_output"}

    def __init__(self, config: AtentaDecoderConfig) -> None:
        super().__init__(config)
        self.model = AtentaDecoderModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        position_ids: torch.LongTensor | None = None,
        past_key_values: Cache | None = None,
        inputs_embeds: torch.Tensor | None = None,
        labels: torch.LongTensor | None = None,
        use_cache: bool | None = None,
        logits_to_keep: int | torch.Tensor = 0,
        **kwargs: Unpack[TransformersKwargs],
    ) -> CausalLMOutputWithPast:
        """Predict the next character at each position. For the other inputs, see [`AtentaDecoderModel.forward`].

        Args:
            labels: (batch, length), usually a copy of `input_ids`; -100 is ignored. They are shifted here: position t
                is trained on label t + 1.
            logits_to_keep: number of last positions to compute logits for (0 for all), or their indices.

        Returns:
            `logits` (batch, positions kept, vocab_size) and `past_key_values`; with labels, `loss`, the mean
            cross-entropy in nats.
        """
        outputs = self.model(
            input_ids,
            attention_mask,
            position_ids,
            past_key_values,
            inputs_embeds,
            use_cache=use_cache,
            return_dict=True,
            **kwargs,
        )
        kept = slice(-logits_to_keep, None) if isinstance(logits_to_keep, int) else logits_to_keep
        logits = self.lm_head(outputs.last_hidden_state[:, kept])
        loss = None
        if labels is not None:
            loss = self.loss_function(logits, labels, self.config.vocab_size, **kwargs)
        return CausalLMOutputWithPast(loss=loss, logits=logits, **without_states(outputs))


# This adds an entry to a table of transformers. With label smoothing, its Trainer shifts the labels only for the class
# names in this table, and would otherwise compute the loss on unshifted labels. There is no call that registers a name
# here: `AutoModelForCausalLM.register` fills another table, which the Trainer does not read.
MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.setdefault("atenta_decoder", "AtentaDecoderForCausalLM")


class AtentaDecoderForSequenceClassification(AtentaDecoderPreTrainedModel):
    """A decoder with a classification or regression head on a text's last character (Radford et al., 2018)."""

    def __init__(self, config: AtentaDecoderConfig) -> None:
        super().__init__(config)
        self.num_labels = config.num_labels
        self.model = AtentaDecoderModel(config)
        self.dropout = classifier_dropout(config)
        self.score = nn.Linear(config.hidden_size, config.num_labels, bias=False)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        position_ids: torch.LongTensor | None = None,
        past_key_values: Cache | None = None,
        inputs_embeds: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        num_items_in_batch: torch.Tensor | int | None = None,
        use_cache: bool | None = None,
        **kwargs: Unpack[TransformersKwargs],
    ) -> SequenceClassifierOutputWithPast:
        """Classify each text. For the other inputs, see [`AtentaDecoderModel.forward`].

        The last real token is found from the attention mask or, without one, from the padding ids.

        Args:
            labels: (batch,) integers for one class per text, (batch, num_labels) floats for several classes per text,
                (batch,) or (batch, num_labels) floats for a regression.
            num_items_in_batch: number of labels in the whole batch, if this is a micro-batch.

        Returns:
            `logits` (batch, num_labels); with labels, `loss`, the mean (binary) cross-entropy or squared error.
        """
        outputs = self.model(
            input_ids,
            attention_mask,
            position_ids,
            past_key_values,
            inputs_embeds,
            use_cache=use_cache,
            return_dict=True,
            **kwargs,
        )
        hidden_states = outputs.last_hidden_state
        batch, length = hidden_states.shape[:2]
        real = torch.ones(batch, length, dtype=torch.bool, device=hidden_states.device)
        if attention_mask is not None and attention_mask.ndim == 2:
            real = attention_mask[:, -length:] != 0
        elif input_ids is not None and self.config.pad_token_id is not None:
            real = input_ids != self.config.pad_token_id
        last = (torch.arange(length, device=hidden_states.device) * real.to(hidden_states.device)).argmax(-1)
        logits = self.score(self.dropout(hidden_states[torch.arange(batch, device=hidden_states.device), last]))
        loss = None
        if labels is not None:
            loss = self.loss_function(labels=labels, pooled_logits=logits, config=self.config)
            loss = share_of_batch(loss, labels, num_items_in_batch)
        return SequenceClassifierOutputWithPast(loss=loss, logits=logits, **without_states(outputs))
