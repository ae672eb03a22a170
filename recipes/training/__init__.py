"""Options, models, batches, the trainer and its checkpoints: what every recipe trains with."""

from atenta.recipes.training.command_line import parse_arguments
from atenta.recipes.training.models import label_options, load_or_create
from atenta.recipes.training.options import (
    RecipeArguments,
    Seq2SeqRecipeArguments,
    StackArguments,
    TwoStackArguments,
)
from atenta.recipes.training.start import start
from atenta.recipes.training.trainer import RecipeTrainer, Seq2SeqRecipeTrainer

__all__ = [
    "RecipeArguments",
    "RecipeTrainer",
    "Seq2SeqRecipeArguments",
    "Seq2SeqRecipeTrainer",
    "StackArguments",
    "TwoStackArguments",
    "label_options",
    "load_or_create",
    "parse_arguments",
    "start",
]
