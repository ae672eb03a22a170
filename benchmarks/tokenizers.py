"""Tokenizers as `AutoTokenizer` loads them, on a batch of ordinary sentences."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from transformers import AutoTokenizer, ByT5Tokenizer, CanineTokenizer, PreTrainedTokenizerBase

from atenta import AtentaTokenizer
from benchmarks.measure import interleave, timed
from benchmarks.results import OURS, Target, Work
from benchmarks.settings import Settings
from benchmarks.texts import sentences

SECONDS = 12
ROUNDS = 11
BATCHES = (32, 1000)  # sentences: a batch of training, and of `Dataset.map`
SENTENCES = 2000  # that each contestant reads in a round


def run(settings: Settings) -> Iterator[Work]:
    """Measure millions of characters a second."""
    texts = sentences(SENTENCES)
    with TemporaryDirectory() as folder:
        contestants = load({OURS: ours(texts), "ByT5": ByT5Tokenizer(), "CANINE": CanineTokenizer()}, Path(folder))
    for size in BATCHES:
        batches = [texts[start : start + size] for start in range(0, len(texts), size)]
        rates = {name: partial(_rate, tokenizer, batches) for name, tokenizer in contestants.items()}
        name = f"tokenizer, batches of {size:,} sentences"
        figures = interleave(rates, settings.rounds or ROUNDS, name)
        yield Work(name, "Mchar/s", figures, [Target(3, "ByT5"), Target(3, "CANINE")], more_is_better=True)


def ours(texts: list[str]) -> AtentaTokenizer:
    """Return a tokenizer of the characters of texts."""
    return AtentaTokenizer.from_texts(texts, family="decoder")


def load(tokenizers: Mapping[str, PreTrainedTokenizerBase], folder: Path) -> dict[str, PreTrainedTokenizerBase]:
    """Return tokenizers as `AutoTokenizer` loads them from a folder each."""
    for name, tokenizer in tokenizers.items():
        tokenizer.save_pretrained(folder / name)
    return {name: AutoTokenizer.from_pretrained(folder / name) for name in tokenizers}


def _rate(tokenizer: PreTrainedTokenizerBase, batches: list[list[str]]) -> float:
    def read() -> None:
        for batch in batches:
            tokenizer(batch)

    return sum(len(text) for batch in batches for text in batch) / 1e6 / timed(read, lambda: None)
