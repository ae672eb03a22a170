"""The models: building blocks (attention, feed_forward, positions, embeddings, block) and a file a family.

The votes of pairs stand apart: a table (vote_table) that is filled by counting (triple_counts).
"""

from .modeling_decoder import (
    AtentaDecoderForCausalLM,
    AtentaDecoderForSequenceClassification,
    AtentaDecoderModel,
    AtentaDecoderPreTrainedModel,
)
from .modeling_encoder import (
    AtentaEncoderForMaskedLM,
    AtentaEncoderForNextSentencePrediction,
    AtentaEncoderForPreTraining,
    AtentaEncoderForQuestionAnswering,
    AtentaEncoderForSequenceClassification,
    AtentaEncoderForTokenClassification,
    AtentaEncoderModel,
    AtentaEncoderPreTrainedModel,
)
from .modeling_encoder_decoder import (
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderDecoderModel,
    AtentaEncoderDecoderPreTrainedModel,
)
from .modeling_pair_votes import AtentaPairVotesForCausalLM, AtentaPairVotesOutput

__all__ = [
    "AtentaDecoderForCausalLM",
    "AtentaDecoderForSequenceClassification",
    "AtentaDecoderModel",
    "AtentaDecoderPreTrainedModel",
    "AtentaEncoderDecoderForConditionalGeneration",
    "AtentaEncoderDecoderModel",
    "AtentaEncoderDecoderPreTrainedModel",
    "AtentaEncoderForMaskedLM",
    "AtentaEncoderForNextSentencePrediction",
    "AtentaEncoderForPreTraining",
    "AtentaEncoderForQuestionAnswering",
    "AtentaEncoderForSequenceClassification",
    "AtentaEncoderForTokenClassification",
    "AtentaEncoderModel",
    "AtentaEncoderPreTrainedModel",
    "AtentaPairVotesForCausalLM",
    "AtentaPairVotesOutput",
]
