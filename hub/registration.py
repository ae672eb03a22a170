"""The models that transformers' auto classes build from the configurations of this package."""

from typing import Any

import transformers
from transformers import AutoConfig, PreTrainedConfig, PreTrainedModel

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

AUTO_CLASSES: dict[type[PreTrainedConfig], dict[str, type[PreTrainedModel]]] = {
    AtentaEncoderConfig: {
        "AutoModel": AtentaEncoderModel,
        "AutoModelForPreTraining": AtentaEncoderForPreTraining,
        "AutoModelForMaskedLM": AtentaEncoderForMaskedLM,
        "AutoModelForNextSentencePrediction": AtentaEncoderForNextSentencePrediction,
        "AutoModelForSequenceClassification": AtentaEncoderForSequenceClassification,
        "AutoModelForTokenClassification": AtentaEncoderForTokenClassification,
        "AutoModelForQuestionAnswering": AtentaEncoderForQuestionAnswering,
    },
    AtentaDecoderConfig: {
        "AutoModel": AtentaDecoderModel,
        "AutoModelForPreTraining": AtentaDecoderForCausalLM,
        "AutoModelForCausalLM": AtentaDecoderForCausalLM,
        "AutoModelForSequenceClassification": AtentaDecoderForSequenceClassification,
    },
    AtentaEncoderDecoderConfig: {
        "AutoModel": AtentaEncoderDecoderModel,
        "AutoModelForPreTraining": AtentaEncoderDecoderForConditionalGeneration,
        "AutoModelForSeq2SeqLM": AtentaEncoderDecoderForConditionalGeneration,
    },
    AtentaPairVotesConfig: {
        "AutoModelForCausalLM": AtentaPairVotesForCausalLM,
    },
}

# What a saved tagger of characters says of its pipeline: the file and the class, and the auto class of the model.
RESTORATION_PIPELINE: dict[str, dict[str, Any]] = {
    "character-restoration": {
        "impl": "restoration_pipeline.CharacterRestorationPipeline",
        "pt": ["AutoModelForTokenClassification"],
    }
}


def register_auto_classes() -> None:
    """Register the models with `AutoConfig`, `AutoModel` and the other auto classes, without remote code."""
    for config_class, models in AUTO_CLASSES.items():
        AutoConfig.register(config_class.model_type, config_class, exist_ok=True)
        for auto_class, model_class in models.items():
            getattr(transformers, auto_class).register(config_class, model_class, exist_ok=True)
