"""The models that transformers' auto classes build from the configurations of this package.

Importing this module registers them.
"""

from typing import Any

import transformers
from transformers import AutoConfig, PreTrainedConfig, PreTrainedModel

from .configuration.configuration_decoder import AtentaDecoderConfig
from .configuration.configuration_encoder import AtentaEncoderConfig
from .configuration.configuration_encoder_decoder import AtentaEncoderDecoderConfig
from .configuration.configuration_pair_votes import AtentaPairVotesConfig
from .modeling.modeling_decoder import (
    AtentaDecoderForCausalLM,
    AtentaDecoderForSequenceClassification,
    AtentaDecoderModel,
)
from .modeling.modeling_encoder import (
    AtentaEncoderForMaskedLM,
    AtentaEncoderForNextSentencePrediction,
    AtentaEncoderForPreTraining,
    AtentaEncoderForQuestionAnswering,
    AtentaEncoderForSequenceClassification,
    AtentaEncoderForTokenClassification,
    AtentaEncoderModel,
)
from .modeling.modeling_encoder_decoder import AtentaEncoderDecoderForConditionalGeneration, AtentaEncoderDecoderModel
from .modeling.modeling_pair_votes import AtentaPairVotesForCausalLM

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


def _register_auto_classes() -> None:
    """Register the models with `AutoConfig`, `AutoModel` and the other auto classes, without remote code."""
    for config_class, models in AUTO_CLASSES.items():
        AutoConfig.register(config_class.model_type, config_class, exist_ok=True)
        for auto_class, model_class in models.items():
            getattr(transformers, auto_class).register(config_class, model_class, exist_ok=True)


_register_auto_classes()
