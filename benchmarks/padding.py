"""Padding in the recipes' batches of sample data: texts of similar length, against random order."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import datasets
import torch
import yaml
from transformers import TrainingArguments

from atenta.recipes.reading import DataArguments, RowFormat, Rows, load_rows
from atenta.recipes.reading.file_formats import read_conll, read_conllu
from atenta.recipes.tasks.classification import LABELLED_TEXTS
from atenta.recipes.tasks.tagging import TAGGED_SENTENCES
from atenta.recipes.tasks.transduction import PAIRS
from atenta.recipes.training.batching import BucketBatchSampler
from atenta.recipes.training.parsing import CONFIGS
from benchmarks.measuring import OURS, Settings, Target, Work

PADDING_TARGET = Target(5, kind="figure")


def measure_padding(settings: Settings) -> Iterator[Work]:
    """Count padding in percent of an epoch's tokens. The count is exact, so it is not repeated."""
    datasets.disable_progress_bars()
    readers = {".conll": read_conll, ".conllu": partial(read_conllu, tag_column="upos")}
    sentences = replace(TAGGED_SENTENCES, readers=readers)
    # The number of tokens of each sequence of a row, special tokens included.
    pairs = (PAIRS, lambda row: (len(row["source"]) + 1, len(row["target"]) + 1))
    tagging = (sentences, lambda row: (len(" ".join(row["words"])) + 2,))
    texts = (LABELLED_TEXTS, lambda row: (len(row["text"]) + 2,))
    tasks: dict[str, tuple[RowFormat, Callable[[dict[str, Any]], tuple[int, ...]]]] = {
        **dict.fromkeys(("accents", "french_g2p", "italian_g2p", "hebrew"), pairs),
        **dict.fromkeys(("lener", "bosque"), tagging),
        "languages": texts,
    }
    for config, (row_format, lengths_of) in tasks.items():
        options = yaml.safe_load((CONFIGS / f"{config}.yaml").read_text(encoding="utf-8"))
        lengths = [lengths_of(row) for row in _training_rows(options["sample"], row_format)]
        sampler = BucketBatchSampler(
            lengths,
            batch_size=options.get("per_device_train_batch_size", 8),
            max_tokens=options.get("max_tokens_per_batch"),
        )
        shares = {OURS: sampler.padding_share(), "random order": random_padding_share(lengths, len(sampler))}
        figures = {name: [100 * share] for name, share in shares.items()}
        yield Work(f"padding, {config}", "% of tokens", figures, [PADDING_TARGET])


def random_padding_share(lengths: Sequence[Sequence[int]], batches: int) -> float:
    """Return the share of padding if texts, of any number of sequences each, are shuffled into equal batches."""
    table = torch.tensor(lengths)
    order = torch.randperm(len(table), generator=torch.Generator().manual_seed(0))
    shuffled = table[order].tensor_split(batches)
    padded = sum(len(batch) * batch.amax(0).sum().item() for batch in shuffled)
    return 1 - table.sum().item() / padded


def _training_rows(sample: str, row_format: RowFormat) -> Rows:
    with TemporaryDirectory() as folder:
        training = TrainingArguments(output_dir=folder, use_cpu=True)
        return load_rows(DataArguments(sample=sample), training, row_format)["train"]
