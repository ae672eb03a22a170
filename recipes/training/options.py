"""Options of the recipes: the dataclasses that `parsing.py` fills."""

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, ClassVar

import torch
from huggingface_hub.errors import StrictDataclassError
from transformers import SchedulerType, Seq2SeqTrainingArguments, Trainer, TrainingArguments, get_scheduler
from transformers.training_args import OptimizerNames
from transformers.utils import is_liger_kernel_available

from atenta import AtentaDecoderConfig, AtentaEncoderConfig, AtentaEncoderDecoderConfig
from atenta.configuration.configuration_base import AtentaConfig
from atenta.hub.card_words import LANGUAGES, less_is_better
from atenta.recipes.option_annotations import (
    ABOVE_0,
    BELOW_1,
    FROM_0,
    FROM_1,
    FROM_2,
    NOT_BLANK,
    STEPS_OR_0,
    IdleIf,
    Mark,
    one_of,
)
from atenta.recipes.training.cost import check_country

_NOT_OF_RECIPES = {
    "fp16_full_eval": "would score and save a rounded model",
    "bf16_full_eval": "would score and save a rounded model",
    "enable_jit_checkpoint": "marks a stopped run as finished, and a stopped run is resumed from its last checkpoint",
    "save_only_model": "leaves checkpoints that no run can be resumed from",
    "batch_eval_metrics": "scores parts of the rows, and scores are of all rows together",
    "prediction_loss_only": "leaves no scores",
    "dataloader_drop_last": "leaves out rows, also of the test",
    "auto_find_batch_size": "changes batches that are made before training",
    "label_names": "names columns, and each recipe has its own",
    "hub_revision": "names a branch, and a model is pushed to the main one",
}
_ONLY = {  # values from which no recipe departs
    "do_train": (True, "a recipe trains; `atenta predict` answers with a saved model"),
    "predict_with_generate": (True, "scores are of generated texts"),
    "hub_strategy": ("every_save", "output_dir is pushed once, at the end"),
    "eval_do_concat_batches": (True, "scores are of all rows together"),
    # Another order would be that of validation and test too.
    "train_sampling_strategy": ("random", "batches have texts of similar length already"),
}
_IN_OPTIONS = {  # words of a configuration's messages: what they are in a recipe, which has no option head_dim
    " Choose one, or give head_dim.": "",
    "head_dim=": "hidden_size / num_attention_heads = ",
    "max_position_embeddings": "max_length",
}
# What decides the kind of network that a new model is: flags for it are refused beside a saved model.
OF_THE_KIND = (
    *("hidden_act", "norm_first", "tie_word_embeddings", "conv_kernel_size", "ngram_sizes", "shared_ngram_sizes"),
    *("downsampling_rate", "rotary_cross_attention", "transducer", "tags_with_positions"),
)
# Options of every recipe that writes a card.
CardLanguageOption = Annotated[str, one_of(LANGUAGES), Mark.INCIDENTAL, "language of the model card"]
CardTitleOption = Annotated[
    str | None, NOT_BLANK, Mark.INCIDENTAL, "title of the model card; None: name of the repository or of output_dir"
]
CountryOption = Annotated[
    str | None,
    Mark.INCIDENTAL,
    "country whose electricity is used, such as BRA: the card then states the CO2 of training",
]
# Of the recipes that read pairs.
SeveralTargetsOption = Annotated[
    bool,
    Mark.AFTER_TRAINING,
    "test pairs with the same source and tags are one, and each of their targets is right",
]
# Of an encoder, alone or before a decoder.
ConvolutionOption = Annotated[
    int | None, FROM_1, Mark.FIXED, "characters, an odd number, that a convolution before the blocks reads"
]
_WITHOUT_WARMUP = (SchedulerType.CONSTANT, SchedulerType.GREEDY, SchedulerType.REDUCE_ON_PLATEAU)


