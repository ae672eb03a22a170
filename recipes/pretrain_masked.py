# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["atenta[recipes]"]
#
# [tool.uv.sources]
# atenta = { path = "..", editable = true }  # this clone; UV_NO_SOURCES=1 takes the package from an index
# ///
"""Pre-train an encoder on masked characters and next-sentence prediction (document 5; BERT: Devlin et al., 2019).

By default it is trained on tales and novels of Machado de Assis. With --train_file and --validation_file (txt, or csv,
tsv, jsonl, parquet with a column `text`) or --dataset_name it is trained on your own texts. Each line is a sentence.
"""

import atenta.recipes.terminal  # noqa: F401  # first, because the others take seconds

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from transformers import EvalPrediction

from atenta.recipes.baselines import most_frequent_character, unigram_characters
from atenta.recipes.option_annotations import FROM_0, FROM_1, PROBABILITY, SHARE
from atenta.recipes.reading.load import describe_data, encode_rows, report_rows
from atenta.recipes.reading.splits import Rows
from atenta.recipes.tasks.documents import DocumentArguments, load_documents
from atenta.recipes.tasks.masking import MaskingCollator, make_sentence_pairs
from atenta.recipes.training.logit_reductions import masked_sums
from atenta.recipes.training.models import load_or_create
from atenta.recipes.training.options import EncoderArguments, RecipeArguments
from atenta.recipes.training.parsing import parse_arguments
from atenta.recipes.training.results import report_saved, save_run
from atenta.recipes.training.runs import run_recipe, start_run
from atenta.recipes.training.trainer import RecipeTrainer, check_metric

_SCORES = ("masked_accuracy", "bits_per_masked_character", "next_sentence_accuracy")


@dataclass
class MaskingArguments:
    """Masking of the texts."""

    _argument_group_name = "masking"

    mlm_probability: Annotated[float, SHARE, "share of the characters that is predicted"] = 0.15
    whole_word_probability: Annotated[
        float, PROBABILITY, "share of the words that are masked as a whole instead of by characters"
    ] = 0.5
    mean_span_words: Annotated[
        float, FROM_1, "mean number of consecutive words, with spaces, that are masked together"
    ] = 1.0
    num_words: Annotated[int, FROM_0, "number of the most frequent words that are also predicted as a whole"] = 0


def main() -> None:
    """Read the texts, train, score, save."""
    dataclasses = (DocumentArguments, EncoderArguments, MaskingArguments, RecipeArguments)
    options = parse_arguments(*dataclasses, description=__doc__, default_config="pretrain_masked.yaml")
    run = start_run(*options)
    data, sizes, masking, training = options
    check_metric(training, _SCORES)
    splits = load_documents(data, training)
    words = most_frequent_words(splits["train"]["text"], masking.num_words)
    tokenizer, model = load_or_create(sizes, "pretraining", "encoder", splits["train"]["text"], num_words=len(words))
    predicted = getattr(model.config, "num_words", 0)
    if len(words) > predicted or (predicted and not words):
        raise SystemExit(
            f"--num_words {masking.num_words}: {len(words):,} words are to be predicted, and the saved model predicts "
            f"{predicted:,}; expected {'1 to ' * (predicted > 1)}{predicted:,}."
        )
    report = report_rows(splits, training, ["text"], tokenizer)
    make_pairs = partial(make_sentence_pairs, tokenizer=tokenizer, max_length=sizes.max_length, seed=training.seed)
    pairs = encode_rows(splits, training, make_pairs, data.preprocessing_num_workers)
    for split, of_split in {} if data.streaming else pairs.items():
        if 0 not in of_split["next_sentence_label"]:
            raise SystemExit(
                f"{split}: found no document of two segments, each of half of --max_length {sizes.max_length}: use "
                "longer documents, or lower --max_length."
            )
        if training.process_index == 0 and (unread := sum(of_split["unread"])):
            print(f"{split}: segments in no pair, each the last of its document: {unread:,}", flush=True)
    shares = {name: value for name, value in vars(masking).items() if name != "num_words"}
    collator = MaskingCollator(tokenizer=tokenizer, seed=training.seed, words=words, **shares)
    training.label_names = ["labels", "next_sentence_label"]  # of words there are labels only with --num_words
    trainer = RecipeTrainer(model, training, tokenizer, pairs, collator, score_masked, masked_sums)
    trainer.fit(run)

    compared = {
        "most frequent": score_most_frequent(splits, pairs),
        "model": score_masked(trainer.predict(pairs["test"])),
    }
    save_run(trainer, scores=compared, about=describe_data(data, report))
    report_saved(trainer)


def most_frequent_words(texts: Iterable[str], count: int) -> list[str]:
    """Return the most frequent runs of letters and digits of texts, in the order of their frequency."""
    counts: Counter[str] = Counter()
    for text in texts if count else ():
        counts.update(re.findall(r"[^\W_]+", unicodedata.normalize("NFC", text)))
    return [word for word, _ in counts.most_common(count)]


def score_masked(evaluated: EvalPrediction) -> dict[str, float]:
    """Score the sums that `masked_sums` returns for all pairs, (pairs, 4)."""
    masked, correct, nats, order_correct = evaluated.predictions.sum(0, dtype=float).tolist()
    bits = nats / masked / math.log(2)
    return dict(zip(_SCORES, (correct / masked, bits, order_correct / len(evaluated.predictions))))


def score_most_frequent(splits: Mapping[str, Rows], pairs: Mapping[str, Rows]) -> dict[str, float]:
    """Score the prediction of characters by their frequency in training, and of the order by the majority.

    All characters of the test texts are predicted, not only a masked sample of them.
    """
    train, text = splits["train"]["text"], unicodedata.normalize("NFC", "\n".join(splits["test"]["text"]))
    majority = Counter(pairs["train"]["next_sentence_label"]).most_common(1)[0][0]
    order = list(pairs["test"]["next_sentence_label"])
    accuracy = text.count(most_frequent_character(train)) / len(text)
    bits = unigram_characters(train, [text])[0] / len(text) / math.log(2)
    return dict(zip(_SCORES, (accuracy, bits, order.count(majority) / len(order))))


if __name__ == "__main__":
    run_recipe(main)
