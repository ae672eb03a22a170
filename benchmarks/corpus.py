"""Encoding a corpus for training: the table of characters, alone and under the recipes' packing, against ByT5's."""

from collections.abc import Callable, Iterator
from functools import partial
from tempfile import TemporaryDirectory

import datasets
from transformers import ByT5Tokenizer, TrainingArguments

from atenta import CharacterTable
from atenta.recipes.encoding.packing import pack
from atenta.recipes.reading.load import encode
from benchmarks.measure import interleave, timed
from benchmarks.results import OURS, Target, Work
from benchmarks.settings import Settings
from benchmarks.texts import works
from benchmarks.tokenizers import ours

SECONDS = 25
ROUNDS = 3
CHARACTERS = 100_000_000
PEER_CHARACTERS = 400_000  # about a second of it; a rate does not depend on how long the text is
PEER = "ByT5, one process, in memory"
FASTER = Target(100, PEER)


def run(settings: Settings) -> Iterator[Work]:
    """Measure millions of characters a second: one process from text to ids, and all of them from disk to disk."""
    texts = works()
    tokenizer, peer = ours(texts), ByT5Tokenizer()
    table = CharacterTable(tokenizer)
    sample = _cut(texts, PEER_CHARACTERS)
    rounds = settings.rounds or ROUNDS

    def encode_alone() -> None:
        for text in texts:
            table.encode(text)

    byt5 = partial(_rate, sample, lambda: peer(sample))
    name = "corpus to ids by the table, one process, in memory"
    figures = interleave({OURS: partial(_rate, texts, encode_alone), PEER: byt5}, rounds, name)
    yield Work(name, "Mchar/s", figures, [FASTER], more_is_better=True)

    corpus = texts * -(-CHARACTERS // sum(map(len, texts)))
    with TemporaryDirectory() as folder:
        datasets.Dataset.from_dict({"text": corpus}).save_to_disk(folder)
        rows = datasets.load_from_disk(folder)  # memory-mapped, as what a recipe has read is
        training = TrainingArguments(output_dir=folder, use_cpu=True)
        function = partial(pack, tokenizer=tokenizer, block_size=1024)
        datasets.disable_caching()  # a round would find what the one before has written
        datasets.disable_progress_bars()
        name = f"corpus of {CHARACTERS // 10**6} Mchar to packed rows, {settings.threads} processes, disk to disk"
        packed = partial(_rate, corpus, lambda: encode({"train": rows}, training, function, settings.threads))
        figures = interleave({OURS: packed, PEER: byt5}, rounds, name)
        datasets.enable_caching()
    yield Work(name, "Mchar/s", figures, [FASTER, Target(50, kind="figure")], more_is_better=True)


def _cut(texts: list[str], characters: int) -> list[str]:
    whole = "".join(texts)[:characters]
    return [whole[start : start + 1000] for start in range(0, len(whole), 1000)]


def _rate(texts: list[str], function: Callable[[], object]) -> float:
    return sum(map(len, texts)) / 1e6 / timed(function, lambda: None)
