"""The encoder-decoder family: a decoder that attends to an encoder (documents 3 and 4; Vaswani et al., 2017)."""

from typing import Any

import torch
from torch import nn
from transformers import Cache, LogitsProcessorList, PreTrainedTokenizerBase
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqLMOutput, Seq2SeqModelOutput
from transformers.processing_utils import Unpack
from transformers.utils import ModelOutput, TransformersKwargs, can_return_tuple
from transformers.utils.output_capturing import OutputRecorder

from ..configuration.configuration_encoder_decoder import AtentaEncoderDecoderConfig
from ..generation_options import end_ids
from .attention import MultiHeadAttention
from .block import TransformerBlock
from .cache_layers import CACHE_NAME, given_cache
from .letter_lock import KeepLettersLogitsProcessor
from .modeling_decoder import AtentaDecoderModel, AtentaGenerationMixin
from .modeling_encoder import AtentaEncoderModel
from .modeling_transformer import AtentaTransformerPreTrainedModel, check_not_empty, without_states
from .positions import position_ids_from_mask, source_positions
from .transducer import Transducer


class AtentaCrossAttentionDecoderModel(AtentaDecoderModel):
    """A decoder whose blocks also attend to the encoder's output, with separate projections (document 4)."""

    config: AtentaEncoderDecoderConfig
    has_cross_attention = True
    _supports_flash_attn = False
    _can_record_outputs = {
        "hidden_states": TransformerBlock,
        "attentions": OutputRecorder(MultiHeadAttention, index=1, layer_name="self_attn"),
        "cross_attentions": OutputRecorder(MultiHeadAttention, index=1, layer_name="cross_attn"),
    }

    @property
    def depth(self) -> int:
        """Number of blocks."""
        return self.config.decoder_layers


class AtentaEncoderDecoderPreTrainedModel(AtentaTransformerPreTrainedModel):
    """Base class of the encoder-decoder's models: loading, saving, initial weights, resizing both embeddings."""

    config: AtentaEncoderDecoderConfig
    # transformers takes the mask of the keys for that of the queries too, which in cross-attention are other tokens.
    _supports_flash_attn = False
    _can_record_outputs = None  # the encoder and the decoder record their own outputs

    def get_input_embeddings(self) -> nn.Embedding:
        """Return the encoder's token embeddings, (vocab_size, hidden_size)."""
        return self.get_encoder().embeddings.embed_tokens

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Replace the encoder's token embeddings, and the decoder's if both are tied."""
        self.get_encoder().embeddings.embed_tokens = value
        if self.config.tie_word_embeddings:
            self.get_decoder().embeddings.embed_tokens = value

    def tie_weights(self, missing_keys: set[str] | None = None, recompute_mapping: bool = True) -> None:
        """Tie the weights as in transformers. If encoder and decoder share their embeddings, they share the module.

        One matrix in two modules would be refused by torch's `fully_shard`, which puts each module in one group.
        """
        super().tie_weights(missing_keys, recompute_mapping)
        encoder, decoder = self.get_encoder().embeddings, self.get_decoder().embeddings
        if decoder.embed_tokens.weight is encoder.embed_tokens.weight:  # not while a model is loaded: nothing is tied
            decoder.embed_tokens = encoder.embed_tokens

    def shares_embeddings(self) -> bool:
        """Return whether encoder and decoder have the same module of token embeddings."""
        return self.get_decoder().embeddings.embed_tokens is self.get_encoder().embeddings.embed_tokens

    def _resize_token_embeddings(
        self, new_num_tokens: int, pad_to_multiple_of: int | None = None, mean_resizing: bool = True
    ) -> nn.Embedding:
        resized = super()._resize_token_embeddings(new_num_tokens, pad_to_multiple_of, mean_resizing)
        if not self.config.tie_word_embeddings:  # transformers resizes only the encoder's embeddings
            decoder = self.get_decoder().embeddings
            trainable = decoder.embed_tokens.weight.requires_grad
            decoder.embed_tokens = self._get_resized_embeddings(
                decoder.embed_tokens, new_num_tokens, pad_to_multiple_of, mean_resizing
            ).requires_grad_(trainable)
        return resized

    def prepare_decoder_input_ids_from_labels(self, labels: torch.Tensor) -> torch.Tensor:
        """Return the decoder's input for teacher forcing: the target shifted right, after `<bos>` (document 4).

        Args:
            labels: (batch, target_length); -100 is ignored in the loss.

        Returns:
            (batch, target_length), with `<pad>` instead of -100.

        Raises:
            ValueError: If the labels are empty, or the configuration has no `decoder_start_token_id` or no
                `pad_token_id`.
        """
        check_not_empty("labels", labels)
        start, pad = self.config.decoder_start_token_id, self.config.pad_token_id
        if start is None or pad is None:
            raise ValueError(
                f"Teacher forcing needs decoder_start_token_id and pad_token_id, got {start} and {pad}. "
                "Set both in the configuration."
            )
        shifted = labels.roll(1, dims=-1)
        shifted[..., 0] = start
        return shifted.masked_fill(shifted == -100, pad)


ENCODER_EMBEDDINGS, DECODER_EMBEDDINGS = (f"{side}.embeddings.embed_tokens.weight" for side in ("encoder", "decoder"))


def leave_out_second_name(
    model: "AtentaEncoderDecoderModel", state_dict: dict[str, Any], prefix: str, *args: Any
) -> None:
    """Enter shared embeddings that are split over processes once: torch's distributed checkpoints expect one name."""
    if model.shares_embeddings() and hasattr(state_dict.get(prefix + ENCODER_EMBEDDINGS), "placements"):  # a DTensor
        state_dict.pop(prefix + DECODER_EMBEDDINGS, None)


