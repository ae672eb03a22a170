"""The models that transformers' auto classes build from the configurations of this package, and its pipelines.

Importing this module registers them.
"""

from importlib import import_module

import transformers
from transformers import AutoConfig, AutoTokenizer, PreTrainedConfig, PreTrainedModel, TokenizersBackend

from .configuration.configuration_base import AtentaConfig
from .configuration.configuration_decoder import AtentaDecoderConfig
from .configuration.configuration_encoder import AtentaEncoderConfig
from .configuration.configuration_encoder_decoder import AtentaEncoderDecoderConfig
from .configuration.configuration_pair_votes import AtentaPairVotesConfig
from .engines.kinds import KINDS, auto_class_of
from .import_hook import call_after_import
from .modeling.modeling_decoder import (
    AtentaDecoderForCausalLM,
    AtentaDecoderForSequenceClassification,
    AtentaDecoderModel,
)
from .modeling.modeling_encoder import (
    AtentaEncoderForQuestionAnswering,
    AtentaEncoderForSequenceClassification,
    AtentaEncoderForTokenClassification,
    AtentaEncoderModel,
)
from .modeling.modeling_encoder_decoder import AtentaEncoderDecoderForConditionalGeneration, AtentaEncoderDecoderModel
from .modeling.modeling_encoder_pretraining import (
    AtentaEncoderForMaskedLM,
    AtentaEncoderForNextSentencePrediction,
    AtentaEncoderForPreTraining,
)
from .modeling.modeling_pair_votes import AtentaPairVotesForCausalLM

_MODELS: dict[type[PreTrainedConfig], tuple[type[PreTrainedModel], ...]] = {
    AtentaEncoderConfig: (
        AtentaEncoderModel,
        AtentaEncoderForPreTraining,
        AtentaEncoderForMaskedLM,
        AtentaEncoderForNextSentencePrediction,
        AtentaEncoderForSequenceClassification,
        AtentaEncoderForTokenClassification,
        AtentaEncoderForQuestionAnswering,
    ),
    AtentaDecoderConfig: (AtentaDecoderModel, AtentaDecoderForCausalLM, AtentaDecoderForSequenceClassification),
    AtentaEncoderDecoderConfig: (AtentaEncoderDecoderModel, AtentaEncoderDecoderForConditionalGeneration),
    AtentaPairVotesConfig: (AtentaPairVotesForCausalLM,),
}
AUTO_CLASSES: dict[type[PreTrainedConfig], dict[str, type[PreTrainedModel]]] = {
    config_class: {auto_class_of(each.__name__): each for each in models} for config_class, models in _MODELS.items()
}
# Their pre-training has no head of its own.
AUTO_CLASSES[AtentaDecoderConfig]["AutoModelForPreTraining"] = AtentaDecoderForCausalLM
AUTO_CLASSES[AtentaEncoderDecoderConfig]["AutoModelForPreTraining"] = AtentaEncoderDecoderForConditionalGeneration

# The pipelines of this package, by their tasks.
PIPELINES = {
    "text2text-generation": "text_to_text.TextToTextPipeline",
    "question-answering": "question_answering.ExtractiveQuestionAnsweringPipeline",
    "character-restoration": "restoration_pipeline.CharacterRestorationPipeline",
}


def _register_auto_classes() -> None:
    """Register the models and their tokenizer with transformers' auto classes, without remote code."""
    for config_class, models in AUTO_CLASSES.items():
        AutoConfig.register(config_class.model_type, config_class, exist_ok=True)
        # Otherwise a folder's tokenizer_config.json can make transformers ask whether to run code, on standard input.
        AutoTokenizer.register(config_class, tokenizer_class=TokenizersBackend, exist_ok=True)
        for auto_class, model_class in models.items():
            getattr(transformers, auto_class).register(config_class, model_class, exist_ok=True)


def _register_pipelines() -> None:
    """Register the pipelines that the installed transformers does not have itself."""
    from transformers import pipelines

    for task, name in PIPELINES.items():
        if task not in pipelines.PIPELINE_REGISTRY.supported_tasks:
            module, class_name = name.split(".")
            pipeline_class = getattr(import_module(f"{__package__}.pipelines.{module}"), class_name)
            model_class = getattr(transformers, KINDS[task].auto_class)
            pipelines.PIPELINE_REGISTRY.register_pipeline(task, pipeline_class, pt_model=model_class, type="text")
        # transformers refuses the tasks that it has dropped before it looks for them among the registered ones.
        getattr(pipelines, "REMOVED_TASKS", {}).pop(task, None)


AtentaConfig.registered_pipelines = frozenset(PIPELINES)
_register_auto_classes()
call_after_import("transformers.pipelines", _register_pipelines)