@dataclass
class ModelArguments:
    """Type and sizes of a new model, as in its configuration class, or the saved model to start from."""

    _argument_group_name = "model"
    _configuration: ClassVar[type[AtentaConfig]]

    model_name_or_path: Annotated[
        str | None, Mark.OFF_CARD, "saved model to start from; it keeps its type and sizes. None: create a new model"
    ] = None
    hidden_size: Annotated[int, FROM_1, Mark.FIXED, Mark.OFF_CARD, "width of the vectors between blocks"] = 512
    num_attention_heads: Annotated[int, FROM_1, Mark.FIXED, Mark.OFF_CARD, "heads in each attention layer"] = 8
    intermediate_size: Annotated[int, FROM_1, Mark.FIXED, Mark.OFF_CARD, "inner width of the feed-forward network"] = (
        2048
    )
    dropout: Annotated[float, BELOW_1, Mark.ON_CARD, "on the output of each sub-layer and on the embeddings"] = 0.1
    hidden_act: Annotated[str, Mark.FIXED, "activation of the feed-forward network"] = "relu"
    norm_first: Annotated[bool, Mark.FIXED, "LayerNorm before each sub-layer instead of after it"] = False
    position_embedding_type: Annotated[
        str, one_of(["sinusoidal", "learned", "rotary"]), Mark.FIXED, Mark.OFF_CARD, "sinusoidal, learned or rotary"
    ] = "sinusoidal"
    tie_word_embeddings: Annotated[bool, Mark.FIXED, "one matrix for embeddings and output layer"] = False
    initializer_range: Annotated[float, ABOVE_0, "standard deviation of the initial weights"] = 0.02
    max_length: Annotated[
        int,
        FROM_2,
        "maximum length of an input in tokens, special tokens included; longer rows are an error, unless the recipe "
        "cuts texts into several inputs or, for embeddings, reads their beginnings",
    ] = 1024
    lora_rank: Annotated[
        int | None,
        FROM_1,
        Mark.FIXED,
        Mark.ON_CARD,
        "freeze the weights and train low-rank updates of this rank (LoRA)",
    ] = None

    def __post_init__(self) -> None:
        """Check that the sizes of a new model fit together, before the data are read.

        Raises:
            ValueError: If they do not.
        """
        if self.model_name_or_path is not None:
            return
        try:
            self._configuration(**self.sizes())
        except (StrictDataclassError, ValueError) as error:
            problem = str(error.__cause__ or error)
            for theirs, ours in _IN_OPTIONS.items():
                problem = problem.replace(theirs, ours)
            raise ValueError(problem) from None

    def sizes(self) -> dict[str, Any]:
        """Return the options of a new model's configuration."""
        known = {each.name for each in fields(self._configuration)}
        sizes = {name: value for name, value in vars(self).items() if name in known}
        return sizes | {"max_position_embeddings": self.max_length}


@dataclass
class StackArguments(ModelArguments):
    """A model with one stack: a decoder, or an encoder that reads characters alone."""

    _configuration = AtentaDecoderConfig
    num_hidden_layers: Annotated[int, FROM_1, Mark.FIXED, Mark.OFF_CARD, "number of blocks"] = 6


@dataclass
class EncoderArguments(StackArguments):
    """A model with an encoder alone, which may read n-grams, neighbours and groups of characters before its blocks."""

    _configuration = AtentaEncoderConfig
    ngram_sizes: Annotated[
        list[int] | None, Mark.FIXED, "lengths of the n-grams of characters that have vectors of their own"
    ] = None
    ngram_buckets: Annotated[int, FROM_1, Mark.FIXED, "number of vectors for the n-grams of each length"] = 16384
    shared_ngram_sizes: Annotated[
        list[int] | None, Mark.FIXED, "lengths of the n-grams that mark what the two segments of an input share"
    ] = None
    conv_kernel_size: ConvolutionOption = None
    downsampling_rate: Annotated[
        int | None,
        FROM_2,
        Mark.FIXED,
        "neighbours that are pooled into one position for further blocks before the others",
    ] = None
    downsampling_size: Annotated[
        int | None, FROM_1, Mark.FIXED, "width of the blocks that read pooled characters; None: hidden_size"
    ] = None
    downsampling_heads: Annotated[
        int | None, FROM_1, Mark.FIXED, "heads in each of those blocks; None: num_attention_heads"
    ] = None
    downsampling_layers: Annotated[int | None, FROM_1, Mark.FIXED, "number of those blocks; None: 6"] = None


