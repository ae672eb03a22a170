"""Options, models, batches, runs, the trainer and checkpoints, shared by the recipes that train."""

from atenta.recipes.training.models import label_options, load_or_create, report_misspelt
from atenta.recipes.training.options import (
    EncoderArguments,
    RecipeArguments,
    Seq2SeqRecipeArguments,
    StackArguments,
    TwoStackArguments,
)
from atenta.recipes.training.parsing import parse_arguments
from atenta.recipes.training.runs import run_recipe, start_run
from atenta.recipes.training.trainer import RecipeTrainer, Seq2SeqRecipeTrainer

__all__ = [
    "EncoderArguments",
    "RecipeArguments",
    "RecipeTrainer",
    "Seq2SeqRecipeArguments",
    "Seq2SeqRecipeTrainer",
    "StackArguments",
    "TwoStackArguments",
    "label_options",
    "load_or_create",
    "parse_arguments",
    "report_misspelt",
    "run_recipe",
    "start_run",
]
