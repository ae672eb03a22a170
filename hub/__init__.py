"""Character-level Transformers for Hugging Face transformers: encoder, decoder, encoder-decoder; and pair votes.

Importing the package makes transformers' auto classes and pipelines know the models, and lets what is saved load
where the package is not installed.
"""

from importlib.metadata import version

from .bundle import save_code_with
from .card import write_cards_of_models
from .configuration import (
    AtentaDecoderConfig,
    AtentaEncoderConfig,
    AtentaEncoderDecoderConfig,
    AtentaPairVotesConfig,
)
from .modeling import (
    AtentaDecoderForCausalLM,
    AtentaDecoderForSequenceClassification,
    AtentaDecoderModel,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderDecoderModel,
    AtentaEncoderForMaskedLM,
    AtentaEncoderForNextSentencePrediction,
    AtentaEncoderForPreTraining,
    AtentaEncoderForQuestionAnswering,
    AtentaEncoderForSequenceClassification,
    AtentaEncoderForTokenClassification,
    AtentaEncoderModel,
    AtentaPairVotesForCausalLM,
)
from .registration import AUTO_CLASSES, register_auto_classes
from .tokenization import DEFAULT_ALPHABET, AtentaTokenizer, CharacterTable, character_span, check_texts

__version__ = version("atenta")

__all__ = [
    "DEFAULT_ALPHABET",
    "AtentaDecoderConfig",
    "AtentaDecoderForCausalLM",
    "AtentaDecoderForSequenceClassification",
    "AtentaDecoderModel",
    "AtentaEncoderConfig",
    "AtentaEncoderDecoderConfig",
    "AtentaEncoderDecoderForConditionalGeneration",
    "AtentaEncoderDecoderModel",
    "AtentaEncoderForMaskedLM",
    "AtentaEncoderForNextSentencePrediction",
    "AtentaEncoderForPreTraining",
    "AtentaEncoderForQuestionAnswering",
    "AtentaEncoderForSequenceClassification",
    "AtentaEncoderForTokenClassification",
    "AtentaEncoderModel",
    "AtentaPairVotesConfig",
    "AtentaPairVotesForCausalLM",
    "AtentaTokenizer",
    "CharacterTable",
    "__version__",
    "character_span",
    "check_texts",
]

register_auto_classes()
save_code_with(AUTO_CLASSES)
write_cards_of_models()
