"""Pre-training of the encoder: masked characters, next sentences, and both (document 4; Devlin et al., 2019)."""

from dataclasses import dataclass

import torch
from torch import nn
from transformers.modeling_outputs import BaseModelOutputWithPooling, MaskedLMOutput, NextSentencePredictorOutput
from transformers.processing_utils import Unpack
from transformers.utils import ModelOutput, TransformersKwargs, can_return_tuple

from ..configuration.configuration_encoder import AtentaEncoderConfig
from .modeling_encoder import AtentaEncoderModel, AtentaEncoderPreTrainedModel, AtentaEncoderWithHead
from .modeling_transformer import share_of_batch, without_states


class AtentaEncoderForMaskedLM(AtentaEncoderWithHead):
    """An encoder that predicts masked characters (document 4). The output layer covers the whole vocabulary.

    Labels, (batch, length), are the correct ids at masked positions and -100 at all others, and logits are (batch,
    length, vocab_size). The loss is the mean cross-entropy in nats.
    """

    output_class = MaskedLMOutput
    _tied_weights_keys = {"lm_head.weight": "model.embeddings.embed_tokens.weight"}
    _tp_plan = {"lm_head": "colwise_gather_output"}

    def __init__(self, config: AtentaEncoderConfig) -> None:
        super().__init__(config)
        self.model = AtentaEncoderModel(config, add_pooling_layer=False)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size)
        self.post_init()

    def compute_logits(self, outputs: BaseModelOutputWithPooling) -> torch.Tensor:
        """Map the vector of each character to (batch, length, vocab_size)."""
        return self.lm_head(outputs.last_hidden_state)


@dataclass
class AtentaEncoderForPreTrainingOutput(ModelOutput):
    """Output of [`AtentaEncoderForPreTraining`], with the field names of transformers' BERT.

    Args:
        loss: sum of the masked-character loss, the next-sentence loss and the masked-word loss, in nats.
        prediction_logits: (batch, length, vocab_size).
        seq_relationship_logits: (batch, 2); column 0 means that the second text follows the first.
        hidden_states: embeddings and the output of each block, (batch, length, hidden_size) each.
        attentions: attention weights of each block, (batch, heads, length, length) each.
    """

    loss: torch.FloatTensor | None = None
    prediction_logits: torch.FloatTensor | None = None
    seq_relationship_logits: torch.FloatTensor | None = None
    hidden_states: tuple[torch.FloatTensor, ...] | None = None
    attentions: tuple[torch.FloatTensor, ...] | None = None


class AtentaEncoderForPreTraining(AtentaEncoderPreTrainedModel):
    """An encoder for masked characters and next-sentence prediction (document 4; Devlin et al., 2019, section 3.1)."""

    _tied_weights_keys = {"lm_head.weight": "model.embeddings.embed_tokens.weight"}
    _tp_plan = {"lm_head": "colwise_gather_output"}

    def __init__(self, config: AtentaEncoderConfig) -> None:
        super().__init__(config)
        self.model = AtentaEncoderModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size)
        self.seq_relationship = nn.Linear(config.hidden_size, 2)
        self.word_head = nn.Linear(config.hidden_size, config.num_words) if config.num_words else None
        self.loss_type = "ForMaskedLM"
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        token_type_ids: torch.LongTensor | None = None,
        position_ids: torch.LongTensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        labels: torch.LongTensor | None = None,
        next_sentence_label: torch.LongTensor | None = None,
        num_items_in_batch: torch.Tensor | int | None = None,
        **kwargs: Unpack[TransformersKwargs],
    ) -> AtentaEncoderForPreTrainingOutput:
        """Predict characters and the order of the texts. For the other inputs, see [`AtentaEncoderModel.forward`].

        Args:
            labels: (batch, length), the correct ids at masked positions and -100 at all others.
            next_sentence_label: (batch,), 0 if the second text follows the first and 1 if it does not.
            word_labels: (batch, length), the number of a masked word where it is to be predicted and -100 elsewhere,
                for a model with `num_words`. `Trainer` passes a column of it only with `remove_unused_columns=False`.
            num_items_in_batch: number of masked characters in the whole batch, if this is a micro-batch. The
                losses of order and words are weighted by its share of masked characters too, although its share of
                pairs and words may differ.

        Returns:
            See [`AtentaEncoderForPreTrainingOutput`]. `loss` needs both kinds of labels.

        Raises:
            ValueError: If there are labels of words, which the model does not predict without `num_words`.
        """
        word_labels = kwargs.pop("word_labels", None)  # no parameter: Trainer would give no loss without them
        if word_labels is not None and self.word_head is None:
            raise ValueError("The model has num_words=0 and predicts no words; expected no word_labels.")
        outputs = self.model(
            input_ids, attention_mask, token_type_ids, position_ids, inputs_embeds, return_dict=True, **kwargs
        )
        prediction_logits = self.lm_head(outputs.last_hidden_state)
        seq_relationship_logits = self.seq_relationship(outputs.pooler_output)
        loss = None
        if labels is not None and next_sentence_label is not None:
            masked_loss = self.loss_function(
                prediction_logits, labels, self.config.vocab_size, num_items_in_batch=num_items_in_batch, **kwargs
            )
            order_loss = nn.functional.cross_entropy(seq_relationship_logits.float(), next_sentence_label.view(-1))
            loss = masked_loss + share_of_batch(order_loss, labels, num_items_in_batch)
            if word_labels is not None:
                known = word_labels != -100
                word_logits = self.word_head(outputs.last_hidden_state[known])  # (characters, num_words)
                word_loss = nn.functional.cross_entropy(word_logits.float(), word_labels[known], reduction="sum")
                loss = loss + share_of_batch(word_loss / known.sum().clamp(min=1), labels, num_items_in_batch)
        return AtentaEncoderForPreTrainingOutput(
            loss=loss,
            prediction_logits=prediction_logits,
            seq_relationship_logits=seq_relationship_logits,
            **without_states(outputs),
        )


class AtentaEncoderForNextSentencePrediction(AtentaEncoderWithHead):
    """An encoder that predicts whether two texts follow each other (document 4; Devlin et al., 2019, section 3.1).

    Labels, (batch,), are 0 if the second text follows the first and 1 if it does not, and logits are (batch, 2). The
    loss is the mean cross-entropy in nats.
    """

    output_class = NextSentencePredictorOutput

    def __init__(self, config: AtentaEncoderConfig) -> None:
        super().__init__(config)
        self.model = AtentaEncoderModel(config)
        self.seq_relationship = nn.Linear(config.hidden_size, 2)
        self.loss_type = "ForMaskedLM"  # plain cross-entropy over two classes
        self.post_init()

    def compute_logits(self, outputs: BaseModelOutputWithPooling) -> torch.Tensor:
        """Map the vector of each pair of texts to (batch, 2)."""
        return self.seq_relationship(outputs.pooler_output)
