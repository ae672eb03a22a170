"""Fine-tune an encoder, or train a new one, to tag the words of a sentence (document 5).

Without options it finds the entities of Brazilian legal texts (LeNER-Br: Luz de Araujo et al., 2018). With
--train_file and --validation_file (CoNLL, or CoNLL-U and --tag_column) or --dataset_name it learns any tags; those of
the form B-X, I-X and O are scored as entities. Words are read as characters, and tagged at their first one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain

from transformers import AutoModelForTokenClassification, DataCollatorForTokenClassification, EvalPrediction

from atenta.recipes.baselines import most_frequent_tags
from atenta.recipes.encoding.words import align_tags, read_tags
from atenta.recipes.metrics import scores
from atenta.recipes.reading import DataArguments, about, encode, inspect, load
from atenta.recipes.reading.conll import read_conll, read_conllu
from atenta.recipes.reading.tagged import FEATURES, check, tag_names
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
from atenta.recipes.training.evaluation import choices, expect_metric


@dataclass
class SentenceArguments(DataArguments):
    """Which sentences are read."""

    tag_column: str = field(default="upos", metadata={"help": "column of a CoNLL-U file that holds the tags"})


def main() -> None:
    """Read the sentences, train, score, save."""
    dataclasses = (SentenceArguments, StackArguments, RecipeArguments)
    data, sizes, training = parse_arguments(*dataclasses, description=__doc__, default_config="lener.yaml")
    checkpoint = start(data, sizes, training)
    readers = {".conll": read_conll, ".conllu": partial(read_conllu, tag_column=data.tag_column)}
    splits = load(data, training, check=check, features=FEATURES, columns=["words", "tags"], readers=readers)
    sentences = (" ".join(row["words"]) for row in splits["train"])
    head = label_options(tag_names(chain(*splits.values())))
    tokenizer, model = load_or_create(sizes, AutoModelForTokenClassification, "encoder", sentences, **head)
    tags = model.config.id2label  # of a saved tagger its own
    inspect(splits, training, ["words"], tokenizer, max_length=sizes.max_length)
    align = partial(align_tags, tokenizer=tokenizer, label2id=model.config.label2id)
    encoded = encode(splits, training, align, data.preprocessing_num_workers)
    collator = DataCollatorForTokenClassification(tokenizer)
    expect_metric(training, compare(splits["validation"]["tags"], splits["validation"]["tags"]))
    trainer = RecipeTrainer(model, training, tokenizer, encoded, collator, partial(measure, tags=tags), choices)
    trainer.fit(checkpoint)

    gold, evaluated = list(splits["test"]["tags"]), trainer.predict(encoded["test"])
    output = read_tags(evaluated.predictions, evaluated.label_ids, tags)
    compared = {
        "most frequent tag of each word": compare(most_frequent_tags(splits["train"], splits["test"]), gold),
        "model": compare(output, gold),
    }
    columns = {"words": splits["test"]["words"], "output": output, "gold": gold}
    predictions = {name: [" ".join(words) for words in rows] for name, rows in columns.items()}
    finish(trainer, scores=compared, predictions=predictions, about=about(data))


def measure(evaluated: EvalPrediction, tags: Mapping[int, str]) -> dict[str, float]:
    """Score the tag chosen at each character, (sentences, length), where a word starts."""
    gold = evaluated.label_ids
    return compare(read_tags(evaluated.predictions, gold, tags), read_tags(gold, gold, tags))


def compare(output: Sequence[list[str]], gold: Sequence[list[str]]) -> dict[str, float]:
    """Score the tags of sentences: each by itself, and as entities where they are B-X, I-X and O."""
    entities = all(tag == "O" or tag[:2] in ("B-", "I-") for sentence in gold for tag in sentence)
    return scores(["entity_f1", "tag_accuracy"][not entities :], predictions=output, references=gold)


if __name__ == "__main__":
    main()
