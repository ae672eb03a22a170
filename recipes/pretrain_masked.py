"""Pre-train an encoder on masked characters and next-sentence prediction (document 5; BERT: Devlin et al., 2019).

Without options it reads tales and novels of Machado de Assis. With --train_file and --validation_file (txt, or csv,
tsv, jsonl, parquet with a column `text`) or --dataset_name it reads any texts, whose lines are its sentences.
"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from transformers import AutoModelForPreTraining, EvalPrediction

from atenta.recipes.baselines import most_frequent_character, unigram_characters
from atenta.recipes.encoding.masking import MaskingCollator, make_sentence_pairs
from atenta.recipes.reading import DocumentArguments, Rows, about, encode, inspect, load_documents
from atenta.recipes.reporting.results import finish
from atenta.recipes.training import (
    RecipeArguments,
    RecipeTrainer,
    StackArguments,
    load_or_create,
    parse_arguments,
    start,
)
from atenta.recipes.training.evaluation import masked_sums


@dataclass
class MaskingArguments:
    """What is masked."""

    _argument_group_name = "masking"

    mlm_probability: float = field(default=0.15, metadata={"help": "share of the characters that is to be guessed"})
    whole_word_probability: float = field(
        default=0.5, metadata={"help": "share of the words that are masked whole, not by single characters"}
    )


def main() -> None:
    """Read the texts, train, score, save."""
    dataclasses = (DocumentArguments, StackArguments, MaskingArguments, RecipeArguments)
    options = parse_arguments(*dataclasses, description=__doc__, default_config="pretrain_masked.yaml")
    checkpoint = start(*options)
    data, sizes, masking, training = options
    splits = load_documents(data, training)
    tokenizer, model = load_or_create(sizes, AutoModelForPreTraining, "encoder", splits["train"]["text"])
    inspect(splits, training, ["text"], tokenizer)
    make_pairs = partial(make_sentence_pairs, tokenizer=tokenizer, max_length=sizes.max_length, seed=training.seed)
    pairs = encode(splits, training, make_pairs, data.preprocessing_num_workers)
    collator = MaskingCollator(tokenizer=tokenizer, seed=training.seed, **vars(masking))
    trainer = RecipeTrainer(model, training, tokenizer, pairs, collator, measure, masked_sums)
    trainer.fit(checkpoint)

    compared = {
        "most frequent": most_frequent(splits, pairs),
        "model": measure(trainer.predict(pairs["test"])),
    }
    finish(trainer, scores=compared, about=about(data))


def measure(evaluated: EvalPrediction) -> dict[str, float]:
    """Score the sums of all pairs, (pairs, 4), as `masked_sums` makes them."""
    masked, guessed, nats, in_order = evaluated.predictions.sum(0, dtype=float).tolist()
    return {
        "masked_accuracy": guessed / masked,
        "bits_per_masked_character": nats / masked / math.log(2),
        "next_sentence_accuracy": in_order / len(evaluated.predictions),
    }


def most_frequent(splits: Mapping[str, Rows], pairs: Mapping[str, Rows]) -> dict[str, float]:
    """Score what guesses each character by its frequency in training, and the order of sentences by the majority.

    Every character of the test texts is guessed, masked or not: as many as are masked, on average.
    """
    train, text = splits["train"]["text"], "\n".join(splits["test"]["text"])
    majority = Counter(pairs["train"]["next_sentence_label"]).most_common(1)[0][0]
    order = list(pairs["test"]["next_sentence_label"])
    return {
        "masked_accuracy": text.count(most_frequent_character(train)) / len(text),
        "bits_per_masked_character": unigram_characters(train, [text])[0] / len(text) / math.log(2),
        "next_sentence_accuracy": order.count(majority) / len(order),
    }


if __name__ == "__main__":
    main()