def add_second_name(model: "AtentaEncoderDecoderModel", state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
    """Enter shared embeddings under both names, which `load_state_dict` asks for."""
    if model.shares_embeddings() and prefix + ENCODER_EMBEDDINGS in state_dict:
        state_dict[prefix + DECODER_EMBEDDINGS] = state_dict[prefix + ENCODER_EMBEDDINGS]


class AtentaEncoderDecoderModel(AtentaEncoderDecoderPreTrainedModel):
    """An encoder and a decoder, without an output layer.

    Encoder and decoder have separate token embeddings, as in the documents. With `tie_word_embeddings`, both share one
    matrix with the output layer (Vaswani et al., 2017, section 3.4).
    """

    _tied_weights_keys = {"decoder.embeddings.embed_tokens.weight": "encoder.embeddings.embed_tokens.weight"}

    def __init__(self, config: AtentaEncoderDecoderConfig) -> None:
        super().__init__(config)
        self.encoder = AtentaEncoderModel(config, add_pooling_layer=False)
        self.decoder = AtentaCrossAttentionDecoderModel(config)
        for stack in (self.encoder, self.decoder):
            stack.tp_plan = None  # the configuration's plan names the layers of both stacks, from here
        self.register_state_dict_post_hook(leave_out_second_name)
        self.register_load_state_dict_pre_hook(add_second_name)
        self.post_init()
        if self.shares_embeddings():
            self.tp_plan.pop(DECODER_EMBEDDINGS.removesuffix(".weight"), None)  # a module is split once

    @can_return_tuple
    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        decoder_input_ids: torch.LongTensor | None = None,
        decoder_attention_mask: torch.Tensor | None = None,
        decoder_position_ids: torch.LongTensor | None = None,
        encoder_outputs: BaseModelOutput | tuple | None = None,
        past_key_values: Cache | None = None,
        inputs_embeds: torch.Tensor | None = None,
        decoder_inputs_embeds: torch.Tensor | None = None,
        position_ids: torch.LongTensor | None = None,
        use_cache: bool | None = None,
        **kwargs: Unpack[TransformersKwargs],
    ) -> Seq2SeqModelOutput:
        """Encode the source, unless `encoder_outputs` are given, and read the target from left to right.

        Args:
            input_ids: (batch, source_length).
            attention_mask: (batch, source_length), 1 for real source tokens and 0 for padding.
            position_ids: (batch, source_length), the source's positions, for both stacks; by default they are
                counted from the attention mask, and feature tags have position 0.
            decoder_input_ids: (batch, target_length), the target shifted right, or the tokens not yet in the cache;
                defaults to the source shifted right, as in BART.
            decoder_attention_mask: (batch, past_length + target_length), 1 for real target tokens and 0 for padding.
            decoder_position_ids: (batch, target_length); defaults to positions counted from the decoder's mask.
            encoder_outputs: the encoder's output, if it has already run.
            past_key_values: keys and values of past positions and of the source; `cache` is another name for them.
            inputs_embeds: (batch, source_length, hidden_size), replaces `input_ids`.
            decoder_inputs_embeds: (batch, target_length, hidden_size), replaces `decoder_input_ids`.
            use_cache: whether to return a cache. If none is given, a new one is made, except in training.
            kwargs: `output_attentions` and `output_hidden_states`; others are passed to the attention implementation.

        Returns:
            `last_hidden_state` (batch, target_length, hidden_size), `past_key_values` and `encoder_last_hidden_state`
            (batch, source_length, hidden_size); on request, both sides' hidden states and attention weights.
        """
        past_key_values = given_cache(past_key_values, kwargs)
        if position_ids is None and input_ids is not None and self.config.tag_token_ids:
            # Also for the decoder, which does not see the ids.
            position_ids = source_positions(input_ids, attention_mask, input_ids, self.config.tag_token_ids)
        if decoder_input_ids is None and decoder_inputs_embeds is None:
            if input_ids is None:
                raise ValueError("Found neither decoder_input_ids, decoder_inputs_embeds nor input_ids; expected one.")
            check_not_empty("input_ids", input_ids)
            decoder_input_ids = self.prepare_decoder_input_ids_from_labels(input_ids)
        if encoder_outputs is None:
            encoder_outputs = self.encoder(
                input_ids=input_ids,
                attention_mask=attention_mask,
                position_ids=position_ids,
                inputs_embeds=inputs_embeds,
                return_dict=True,
                **kwargs,
            )
        elif not isinstance(encoder_outputs, ModelOutput):
            encoder_outputs = BaseModelOutput(*encoder_outputs)
        decoder_outputs = self.decoder(
            input_ids=decoder_input_ids,
            attention_mask=decoder_attention_mask,
            position_ids=decoder_position_ids,
            past_key_values=past_key_values,
            inputs_embeds=decoder_inputs_embeds,
            use_cache=use_cache,
            encoder_hidden_states=encoder_outputs.last_hidden_state,
            encoder_attention_mask=attention_mask,
            encoder_position_ids=position_ids,
            return_dict=True,
            **kwargs,
        )
        return Seq2SeqModelOutput(
            last_hidden_state=decoder_outputs.last_hidden_state,
            decoder_hidden_states=decoder_outputs.hidden_states,
            decoder_attentions=decoder_outputs.attentions,
            cross_attentions=decoder_outputs.cross_attentions,
            encoder_last_hidden_state=encoder_outputs.last_hidden_state,
            encoder_hidden_states=encoder_outputs.hidden_states,
            encoder_attentions=encoder_outputs.attentions,
            **{CACHE_NAME: decoder_outputs.get(CACHE_NAME)},
        )