@dataclass
class TwoStackArguments(ModelArguments):
    """A model with two stacks: an encoder and a decoder."""

    _configuration = AtentaEncoderDecoderConfig
    encoder_layers: Annotated[int, FROM_1, Mark.FIXED, Mark.OFF_CARD, "number of encoder blocks"] = 6
    decoder_layers: Annotated[int, FROM_1, Mark.FIXED, Mark.OFF_CARD, "number of decoder blocks"] = 6
    rotary_cross_attention: Annotated[
        bool | None, Mark.FIXED, "rotate queries and keys of cross-attention too; None: if the positions are rotary"
    ] = None
    transducer: Annotated[
        bool,
        Mark.FIXED,
        "read the source from left to right and write each token at one place of it: for few pairs of words",
    ] = False
    conv_kernel_size: ConvolutionOption = None
    tags_with_positions: Annotated[
        bool, Mark.FIXED, "feature tags count as positions, instead of sharing position 0"
    ] = False


@dataclass
class RecipeArguments(TrainingArguments):
    """transformers' training options, with the defaults of Vaswani et al. (2017), section 5.3, and a few more."""

    _argument_group_name = "training"

    learning_rate: Annotated[
        float | None,
        ABOVE_0,
        Mark.ON_CARD,
        "peak rate; None: (hidden_size * warmup_steps) ** -0.5, as in Vaswani et al. (2017)",
    ] = None
    lr_scheduler_type: Annotated[
        str,
        one_of(each.value for each in SchedulerType),
        Mark.ON_CARD,
        "schedule after the warm-up: inverse_sqrt (Noam), cosine, linear, constant…",
    ] = "inverse_sqrt"
    warmup_steps: Annotated[
        float | None,
        STEPS_OR_0,
        Mark.ON_CARD,
        "number of warm-up steps, or below 1 their share of the run; None: 4,000, but at most a tenth of the run",
    ] = None
    adam_beta2: Annotated[float, BELOW_1, "decay rate of Adam's second moment"] = 0.98
    adam_epsilon: Annotated[float, ABOVE_0, "keeps Adam from dividing by zero"] = 1e-9
    optim: Annotated[
        str,
        one_of(["muon", *(each.value for each in OptimizerNames)]),
        Mark.FIXED,
        Mark.ON_CARD,
        "muon: Muon for the matrices of the blocks, AdamW for the rest; or an optimizer of transformers",
    ] = "adamw_torch_fused"
    muon_learning_rate: Annotated[
        float,
        ABOVE_0,
        Mark.ON_CARD,
        IdleIf(lambda training: training.optim != "muon"),
        "peak rate of the matrices with --optim muon, on the schedule of learning_rate",
    ] = 0.02
    muon_momentum: Annotated[float, BELOW_1, "decay rate of Muon's mean of the gradients"] = 0.95
    muon_weight_decay: Annotated[float, FROM_0, "weight decay of the matrices with --optim muon"] = 0.01
    max_tokens_per_batch: Annotated[
        int | None,
        FROM_1,
        Mark.ON_CARD,
        "maximum number of tokens in a batch of one process, padding included, source and target added; None: "
        "per_device_train_batch_size texts",
    ] = None
    input_mask_probability: Annotated[
        float,
        BELOW_1,
        "share of the input's characters (of the source, with a source and a target) that are replaced by <mask> "
        "in training, so that few texts are not learned by heart (word dropout)",
    ] = 0.0
    early_stopping_patience: Annotated[
        int | None, FROM_1, Mark.ON_CARD, "stop after this many evaluations without a better score"
    ] = None
    average_last_checkpoints: Annotated[
        int | None, FROM_1, Mark.AFTER_TRAINING, Mark.ON_CARD, "save the mean of the weights of the last N checkpoints"
    ] = None
    average_best_checkpoints: Annotated[
        int | None, FROM_1, Mark.AFTER_TRAINING, Mark.ON_CARD, "save the mean of the weights of the best N checkpoints"
    ] = None
    push_to_hub: Annotated[
        bool, Mark.INCIDENTAL, "upload output_dir to the Hub at the end, without its checkpoints"
    ] = False
    replace_on_hub: Annotated[
        bool, Mark.INCIDENTAL, "with --push_to_hub: replace files that the repository has already"
    ] = False
    card_language: CardLanguageOption = "en"
    card_title: CardTitleOption = None
    country_iso_code: CountryOption = None
    resume_from_checkpoint: Annotated[
        str | None,
        Mark.INCIDENTAL,
        "checkpoint to resume from, even with other options; None: the last one in output_dir, which must have "
        "the same options",
    ] = None
    overwrite_output_dir: Annotated[
        bool, Mark.INCIDENTAL, "delete the checkpoints in output_dir and start training from the beginning"
    ] = False
    do_train: Annotated[bool, Mark.INCIDENTAL, Mark.HIDDEN, "train"] = True
    logging_nan_inf_filter: Annotated[
        bool,
        Mark.HIDDEN,
        Mark.AFTER_TRAINING,
        Mark.OFF_CARD,
        "leave batches whose loss is not finite out of an evaluation's; in training it ends the run",
    ] = False
    restore_callback_states_from_checkpoint: Annotated[
        bool, Mark.HIDDEN, "restore the state of early stopping too when a run is resumed"
    ] = True

    def __post_init__(self) -> None:
        """Fill in what depends on the machine, and whether less of the score that chooses checkpoints is better.

        Raises:
            ValueError: If options exclude each other, or the machine lacks what they need.
        """
        check_country(self.country_iso_code)
        self._check_values()
        warmup_steps, self.warmup_steps = self.warmup_steps, self.warmup_steps or 0  # the parent compares numbers
        optim, more_is_better = self.optim, self.greater_is_better
        if optim == "muon":
            self.optim = "adamw_torch_fused"  # the parent class accepts only transformers' own names
        self.use_cpu |= self.bf16 and not torch.accelerator.is_available()  # the parent class expects this to be said
        super().__post_init__()
        self.warmup_steps = warmup_steps
        self.optim = optim if optim == "muon" else self.optim
        self.dataloader_pin_memory &= torch.cuda.is_available()
        if self.mixed_precision == "fp16" and self.device.type == "cpu":  # accelerate leaves it out without a word
            raise ValueError(
                "--fp16, or --mixed_precision fp16 of accelerate, needs a GPU: on this CPU give --bf16, or neither."
            )
        if self.metric_for_best_model is not None:
            self.greater_is_better = not less_is_better(self.metric_for_best_model)
            if more_is_better not in (None, self.greater_is_better):
                raise ValueError(
                    f"--greater_is_better {str(more_is_better).lower()}: {'less' if more_is_better else 'more'} "
                    f"{self.metric_for_best_model} is better, as its name says. Leave it out."
                )
        self._check_kept_weights()
        self._check_optimizer()

    def _check_values(self) -> None:
        """Refuse what would fail after long work, or leave out what a recipe promises."""
        for name in self._VALID_DICT_FIELDS:
            _check_object(name, getattr(self, name))
        for name, reason in _NOT_OF_RECIPES.items():
            if getattr(self, name):
                raise ValueError(f"--{name} {reason}: leave it out.")
        for name, (value, reason) in _ONLY.items():
            if (given := getattr(self, name, value)) != value:
                raise ValueError(f"--{name} {str(given).lower()}: {reason}. Leave it out.")
        if self.optim == "muon" and self.optim_args:
            raise ValueError(f"--optim_args {self.optim_args}: --optim muon has options of its own. Leave it out.")
        if self.use_liger_kernel and not is_liger_kernel_available():
            raise ValueError("--use_liger_kernel needs the package liger-kernel: install it, or leave the option out.")

    def _check_kept_weights(self) -> None:
        """Check that there will be the checkpoints and the scores by which the weights to keep are chosen."""
        if self.average_last_checkpoints and self.average_best_checkpoints:
            raise ValueError("Give only one of --average_last_checkpoints and --average_best_checkpoints.")
        averaged = self.average_last_checkpoints or self.average_best_checkpoints or 0
        if self.average_best_checkpoints and self.save_total_limit:
            raise ValueError(
                f"--save_total_limit {self.save_total_limit} may delete some of the {averaged} best checkpoints: "
                "give --save_total_limit null."
            )
        if self.save_total_limit and averaged > self.save_total_limit:
            raise ValueError(
                f"--save_total_limit {self.save_total_limit} keeps fewer checkpoints than the {averaged} to average."
            )
        if averaged and self.save_strategy == "no":
            raise ValueError("--save_strategy no leaves no checkpoints to average: give steps or epoch.")
        choosing = {
            "early_stopping_patience": self.early_stopping_patience,
            "average_best_checkpoints": self.average_best_checkpoints,
            "save_strategy best": self.save_strategy == "best",
        }
        for name in (name for name, chooses in choosing.items() if chooses):
            if self.eval_strategy == "no":
                raise ValueError(f"--{name} compares evaluations, and --eval_strategy is no: give steps or epoch.")
            if not self.metric_for_best_model:
                raise ValueError(f"--{name} compares scores: name one with --metric_for_best_model, such as loss.")

    def _check_optimizer(self) -> None:
        """Check that the optimizer and the schedule take their options, by making them for a single number."""
        named = f"--optim {self.optim.value}" if self.optim != "muon" else ""
        named += f" with --optim_args {self.optim_args}" if self.optim_args else ""
        try:
            if self.optim != "muon" and not self.optim_target_modules:  # with these, transformers asks for the model
                Trainer.get_optimizer_cls_and_kwargs(self)
            kwargs = self.lr_scheduler_kwargs
            named = f"--lr_scheduler_type {self.lr_scheduler_type.value}"
            named += f" with --lr_scheduler_kwargs {json.dumps(kwargs)}" if kwargs else ""
            get_scheduler(
                self.lr_scheduler_type,
                torch.optim.SGD([torch.zeros(1)], lr=self.learning_rate or 1.0),
                num_warmup_steps=1,
                num_training_steps=2,
                scheduler_specific_kwargs=kwargs,
            )
        except (ImportError, TypeError, ValueError) as error:
            raise ValueError(f"{named}: {error}") from None

    def push_options(self) -> dict[str, Any]:
        """Return the repository on the Hub and the options of a push, as [`check_pushable`] takes them."""
        return {
            "repo_id": self.hub_model_id or Path(self.output_dir).name,
            "private": self.hub_private_repo is not False,
            "replace": self.replace_on_hub,
            "token": self.hub_token,
        }

    def settle_schedule(self, hidden_size: int, steps: int) -> None:
        """Set warm-up and learning rate for a complete run, unless given (Vaswani et al., 2017, equation 3)."""
        if self.warmup_steps is None:
            self.warmup_steps = max(1, min(4000, steps // 10))
        if self.learning_rate is None:
            self.learning_rate = (hidden_size * max(1, self.get_warmup_steps(steps))) ** -0.5

    def report_unfinished_warmup(self, steps: int) -> None:
        """Warn in the main process if a run ends within its warm-up: its learning rate never reaches its peak."""
        warmup = self.get_warmup_steps(steps)
        if steps <= warmup and self.lr_scheduler_type not in _WITHOUT_WARMUP and self.process_index == 0:
            print(
                f"The warm-up has {warmup:,} steps and the run only {steps:,}: the learning rate never reaches "
                f"{self.learning_rate:g}. Lower --warmup_steps, or raise --max_steps or --num_train_epochs.",
                flush=True,
            )


@dataclass
class Seq2SeqRecipeArguments(RecipeArguments, Seq2SeqTrainingArguments):
    """`RecipeArguments` with transformers' options for generation during evaluation, and one of the decoder."""

    predict_with_generate: Annotated[bool, Mark.INCIDENTAL, Mark.HIDDEN, "generate at each evaluation"] = True
    decoder_mask_probability: Annotated[
        float,
        BELOW_1,
        "share of the target's earlier tokens that the decoder does not see in training, which makes it rely on "
        "the source (word dropout); they are replaced by <mask>",
    ] = 0.0


def _check_object(name: str, value: Any) -> None:
    """Check an option of transformers that is a JSON object or, for some, a file with one."""
    if not isinstance(value, str):
        return
    try:
        if not value.startswith("{") and name in ("accelerator_config", "fsdp_config", "deepspeed"):
            value = Path(value).read_text(encoding="utf-8")
        if isinstance(json.loads(value), dict):
            return
        problem: object = "found something else"
    except (OSError, ValueError, RecursionError) as error:
        problem = error
    raise ValueError(f'--{name} {value}: expected a JSON object, such as {{"name": 1}}: {problem}')
