"""Character-level Transformers for Hugging Face transformers (encoder, decoder, encoder-decoder), and pair votes.

Importing the package registers the models with transformers' auto classes and pipelines. Saved models contain the
code that they need, so they also load where the package is not installed. `restore_accents` restores the accents of
Portuguese with the model that comes with the package.
"""

from importlib.metadata import version

from .bundle import collect_code
from .card import write_automatic_card
from .configuration import (
    AtentaConfig,
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
    AtentaPreTrainedModel,
)
from .registration import register_auto_classes
from .restoration import CharacterRestorer, RestoredText, Spellings, restore_accents
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
    "CharacterRestorer",
    "CharacterTable",
    "RestoredText",
    "Spellings",
    "__version__",
    "character_span",
    "check_texts",
    "restore_accents",
]

register_auto_classes()
# The base classes declare these two extension points.
AtentaConfig.code_collector = collect_code
AtentaPreTrainedModel.card_writer = write_automatic_card
