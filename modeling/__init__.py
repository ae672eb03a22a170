"""The models: one file per family over shared building blocks (`positions`, `attention`, `block`, `embeddings`).

`cache_layers` and `bare_blocks` speed up generation. Pair votes use none of this: `modeling_pair_votes` reads a table
(`vote_table`) that is filled by counting (`triple_counts`).
"""

from .modeling_base import AtentaPreTrainedModel
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
from .modeling_transformer import AtentaTransformerPreTrainedModel

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
    "AtentaPreTrainedModel",
    "AtentaTransformerPreTrainedModel",
]
