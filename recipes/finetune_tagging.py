# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["atenta[recipes]"]
#
# [tool.uv.sources]
# atenta = { path = "..", editable = true }  # this clone; UV_NO_SOURCES=1 takes the package from an index
# ///
"""Fine-tune an encoder, or train a new one, to tag the words of a sentence (document 5).

By default the tags are the entities of Brazilian legal texts (LeNER-Br: Luz de Araujo et al., 2018). With --train_file
and --validation_file (CoNLL, or CoNLL-U and --tag_column) or --dataset_name it is trained on your own tags. Tags of
the form B-X, I-X and O are scored as entities. The model reads characters and tags each word at its first one.
"""

import atenta.recipes.terminal  # noqa: F401  # first, because the others take seconds

from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Annotated

from transformers import DataCollatorForTokenClassification, EvalPrediction

from atenta.recipes.reading.load import describe_data, encode_rows, load_rows, report_rows
from atenta.recipes.reading.splits import DataArguments
from atenta.recipes.tasks.tagging import TaggingTask, encode_tagged, tags_of_words
from atenta.recipes.tasks.task import distinct_names
from atenta.recipes.training.logit_reductions import best_classes
from atenta.recipes.training.models import label_options, load_or_create, report_misspelt
from atenta.recipes.training.options import EncoderArguments, RecipeArguments
from atenta.recipes.training.parsing import parse_arguments
from atenta.recipes.training.results import report_saved, save_run
from atenta.recipes.training.runs import run_recipe, start_run
from atenta.recipes.training.trainer import RecipeTrainer, check_metric


@dataclass
class SentenceArguments(DataArguments):
    """Data of tagged sentences."""

    tag_column: Annotated[str, "column of a CoNLL-U file that holds the tags"] = "upos"


def main() -> None:
    """Read the sentences, train, score, save."""
    dataclasses = (SentenceArguments, EncoderArguments, RecipeArguments)
    data, sizes, training = parse_arguments(*dataclasses, description=__doc__, default_config="lener.yaml")
    run = start_run(data, sizes, training)
    task = TaggingTask(tag_column=data.tag_column)
    splits = load_rows(data, training, task.row_format)
    check_metric(training, task.score(splits["validation"], splits["validation"]["tags"]))
    sentences = (" ".join(row["words"]) for row in splits["train"])
    if training.process_index == 0:
        report_misspelt("tag", {split: distinct_names(rows, "tags") for split, rows in splits.items()})
    head = label_options(distinct_names(chain(*splits.values()), "tags"))
    tokenizer, model = load_or_create(sizes, TaggingTask.kind, "encoder", sentences, **head)
    tags = model.config.id2label  # a saved tagger keeps its tags
    model.config.task_specific_params = task.task_specific_params
    report = report_rows(splits, training, ["words"], tokenizer, max_length=sizes.max_length)
    encode = partial(encode_tagged, tokenizer=tokenizer, label2id=model.config.label2id)
    encoded = encode_rows(splits, training, encode, data.preprocessing_num_workers)
    collator = DataCollatorForTokenClassification(tokenizer)

    def compute_metrics(evaluated: EvalPrediction) -> dict[str, float]:
        return task.score(splits["validation"], tags_of_words(evaluated.predictions, evaluated.label_ids, tags))

    trainer = RecipeTrainer(model, training, tokenizer, encoded, collator, compute_metrics, best_classes)
    trainer.fit(run)

    gold, evaluated = list(splits["test"]["tags"]), trainer.predict(encoded["test"])
    output = tags_of_words(evaluated.predictions, evaluated.label_ids, tags)
    compared = task.compare(splits["test"], output, task.baselines(splits["train"]))
    columns = {"words": splits["test"]["words"], "output": output, "gold": gold}
    predictions = {name: [" ".join(words) for words in rows] for name, rows in columns.items()}
    save_run(trainer, scores=compared, predictions=predictions, about=describe_data(data, report))
    report_saved(trainer, min(predictions["words"], key=len))


if __name__ == "__main__":
    run_recipe(main)
