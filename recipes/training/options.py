"""Options that all recipes share: those of a model, and those of training with Vaswani's defaults."""

from dataclasses import dataclass, field

import torch
from transformers import Seq2SeqTrainingArguments, TrainingArguments

# Of transformers' many options those that a recipe's --help shows.
SHOWN_IN_HELP = {
    *("output_dir", "overwrite_output_dir", "resume_from_checkpoint", "seed", "report_to", "push_to_hub"),
    *("num_train_epochs", "max_steps", "per_device_train_batch_size", "max_tokens_per_batch"),
    *("per_device_eval_batch_size", "gradient_accumulation_steps", "learning_rate", "lr_scheduler_type"),
    *("warmup_steps", "weight_decay", "adam_beta1", "adam_beta2", "adam_epsilon", "max_grad_norm"),
    *("label_smoothing_factor", "bf16", "fp16", "gradient_checkpointing", "torch_compile"),
    *("logging_steps", "eval_strategy", "eval_steps", "save_strategy", "save_steps", "save_total_limit"),
    *("load_best_model_at_end", "metric_for_best_model", "greater_is_better", "early_stopping_patience"),
    *("average_last_checkpoints", "average_best_checkpoints"),
}


@dataclass
class ModelArguments:
    """Size and kind of a new model, as in its configuration class, or an old one to go on from."""

    _argument_group_name = "model"

    model_name_or_path: str | None = field(
        default=None, metadata={"help": "go on from this model, whose kind and sizes stay; no new one is made"}
    )
    hidden_size: int = field(default=512, metadata={"help": "width of the vectors between blocks"})
    num_attention_heads: int = field(default=8, metadata={"help": "heads of each attention layer"})
    intermediate_size: int = field(default=2048, metadata={"help": "inner width of the feed-forward network"})
    dropout: float = field(default=0.1, metadata={"help": "on each sub-layer's output and on the embeddings"})
    hidden_act: str = field(default="relu", metadata={"help": "activation of the feed-forward network"})
    norm_first: bool = field(default=False, metadata={"help": "LayerNorm before each sub-layer, not after"})
    position_embedding_type: str = field(default="sinusoidal", metadata={"help": "sinusoidal, learned or rotary"})
    tie_word_embeddings: bool = field(default=False, metadata={"help": "one matrix for embeddings and output layer"})
    initializer_range: float = field(default=0.02, metadata={"help": "standard deviation of the initial weights"})
    max_length: int = field(
        default=1024, metadata={"help": "longest text in tokens, special ones included; longer rows are an error"}
    )
    lora_rank: int | None = field(
        default=None, metadata={"help": "train low-rank updates of this rank beside the frozen weights (LoRA)"}
    )


@dataclass
class StackArguments(ModelArguments):
    """The model of one stack: an encoder or a decoder."""

    num_hidden_layers: int = field(default=6, metadata={"help": "blocks"})


@dataclass
class TwoStackArguments(ModelArguments):
    """The model of two stacks: an encoder and a decoder."""

    encoder_layers: int = field(default=6, metadata={"help": "encoder blocks"})
    decoder_layers: int = field(default=6, metadata={"help": "decoder blocks"})


@dataclass
class RecipeArguments(TrainingArguments):
    """transformers' options with the defaults of Vaswani et al. (2017, section 5.3), and what recipes add."""

    _argument_group_name = "training"

    learning_rate: float | None = field(
        default=None,
        metadata={"help": "highest rate; None: (hidden_size * warmup_steps) ** -0.5, as in Vaswani et al. (2017)"},
    )
    lr_scheduler_type: str = field(
        default="inverse_sqrt", metadata={"help": "after the warm-up: inverse_sqrt (Noam), cosine, linear, constant…"}
    )
    warmup_steps: float | None = field(
        default=None,
        metadata={"help": "steps in which the rate rises; below 1 a share; None: 4,000, at most a tenth of the run"},
    )
    adam_beta2: float = field(default=0.98, metadata={"help": "Adam's memory of squared gradients"})
    adam_epsilon: float = field(default=1e-9, metadata={"help": "Adam's guard against division by zero"})
    max_tokens_per_batch: int | None = field(
        default=None,
        metadata={
            "help": "tokens, padding included, that a process holds at a time, of source and target together; "
            "None: per_device_train_batch_size texts"
        },
    )
    early_stopping_patience: int | None = field(
        default=None, metadata={"help": "stop after so many evaluations without a better score"}
    )
    average_last_checkpoints: int | None = field(
        default=None, metadata={"help": "keep the mean of the weights of the last N checkpoints"}
    )
    average_best_checkpoints: int | None = field(
        default=None, metadata={"help": "keep the mean of the weights of the best N checkpoints"}
    )
    overwrite_output_dir: bool = field(
        default=False, metadata={"help": "delete the checkpoints in output_dir and train anew"}
    )
    logging_nan_inf_filter: bool = field(
        default=False, metadata={"help": "log the running mean in place of a loss that is not a number"}
    )
    restore_callback_states_from_checkpoint: bool = field(
        default=True, metadata={"help": "go on with the patience of early stopping, too"}
    )

    def __post_init__(self) -> None:
        """Fill in what depends on the machine.

        Raises:
            ValueError: options that exclude each other.
        """
        automatic_warmup = self.warmup_steps is None
        self.warmup_steps = self.warmup_steps or 0  # the parent compares it with numbers
        super().__post_init__()
        if automatic_warmup:
            self.warmup_steps = None
        self.dataloader_pin_memory &= torch.cuda.is_available()
        if self.average_last_checkpoints and self.average_best_checkpoints:
            raise ValueError("Give one of --average_last_checkpoints and --average_best_checkpoints.")
        averaged = self.average_last_checkpoints or self.average_best_checkpoints or 0
        if self.save_total_limit and averaged > self.save_total_limit:
            raise ValueError(
                f"--save_total_limit {self.save_total_limit} keeps fewer checkpoints than the {averaged} to average."
            )

    def settle_schedule(self, hidden_size: int, steps: int) -> None:
        """Fill in what was left to the run's length: warm-up and learning rate (Vaswani et al., 2017, equation 3).

        Args:
            hidden_size: width of the model.
            steps: optimizer steps of the whole run.
        """
        if self.warmup_steps is None:
            self.warmup_steps = max(1, min(4000, steps // 10))
        if self.learning_rate is None:
            self.learning_rate = (hidden_size * max(1, self.get_warmup_steps(steps))) ** -0.5


@dataclass
class Seq2SeqRecipeArguments(RecipeArguments, Seq2SeqTrainingArguments):
    """`RecipeArguments` with transformers' options for generating while evaluating."""
