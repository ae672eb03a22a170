# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["atenta[recipes]"]
#
# [tool.uv.sources]
# atenta = { path = "..", editable = true }  # this clone; UV_NO_SOURCES=1 takes the package from an index
# ///
"""Fine-tune an encoder, or train a new one, to classify texts or pairs of texts (document 5).

By default the labels are the languages of words: Italian, French or Portuguese. With --train_file and
--validation_file (tsv, csv, jsonl, parquet with columns `text`, `label` and, for pairs, `text_pair`) or --dataset_name
it is trained on your own labels, such as sentiment.
"""

import atenta.recipes.terminal  # noqa: F401  # first, because the others take seconds

from functools import partial
from itertools import chain
from pathlib import Path

from transformers import DataCollatorWithPadding, EvalPrediction

from atenta.recipes.pictures.run_charts import draw_confusion
from atenta.recipes.reading.load import describe_data, encode_rows, load_rows, report_rows
from atenta.recipes.reading.splits import DataArguments
from atenta.recipes.tasks.classification import LABELLED_TEXTS, ClassificationTask, encode_labelled
from atenta.recipes.tasks.task import distinct_names
from atenta.recipes.training.logit_reductions import best_classes
from atenta.recipes.training.models import label_options, load_or_create, report_misspelt
from atenta.recipes.training.options import EncoderArguments, RecipeArguments
from atenta.recipes.training.parsing import parse_arguments
from atenta.recipes.training.results import report_saved, save_run
from atenta.recipes.training.runs import run_recipe, start_run
from atenta.recipes.training.trainer import RecipeTrainer, check_metric


def main() -> None:
    """Read the texts, train, score, draw the confusion matrix, save."""
    dataclasses = (DataArguments, EncoderArguments, RecipeArguments)
    data, sizes, training = parse_arguments(*dataclasses, description=__doc__, default_config="languages.yaml")
    run = start_run(data, sizes, training)
    check_metric(training, ClassificationTask().score([{"label": "a"}], ["a"]))
    splits = load_rows(data, training, LABELLED_TEXTS)
    texts = (row["text"] + (row["text_pair"] or "") for row in splits["train"])
    if training.process_index == 0:
        report_misspelt("label", {split: distinct_names(rows, "label") for split, rows in splits.items()})
    head = label_options(distinct_names(chain(*splits.values()), "label"))
    tokenizer, model = load_or_create(sizes, ClassificationTask.kind, "encoder", texts, **head)
    labels = model.config.id2label  # a saved classifier keeps its labels
    has_pairs = any(row["text_pair"] is not None for row in chain(*splits.values()))
    task = ClassificationTask(text_pairs=has_pairs)
    model.config.task_specific_params = task.task_specific_params
    if len(labels) < 2:
        raise SystemExit(f"Found the label {labels[0]!r} alone in all rows; expected at least two to tell apart.")
    columns = ["text", "text_pair"] if has_pairs else ["text"]
    report = report_rows(splits, training, columns, tokenizer, max_length=sizes.max_length, inputs=[columns])
    encode = partial(encode_labelled, tokenizer=tokenizer, label2id=model.config.label2id)
    encoded = encode_rows(splits, training, encode, data.preprocessing_num_workers)
    collator = DataCollatorWithPadding(tokenizer)

    def compute_metrics(evaluated: EvalPrediction) -> dict[str, float]:
        return task.score(splits["validation"], [labels[index] for index in evaluated.predictions])

    trainer = RecipeTrainer(model, training, tokenizer, encoded, collator, compute_metrics, best_classes)
    trainer.fit(run)

    gold = list(splits["test"]["label"])
    output = [labels[index] for index in trainer.predict(encoded["test"]).predictions]
    compared = task.compare(splits["test"], output, task.baselines(splits["train"]))
    if trainer.is_world_process_zero():
        confusion = draw_confusion(gold, output, sorted(labels.values()))
        confusion.savefig(Path(training.output_dir, "confusion.png"), dpi=150)
    predictions = {**{name: splits["test"][name] for name in columns}, "output": output, "gold": gold}
    save_run(trainer, scores=compared, predictions=predictions, about=describe_data(data, report))
    report_saved(trainer, None if has_pairs else min(predictions["text"], key=len))


if __name__ == "__main__":
    run_recipe(main)
