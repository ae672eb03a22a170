"""Pre-train an encoder on masked characters and next-sentence prediction (document 5; BERT: Devlin et al., 2019).

Without options it reads tales and novels of Machado de Assis. With --train_file and --validation_file (txt, or csv,
tsv, jsonl, parquet with a column `text`) or --dataset_name it reads any texts, whose lines are its sentences.
"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain

from transformers import AutoModelForPreTraining, EvalPrediction

from atenta import AtentaEncoderConfig, AtentaTokenizer
from atenta.recipes.baselines import unigram_characters
from atenta.recipes.encoding.masking import MaskingCollator, make_sentence_pairs
from atenta.recipes.reading import DocumentArguments, Rows, about, encode, inspect, load
from atenta.recipes.reading.documents import FEATURES, check, read_documents
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
    data, sizes, masking, training = options = parse_arguments(
        DocumentArguments,
        StackArguments,
        MaskingArguments,
        RecipeArguments,
        description=__doc__,
        default_config="pretrain_masked.yaml",
    )
    checkpoint = start(*options)
    readers = {".txt": partial(read_documents, sample_by=data.sample_by)}
    splits = load(data, training, check=check, features=FEATURES, columns=["text"], readers=readers)
    tokenizer, model = load_or_create(
        sizes,
        AutoModelForPreTraining,
        AtentaEncoderConfig,
        lambda: AtentaTokenizer.from_texts((row["text"] for row in splits["train"]), family="encoder"),
    )
    inspect(splits, training, ["text"], tokenizer)
    pairs = encode(
        splits,
        training,
        partial(make_sentence_pairs, tokenizer=tokenizer, max_length=sizes.max_length, seed=training.seed),
    )
    collator = MaskingCollator(
        tokenizer=tokenizer,
        seed=training.seed,
        mlm_probability=masking.mlm_probability,
        whole_word_probability=masking.whole_word_probability,
    )
    trainer = RecipeTrainer(
        model,
        training,
        tokenizer,
        pairs,
        data_collator=collator,
        preprocess_logits_for_metrics=masked_sums,
        compute_metrics=measure,
    )
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
    train, test = ((row["text"] for row in splits[name]) for name in ("train", "test"))
    counts, text = Counter(chain.from_iterable(train)), "\n".join(test)
    majority = Counter(row["next_sentence_label"] for row in pairs["train"]).most_common(1)[0][0]
    order = [row["next_sentence_label"] for row in pairs["test"]]
    return {
        "masked_accuracy": text.count(counts.most_common(1)[0][0]) / len(text),
        "bits_per_masked_character": unigram_characters(counts.elements(), [text])[0] / len(text) / math.log(2),
        "next_sentence_accuracy": order.count(majority) / len(order),
    }


if __name__ == "__main__":
    main()
