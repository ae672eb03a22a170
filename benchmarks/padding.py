"""Share of padding in the recipes' batches on their sample data: texts of like length, and in random order."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import datasets
import torch
import yaml
from transformers import TrainingArguments

from atenta.recipes.reading import DataArguments, labelled, load, pairs, tagged
from atenta.recipes.reading.conll import read_conll, read_conllu
from atenta.recipes.training.batching import BucketBatchSampler
from atenta.recipes.training.command_line import CONFIGS
from benchmarks.results import OURS, Target, Work
from benchmarks.settings import Settings

SECONDS = 10
TARGET = Target(5, kind="figure")


def run(settings: Settings) -> Iterator[Work]:
    """Count percent of an epoch's tokens. There is nothing to repeat: no clock is read."""
    datasets.disable_progress_bars()
    pair = partial(_load, check=pairs.check, features=pairs.FEATURES, columns=["source", "target"])
    readers = {".conll": read_conll, ".conllu": partial(read_conllu, tag_column="upos")}
    words = partial(_load, check=tagged.check, features=tagged.FEATURES, columns=["words", "tags"], readers=readers)
    text = partial(_load, check=labelled.check, features=labelled.FEATURES, columns=["text", "label"])
    tasks: Mapping[str, tuple[Callable[[str], Any], Callable[[dict], tuple[int, ...]]]] = {
        "accents": (pair, _of_pair),
        "french_g2p": (pair, _of_pair),
        "italian_g2p": (pair, _of_pair),
        "hebrew": (pair, _of_pair),
        "lener": (words, lambda row: (len(" ".join(row["words"])) + 2,)),
        "bosque": (words, lambda row: (len(" ".join(row["words"])) + 2,)),
        "languages": (text, lambda row: (len(row["text"]) + 2,)),
    }
    for config, (read, lengths_of) in tasks.items():
        options = yaml.safe_load((CONFIGS / f"{config}.yaml").read_text(encoding="utf-8"))
        lengths = [lengths_of(row) for row in read(options["sample"])]
        sampler = BucketBatchSampler(
            lengths,
            batch_size=options.get("per_device_train_batch_size", 8),
            max_tokens=options.get("max_tokens_per_batch"),
        )
        shares = {OURS: sampler.padding_share(), "random order": random_padding_share(lengths, len(sampler))}
        figures = {name: [100 * share] for name, share in shares.items()}
        yield Work(f"padding, {config}", "% of tokens", figures, [TARGET])


def random_padding_share(lengths: Sequence[Sequence[int]], batches: int) -> float:
    """Return the share of padding in as many batches of equally many texts, drawn in random order."""
    table = torch.tensor(lengths)
    order = torch.randperm(len(table), generator=torch.Generator().manual_seed(0))
    drawn = table[order].tensor_split(batches)
    padded = sum(len(batch) * batch.amax(0).sum().item() for batch in drawn)
    return 1 - table.sum().item() / padded


def _of_pair(row: dict[str, Any]) -> tuple[int, int]:
    return len(row["source"]) + 1, len(row["target"]) + 1  # with its <eos>


def _load(sample: str, **options: Any) -> Any:
    with TemporaryDirectory() as folder:
        training = TrainingArguments(output_dir=folder, use_cpu=True)
        return load(DataArguments(sample=sample), training, **options)["train"]
