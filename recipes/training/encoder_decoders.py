"""The steps of the encoder-decoders' recipes: training, scored by generated texts, and the texts of the tests.

A row has a `source`, a `target` and the `tags` of the source.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Annotated, Any

import numpy as np
from datasets import Dataset
from peft import PeftModel
from transformers import DataCollatorForSeq2Seq, EvalPrediction, PreTrainedModel, PreTrainedTokenizerBase

from atenta.engines.saved_model import learned_positions
from atenta.recipes.decoding.generation import decode_n_best, n_best_columns
from atenta.recipes.option_annotations import FROM_1, Mark
from atenta.recipes.reading.splits import Rows
from atenta.recipes.source_metrics import check_metrics, score_texts
from atenta.recipes.training.options import Seq2SeqRecipeArguments
from atenta.recipes.training.results import print_examples, save_tests
from atenta.recipes.training.runs import Run
from atenta.recipes.training.trainer import Seq2SeqRecipeTrainer, check_metric
from atenta.tokenization.text_windows import GeneratedText

_EXAMPLES = 10  # rows of the test printed at the end


@dataclass
class DecodingArguments:
    """The search for outputs, and how they are scored.

    Raises:
        ValueError: If a metric is unknown, is not of pairs of texts or is named twice, or none is, or more outputs are
            requested than the search can find.
    """

    _argument_group_name = "decoding"

    metrics: Annotated[
        list[str], Mark.AFTER_TRAINING, "metrics of recipes/metrics.py or source_metrics.py that score the outputs"
    ] = field(default_factory=lambda: ["exact_match", "character_error_rate"])
    num_beams: Annotated[int, FROM_1, Mark.INCIDENTAL, "width of the beam search on the test set; 1 is greedy"] = 1
    num_return_sequences: Annotated[
        int, FROM_1, Mark.INCIDENTAL, "number of outputs for each source in predictions.tsv"
    ] = 1
    max_eval_samples: Annotated[
        int | None,
        FROM_1,
        Mark.AFTER_TRAINING,
        "validation rows of each evaluation during training, for its loss too, spread over their file; None: all",
    ] = None

    def __post_init__(self) -> None:
        check_metrics(self.metrics)
        if self.num_return_sequences > self.num_beams:
            raise ValueError(
                f"--num_return_sequences {self.num_return_sequences} asks for more outputs than --num_beams "
                f"{self.num_beams} can find: raise --num_beams."
            )


def train_to_generate(
    run: Run,
    model: PreTrainedModel | PeftModel,
    training: Seq2SeqRecipeArguments,
    tokenizer: PreTrainedTokenizerBase,
    encoded: Mapping[str, Rows],
    collator: DataCollatorForSeq2Seq,
    search: DecodingArguments,
    *,
    length_columns: Sequence[str] = ("input_ids", "labels"),
) -> Seq2SeqRecipeTrainer:
    """Train an encoder-decoder, scored at each evaluation by what it generates greedily, and return its trainer."""
    longest = 2 * max(map(len, chain(encoded["validation"]["labels"], encoded["test"]["labels"])))
    train = encoded["train"]
    if isinstance(train, Dataset) and "labels" in train.column_names:  # neither a stream nor made at each step
        longest = max(longest, int(np.quantile([*map(len, train["labels"])], 0.999, method="higher")))
    most = learned_positions(model.config.to_dict()) or longest
    model.generation_config.max_length = min(longest, most)  # the default is 20
    model.generation_config.num_beams = 1  # also of a model that was saved with beams
    training.include_for_metrics = ["inputs"]  # some metrics need the sources
    check_metric(training, score_texts(search.metrics, sources=["a"], predictions=["a"], references=["a"]))
    validation = encoded["validation"].select(spread_over(len(encoded["validation"]), search.max_eval_samples))
    validation = validation.select(_shortest_first(validation))
    trainer = Seq2SeqRecipeTrainer(
        model,
        training,
        tokenizer,
        {**encoded, "validation": validation},
        collator,
        partial(score_generated, tokenizer=tokenizer, metrics=search.metrics),
        length_columns=length_columns,
    )
    trainer.fit(run)
    trainer.model.generation_config.num_beams = search.num_beams  # saved with the model, which is used as it is scored
    return trainer


def score_generated(
    evaluated: EvalPrediction, tokenizer: PreTrainedTokenizerBase, metrics: Sequence[str]
) -> dict[str, float]:
    """Score generated ids, (texts, length), against the labels; all are padded with `<pad>` or -100."""
    sources, predictions, references = (
        tokenizer.batch_decode(np.where(ids < 0, tokenizer.pad_token_id, ids), skip_special_tokens=True)
        for ids in (evaluated.inputs, evaluated.predictions, evaluated.label_ids)
    )
    return score_texts(metrics, sources=sources, predictions=predictions, references=references)


def decode_encoded(
    trainer: Seq2SeqRecipeTrainer, encoded: Dataset, search: DecodingArguments, keep_letters: bool = False
) -> list[list[GeneratedText]]:
    """Return the outputs for encoded sources, best first; with `keep_letters`, with the letters of their source.

    All processes share the work, the shortest sources first, and return all outputs.
    """
    order = _shortest_first(encoded)
    decoded = decode_n_best(
        trainer.model,
        trainer.get_test_dataloader(encoded.select(order)),
        trainer.processing_class,
        num_beams=search.num_beams,
        num_return_sequences=search.num_return_sequences,
        keep_letters=keep_letters,
        accelerator=trainer.accelerator,
    )
    return [outputs for _, outputs in sorted(zip(order, decoded), key=lambda pair: pair[0])]


def spread_over(rows: int, most: int | None) -> np.ndarray:
    """Return the indices of at most `most` rows, at equal distances, because the first of a sorted file are alike."""
    return np.linspace(0, rows - 1, min(rows, most or rows), dtype=int)


def _shortest_first(encoded: Dataset) -> list[int]:
    """Return the indices of rows in the order of their sources' lengths, with which batches have little padding."""
    return np.argsort(list(map(len, encoded["input_ids"])), kind="stable").tolist()


def save_decoded(
    trainer: Seq2SeqRecipeTrainer,
    score: Callable[[Sequence[Mapping[str, Any]], Sequence[str]], dict[str, float]],
    tests: Mapping[str, Sequence[Mapping[str, Any]]],
    answers: Mapping[str, Mapping[str, Sequence[str]]],
    outputs: Sequence[Sequence[GeneratedText]],
    about: Mapping[str, Any],
) -> list[tuple[Mapping[str, Any], str]]:
    """Score the answers to the tests, save the run, and print and return examples: rows and the model's answers.

    Arguments are those of [`save_tests`], but for `outputs`: all of the model for each row of `test`, best first.
    """
    save_tests(trainer, score, tests, answers, outputs=n_best_columns(outputs), about=about)
    shown = {"test": _EXAMPLES} | {name: 1 for name in tests if name != "test"}
    examples = [pair for name, count in shown.items() for pair in zip(tests[name][:count], answers[name]["model"])]
    if trainer.is_world_process_zero():
        print_examples(examples)
    return examples
