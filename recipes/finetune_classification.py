"""Fine-tune an encoder, or train a new one, to tell texts or pairs of texts apart (document 5).

Without options it learns which language a word is: Italian, French or Portuguese. With --train_file and
--validation_file (tsv, csv, jsonl, parquet with columns `text`, `label` and, for pairs, `text_pair`) or
--dataset_name it learns any labels, such as sentiment.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from transformers import AutoModelForSequenceClassification, DataCollatorWithPadding, EvalPrediction

from atenta.recipes.baselines import majority_label
from atenta.recipes.encoding.labels import encode_labelled
from atenta.recipes.metrics import scores
from atenta.recipes.pictures.confusion import draw_confusion
from atenta.recipes.reading import DataArguments, about, encode, inspect, load
from atenta.recipes.reading.labelled import FEATURES, check, label_names
from atenta.recipes.reporting.results import finish
from atenta.recipes.training import (
    RecipeArguments,
    RecipeTrainer,
    StackArguments,
    label_options,
    load_or_create,
    parse_arguments,
    start,
)
from atenta.recipes.training.evaluation import choices


def main() -> None:
    """Read the texts, train, score, draw which labels are taken for which, save."""
    dataclasses = (DataArguments, StackArguments, RecipeArguments)
    data, sizes, training = parse_arguments(*dataclasses, description=__doc__, default_config="languages.yaml")
    checkpoint = start(data, sizes, training)
    splits = load(data, training, check=check, features=FEATURES, columns=["text", "label"], optional=["text_pair"])
    texts = (row["text"] + (row["text_pair"] or "") for row in splits["train"])
    head = label_options(label_names(chain(*splits.values())))
    tokenizer, model = load_or_create(sizes, AutoModelForSequenceClassification, "encoder", texts, **head)
    labels = model.config.id2label  # of a saved classifier its own
    columns = ["text", "text_pair"]
    inspect(splits, training, columns, tokenizer, max_length=sizes.max_length, inputs=[columns])
    label = partial(encode_labelled, tokenizer=tokenizer, label2id=model.config.label2id)
    encoded = encode(splits, training, label, data.preprocessing_num_workers)
    collator, compute = DataCollatorWithPadding(tokenizer), partial(measure, labels=labels)
    trainer = RecipeTrainer(model, training, tokenizer, encoded, collator, compute, choices)
    trainer.fit(checkpoint)

    gold = list(splits["test"]["label"])
    output = [labels[index] for index in trainer.predict(encoded["test"]).predictions]
    compared = {
        "most frequent label": compare(majority_label(splits["train"], splits["test"]), gold),
        "model": compare(output, gold),
    }
    if trainer.is_world_process_zero():
        confusion = draw_confusion(gold, output, sorted(labels.values()))
        confusion.savefig(Path(training.output_dir, "confusion.png"), dpi=150)
    predictions = {"text": splits["test"]["text"], "output": output, "gold": gold}
    finish(trainer, scores=compared, predictions=predictions, about=about(data))


def measure(evaluated: EvalPrediction, labels: Mapping[int, str]) -> dict[str, float]:
    """Score the class chosen for each text, (texts,)."""
    output, gold = ([labels[index] for index in ids] for ids in (evaluated.predictions, evaluated.label_ids))
    return compare(output, gold)


def compare(output: Sequence[str], gold: Sequence[str]) -> dict[str, float]:
    """Score labels."""
    return scores(["accuracy", "macro_f1"], predictions=output, references=gold)


if __name__ == "__main__":
    main()
