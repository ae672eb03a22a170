"""The encoder family: every position sees all others (documents 4 and 5; BERT: Devlin et al., 2019)."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import nn
from transformers.masking_utils import create_bidirectional_mask
from transformers.modeling_outputs import (
    BaseModelOutputWithPooling,
    QuestionAnsweringModelOutput,
    SequenceClassifierOutput,
    TokenClassifierOutput,
)
from transformers.processing_utils import Unpack
from transformers.utils import ModelOutput, TransformersKwargs, can_return_tuple
from transformers.utils.generic import merge_with_config_defaults
from transformers.utils.output_capturing import OutputRecorder, capture_outputs

from ..configuration.configuration_encoder import AtentaEncoderConfig
from ..tokenization.spellings_file import HUB_OPTIONS, find_spellings
from .attention import MultiHeadAttention
from .block import TransformerBlock
from .downsampling import DownsampledBlocks
from .embeddings import Embeddings
from .local_context import HashedNgrams, SharedNgrams, ShortConvolution
from .modeling_transformer import (
    AtentaTransformerPreTrainedModel,
    check_one_input,
    classifier_dropout,
    share_of_batch,
    without_states,
)
from .positions import RotaryPositions, source_positions


class Pooler(nn.Module):
    """A linear layer and tanh on the first token, `<bos>`, which represents the text (Devlin et al., 2019)."""

    def __init__(self, config: AtentaEncoderConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden_states: torch.Tensor, attention_mask: torch.Tensor | None) -> torch.Tensor:
        """Map (batch, length, hidden_size) to (batch, hidden_size). Padding on the left is skipped."""
        if attention_mask is not None and attention_mask.ndim == 2:
            first = attention_mask.int().argmax(-1)
            hidden_states = hidden_states[torch.arange(first.shape[0], device=hidden_states.device), first]
        else:
            hidden_states = hidden_states[:, 0]
        return torch.tanh(self.dense(hidden_states))


class AtentaEncoderPreTrainedModel(AtentaTransformerPreTrainedModel):
    """Base class of the encoder's models: loading, saving, initial weights.

    Attributes:
        spellings: content of the file that the configuration's `spellings_file` names, for a model that restores
            characters. It is loaded and saved with the weights.
    """

    config: AtentaEncoderConfig
    spellings: bytes | None = None
    _can_record_outputs = {  # of the blocks that read characters, and not of those that read groups of them
        "hidden_states": OutputRecorder(TransformerBlock, layer_name="layers"),
        "attentions": OutputRecorder(MultiHeadAttention, index=1, layer_name="layers"),
    }

    @classmethod
    def from_pretrained(
        cls, pretrained_model_name_or_path: str | os.PathLike | None, *args: Any, **kwargs: Any
    ) -> Any:
        """Load a saved model, as [`AtentaPreTrainedModel.from_pretrained`] does, with its spellings if it has them."""
        loaded = super().from_pretrained(pretrained_model_name_or_path, *args, **kwargs)
        model = loaded[0] if isinstance(loaded, tuple) else loaded
        if pretrained_model_name_or_path is not None:
            try:
                path = find_spellings(model.config, **{name: kwargs[name] for name in HUB_OPTIONS if name in kwargs})
            except OSError:  # what restores characters with it says so
                path = None
            model.spellings = path and path.read_bytes()
        return loaded

    def _write_beside(self, folder: str | os.PathLike, repo_id: str | None = None) -> None:
        name = getattr(self.config, "spellings_file", None)  # an encoder-decoder's has none
        if name is not None and self.spellings is not None:
            Path(folder, name).write_bytes(self.spellings)
        elif name is not None and repo_id is not None:
            raise ValueError(
                f"The configuration names {name} as spellings_file, and this model has no spellings; expected them "
                "from the folder that it is loaded from, or from a CharacterRestorer that is made of it."
            )
        super()._write_beside(folder, repo_id)


class AtentaEncoderModel(AtentaEncoderPreTrainedModel):
    """Embeddings and a stack of blocks, which give a contextual vector for each character and one for the text.

    Args:
        config: hyper-parameters; the encoder-decoder passes its own configuration.
        add_pooling_layer: whether to compute a vector for the text.
    """

    def __init__(self, config: AtentaEncoderConfig, add_pooling_layer: bool = True) -> None:
        super().__init__(config)
        self.embeddings = Embeddings(config, type_vocab_size=getattr(config, "type_vocab_size", 0))
        self.ngrams = HashedNgrams(config) if getattr(config, "ngram_sizes", None) else None
        self.shared_ngrams = SharedNgrams(config) if getattr(config, "shared_ngram_sizes", None) else None
        self.convolution = ShortConvolution(config) if getattr(config, "conv_kernel_size", None) else None
        self.downsampling = DownsampledBlocks(config) if getattr(config, "downsampling_rate", None) else None
        self.rotary = RotaryPositions(config) if config.position_embedding_type == "rotary" else None
        self.layers = nn.ModuleList(
            [TransformerBlock(config, layer_idx, is_causal=False) for layer_idx in range(config.num_hidden_layers)]
        )
        self.norm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps) if config.norm_first else nn.Identity()
        self.pooler = Pooler(config) if add_pooling_layer else None
        self.gradient_checkpointing = False
        self.post_init()

    @merge_with_config_defaults
    @capture_outputs
    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        token_type_ids: torch.LongTensor | None = None,
        position_ids: torch.LongTensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        **kwargs: Unpack[TransformersKwargs],
    ) -> BaseModelOutputWithPooling:
        """Encode texts.

        Args:
            input_ids: (batch, length).
            attention_mask: (batch, length), 1 for real tokens and 0 for padding.
            token_type_ids: (batch, length), the segment of each token; without them no n-grams are shared.
            position_ids: (batch, length); defaults to positions counted from the attention mask.
            inputs_embeds: (batch, length, hidden_size), replaces `input_ids`; before the factor √hidden_size. N-grams,
                which are found by ids, are then left out.
            kwargs: `output_attentions` and `output_hidden_states`; others are passed to the attention implementation.

        Returns:
            `last_hidden_state` (batch, length, hidden_size) and `pooler_output` (batch, hidden_size) or `None`; on
            request, `hidden_states` and `attentions` (for each block, (batch, heads, length, length)), without those
            of blocks that read pooled tokens.

        Raises:
            ValueError: If both or neither of `input_ids` and `inputs_embeds` are given, if they are empty, or if the
                mask does not say which tokens are padding and the model pools tokens.
        """
        check_one_input(input_ids, inputs_embeds)
        if inputs_embeds is None:
            inputs_embeds = self.embeddings.embed_tokens(input_ids)
            if self.ngrams is not None:
                inputs_embeds = inputs_embeds + self.ngrams(input_ids)
            if self.shared_ngrams is not None and token_type_ids is not None:
                inputs_embeds = inputs_embeds + self.shared_ngrams(input_ids, token_type_ids)
        if position_ids is None:
            tags = getattr(self.config, "tag_token_ids", None)  # of an encoder-decoder
            position_ids = source_positions(input_ids, attention_mask, inputs_embeds, tags)

        mask = create_bidirectional_mask(self.config, inputs_embeds, attention_mask)
        hidden_states = self.embeddings(inputs_embeds, position_ids, token_type_ids)
        if self.convolution is not None:
            hidden_states = self.convolution(hidden_states, attention_mask)
        if self.downsampling is not None:
            hidden_states = self.downsampling(hidden_states, attention_mask, **kwargs)
        position_embeddings = self.rotary(position_ids, hidden_states.dtype) if self.rotary is not None else None
        for layer in self.layers:
            hidden_states = layer(
                hidden_states, attention_mask=mask, position_embeddings=position_embeddings, **kwargs
            )
        hidden_states = self.norm(hidden_states)
        return BaseModelOutputWithPooling(
            last_hidden_state=hidden_states,
            pooler_output=self.pooler(hidden_states, attention_mask) if self.pooler is not None else None,
        )


class AtentaEncoderWithHead(AtentaEncoderPreTrainedModel):
    """Base class of the encoders whose head gives one tensor of logits, and is trained on one tensor of labels."""

    output_class: ClassVar[Callable[..., ModelOutput]]

    def compute_logits(self, outputs: BaseModelOutputWithPooling) -> torch.Tensor:
        """Return the logits of the head for the outputs of the encoder."""
        raise NotImplementedError

    def compute_loss(self, logits: torch.Tensor, labels: torch.Tensor, **kwargs: Any) -> torch.Tensor:
        """Return the mean cross-entropy in nats of logits over classes, (..., classes); the label -100 is ignored."""
        return self.loss_function(logits, labels, logits.shape[-1], **kwargs)

    @can_return_tuple
    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        token_type_ids: torch.LongTensor | None = None,
        position_ids: torch.LongTensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        **kwargs: Unpack[TransformersKwargs],
    ) -> ModelOutput:
        """Return `logits` and, with labels, `loss`. For the other inputs, see [`AtentaEncoderModel.forward`]."""
        outputs = self.model(
            input_ids, attention_mask, token_type_ids, position_ids, inputs_embeds, return_dict=True, **kwargs
        )
        logits = self.compute_logits(outputs)
        loss = None if labels is None else self.compute_loss(logits, labels, **kwargs)
        return self.output_class(loss=loss, logits=logits, **without_states(outputs))


class AtentaEncoderForSequenceClassification(AtentaEncoderWithHead):
    """An encoder with a classification or regression head for texts (documents 4 and 5).

    `config.problem_type` selects the task. If it is not set, it is inferred: a single output is a regression, integer
    labels, (batch,), are one class per text, float labels, (batch, num_labels), are yes or no for each class. Labels
    of a regression are (batch,) or (batch, num_labels) floats. The logits are (batch, num_labels), the loss is the
    mean (binary) cross-entropy or squared error.
    """

    output_class = SequenceClassifierOutput

    def __init__(self, config: AtentaEncoderConfig) -> None:
        super().__init__(config)
        self.num_labels = config.num_labels
        self.model = AtentaEncoderModel(config)
        self.dropout = classifier_dropout(config)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        self.post_init()

    def compute_logits(self, outputs: BaseModelOutputWithPooling) -> torch.Tensor:
        """Map the vector of each text to (batch, num_labels)."""
        return self.classifier(self.dropout(outputs.pooler_output))

    def compute_loss(self, logits: torch.Tensor, labels: torch.Tensor, **kwargs: Any) -> torch.Tensor:
        """Return the loss of `config.problem_type`."""
        loss = self.loss_function(labels=labels, pooled_logits=logits, config=self.config)
        return share_of_batch(loss, labels, kwargs.get("num_items_in_batch"))


class AtentaEncoderForTokenClassification(AtentaEncoderWithHead):
    """An encoder with a classification head for each character, for tagging and named entities (documents 4 and 5).

    Labels are (batch, length), where -100 is ignored, and logits (batch, length, num_labels). The loss is the mean
    cross-entropy in nats.
    """

    output_class = TokenClassifierOutput

    def __init__(self, config: AtentaEncoderConfig) -> None:
        super().__init__(config)
        self.num_labels = config.num_labels
        self.model = AtentaEncoderModel(config, add_pooling_layer=False)
        self.dropout = classifier_dropout(config)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        self.loss_type = "ForMaskedLM"  # plain cross-entropy
        self.post_init()

    def compute_logits(self, outputs: BaseModelOutputWithPooling) -> torch.Tensor:
        """Map the vector of each character to (batch, length, num_labels)."""
        return self.classifier(self.dropout(outputs.last_hidden_state))


class AtentaEncoderForQuestionAnswering(AtentaEncoderPreTrainedModel):
    """An encoder that finds the start and end of an answer (documents 4 and 5; Devlin et al., 2019, section 4.2)."""

    def __init__(self, config: AtentaEncoderConfig) -> None:
        super().__init__(config)
        self.model = AtentaEncoderModel(config, add_pooling_layer=False)
        self.qa_outputs = nn.Linear(config.hidden_size, 2)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        token_type_ids: torch.LongTensor | None = None,
        position_ids: torch.LongTensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        start_positions: torch.LongTensor | None = None,
        end_positions: torch.LongTensor | None = None,
        **kwargs: Unpack[TransformersKwargs],
    ) -> QuestionAnsweringModelOutput:
        """Predict where the answer starts and ends. For the other inputs, see [`AtentaEncoderModel.forward`].

        Args:
            start_positions: (batch,), index of the answer's first token; `length` or more is ignored in the loss.
            end_positions: (batch,), index of the answer's last token; `length` or more is ignored in the loss.

        Returns:
            `start_logits` and `end_logits` (batch, length); with labels, `loss`, their mean cross-entropy in nats.
        """
        outputs = self.model(
            input_ids, attention_mask, token_type_ids, position_ids, inputs_embeds, return_dict=True, **kwargs
        )
        start_logits, end_logits = self.qa_outputs(outputs.last_hidden_state).unbind(-1)
        loss = None
        if start_positions is not None and end_positions is not None:
            loss = self.loss_function(start_logits, end_logits, start_positions, end_positions, **kwargs)
        return QuestionAnsweringModelOutput(
            loss=loss,
            start_logits=start_logits.contiguous(),
            end_logits=end_logits.contiguous(),
            **without_states(outputs),
        )