class AtentaEncoderDecoderForConditionalGeneration(AtentaEncoderDecoderPreTrainedModel, AtentaGenerationMixin):
    """An encoder-decoder that turns one text into another (documents 3 and 4).

    The output layer covers the whole vocabulary, including `<eos>`. With `transducer`, each token is written at a
    place of the source, as in [`Transducer`].
    """

    _tied_weights_keys = {"lm_head.weight": "model.encoder.embeddings.embed_tokens.weight"}
    _tp_plan = {"lm_head": "colwise_gather_output"}

    def __init__(self, config: AtentaEncoderDecoderConfig) -> None:
        super().__init__(config)
        self.model = AtentaEncoderDecoderModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size)
        self.transducer = Transducer(config) if config.transducer else None
        self.loss_type = "ForMaskedLM"  # the loss for this class name would shift the labels a second time
        self.post_init()

    def generate(self, inputs: torch.Tensor | None = None, *args: Any, **kwargs: Any) -> Any:
        """Generate targets as in transformers, with the source's mask, and its positions if there are feature tags.

        Without a mask, `<pad>` is hidden, as transformers does for decoders alone. The positions are found here
        because later steps see the encoder's output instead of the ids.
        """
        input_ids = kwargs.get("input_ids") if inputs is None else inputs
        pad, mask = self.config.pad_token_id, kwargs.get("attention_mask")
        if input_ids is not None and mask is None and pad not in (None, *end_ids(self.config.eos_token_id)):
            is_real = input_ids != pad
            if not is_real.all():
                mask = kwargs["attention_mask"] = is_real.long()
        if self.config.tag_token_ids and input_ids is not None and kwargs.get("position_ids") is None:
            kwargs["position_ids"] = source_positions(input_ids, mask, input_ids, self.config.tag_token_ids)
        return super().generate(inputs, *args, **kwargs)

    @staticmethod
    def letter_lock(tokenizer: PreTrainedTokenizerBase, input_ids: torch.Tensor) -> LogitsProcessorList:
        """Return `logits_processor` for `generate`, with which outputs keep the letters of their sources.

        It is here so that saved models have it where this package is not installed; see
        [`KeepLettersLogitsProcessor`].

        Args:
            tokenizer: the model's tokenizer.
            input_ids: (sources, source_length), the ids given to `generate`.
        """
        return LogitsProcessorList([KeepLettersLogitsProcessor(tokenizer, input_ids)])

    def prepare_inputs_for_generation(  # type: ignore[override]  # the rest is in kwargs
        self, input_ids: torch.LongTensor, decoder_attention_mask: torch.Tensor | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Prepare the inputs as transformers does, and add the target's positions, which it omits here.

        The positions are counted here because a static cache later changes the mask to a form that hides the padding.
        """
        given = kwargs.get("decoder_position_ids")
        if given is not None and given.shape[1] < input_ids.shape[1]:  # of candidates, which assisted decoding adds
            steps = torch.arange(1, input_ids.shape[1] - given.shape[1] + 1, device=given.device)
            kwargs["decoder_position_ids"] = torch.cat([given, given[:, -1:] + steps], dim=1)
        if decoder_attention_mask is not None and given is None:
            kwargs["decoder_position_ids"] = position_ids_from_mask(
                decoder_attention_mask, decoder_attention_mask.shape[1], 0, input_ids.device
            )
        return super().prepare_inputs_for_generation(
            input_ids, decoder_attention_mask=decoder_attention_mask, **kwargs
        )

    @can_return_tuple
    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        decoder_input_ids: torch.LongTensor | None = None,
        decoder_attention_mask: torch.Tensor | None = None,
        decoder_position_ids: torch.LongTensor | None = None,
        encoder_outputs: BaseModelOutput | tuple | None = None,
        past_key_values: Cache | None = None,
        inputs_embeds: torch.Tensor | None = None,
        decoder_inputs_embeds: torch.Tensor | None = None,
        position_ids: torch.LongTensor | None = None,
        labels: torch.LongTensor | None = None,
        written_input_ids: torch.LongTensor | None = None,
        use_cache: bool | None = None,
        cache: Cache | None = None,
        **kwargs: Unpack[TransformersKwargs],
    ) -> Seq2SeqLMOutput:
        """Predict each next character of the target. For the other inputs, see [`AtentaEncoderDecoderModel.forward`].

        Args:
            labels: (batch, target_length), the target with its `<eos>`; -100 is ignored. Unless `decoder_input_ids`
                are given, the decoder reads the labels shifted right (teacher forcing).
            written_input_ids: (batch, target_length), the tokens that a transducer has written, where training hides
                some of `decoder_input_ids`; by default the labels shifted right, or `decoder_input_ids`.
            cache: another name of `past_key_values`. It is here because `generate` looks for it.

        Returns:
            `logits` (batch, target_length, vocab_size), `past_key_values` and the encoder's outputs; with labels,
            `loss`, the mean cross-entropy in nats.

        Raises:
            ValueError: If a transducer is given neither labels nor `decoder_input_ids`, or another model is given
                `written_input_ids`.
        """
        if written_input_ids is not None and self.transducer is None:
            raise ValueError("written_input_ids are for a transducer: leave them out.")
        written = decoder_input_ids
        if labels is not None:
            use_cache = False
            written = self.prepare_decoder_input_ids_from_labels(labels)
            if decoder_input_ids is None and decoder_inputs_embeds is None:
                decoder_input_ids = written
        written = written if written_input_ids is None else written_input_ids
        outputs = self.model(
            input_ids=input_ids,
            attention_mask=attention_mask,
            position_ids=position_ids,
            decoder_input_ids=decoder_input_ids,
            decoder_attention_mask=decoder_attention_mask,
            decoder_position_ids=decoder_position_ids,
            encoder_outputs=encoder_outputs,
            past_key_values=given_cache(past_key_values, {"cache": cache}),
            inputs_embeds=inputs_embeds,
            decoder_inputs_embeds=decoder_inputs_embeds,
            use_cache=use_cache,
            return_dict=True,
            **kwargs,
        )
        logits = self.lm_head(outputs.last_hidden_state)
        if self.transducer is not None:
            if written is None:
                raise ValueError("A transducer has to know what was written; expected labels or decoder_input_ids.")
            source_logits = self.lm_head(self.transducer.source_proj(outputs.encoder_last_hidden_state))
            logits = self.transducer(
                logits, source_logits, written, decoder_attention_mask, attention_mask, outputs.get(CACHE_NAME)
            )
        loss = None
        if labels is not None:
            loss = self.loss_function(logits, labels, self.config.vocab_size, **kwargs)
        return Seq2SeqLMOutput(loss=loss, logits=logits, **without_states(outputs))
