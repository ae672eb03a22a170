"""Tokenizer speed: batches of sentences through `AutoTokenizer`, and a corpus encoded for training."""

import re
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import datasets
from transformers import AutoTokenizer, ByT5Tokenizer, CanineTokenizer, PreTrainedTokenizerBase, TrainingArguments

from atenta import AtentaTokenizer, CharacterTable
from atenta.recipes.reading.load import encode_rows
from atenta.recipes.samples.files import novels
from atenta.recipes.tasks.documents import pack
from benchmarks.measuring import OURS, Settings, Work, measure, timed

TOKENIZER_ROUNDS = 11
TOKENIZER_BATCHES = (32, 1000)  # sentences: a batch of training, and a batch of `Dataset.map`
SENTENCES = 2000  # read by each contestant in a round

CORPUS_ROUNDS = 3
CORPUS_CHARACTERS = 100_000_000
PEER_CHARACTERS = 400_000  # takes about a second; the rate does not depend on the length of the text
PEER = "ByT5, one process, in memory"

_consume = deque(maxlen=0).extend  # computes each item and keeps none
_SENTENCE = re.compile(r"\S[^.!?]{20,300}[.!?]")


def novel_texts() -> list[str]:
    """Return the novels by Machado de Assis in the training split, complete."""
    return [row["text"] for row in novels()["train"]]


def novel_sentences(count: int) -> list[str]:
    """Return the first sentences of 20 to 300 characters in the novels, each on one line."""
    found = [" ".join(match.split()) for text in novel_texts() for match in _SENTENCE.findall(text)]
    return found[:count]


def measure_tokenizers(settings: Settings) -> Iterator[Work]:
    """Measure millions of characters per second of tokenizers loaded by `AutoTokenizer`."""
    texts = novel_sentences(SENTENCES)
    ours = AtentaTokenizer.from_texts(texts, family="decoder")
    contestants = {}
    with TemporaryDirectory() as folder:
        for name, tokenizer in {OURS: ours, "ByT5": ByT5Tokenizer(), "CANINE": CanineTokenizer()}.items():
            tokenizer.save_pretrained(Path(folder, name))
            contestants[name] = AutoTokenizer.from_pretrained(Path(folder, name))
    for size in TOKENIZER_BATCHES:
        rates = {name: partial(_batch_rate, tokenizer, texts, size) for name, tokenizer in contestants.items()}
        name = f"tokenizer, batches of {size:,} sentences"
        yield measure(name, "Mchar/s", rates, settings, TOKENIZER_ROUNDS, more_is_better=True)


def measure_corpus(settings: Settings) -> Iterator[Work]:
    """Measure millions of characters per second of the character table, alone and in the recipes' packing.

    The table alone runs in one process, from texts to ids in memory. Packing uses all processes, from disk to disk.
    """
    texts = novel_texts()
    tokenizer, peer = AtentaTokenizer.from_texts(texts, family="decoder"), ByT5Tokenizer()
    table = CharacterTable(tokenizer)
    sample = _cut(texts, PEER_CHARACTERS)
    byt5 = partial(_rate, sample, lambda: peer(sample))
    name = "corpus to ids by the table, one process, in memory"
    rates = {OURS: partial(_rate, texts, lambda: _consume(map(table.encode, texts))), PEER: byt5}
    yield measure(name, "Mchar/s", rates, settings, CORPUS_ROUNDS, more_is_better=True)

    corpus = texts * -(-CORPUS_CHARACTERS // sum(map(len, texts)))
    with TemporaryDirectory() as folder:
        datasets.Dataset.from_dict({"text": corpus}).save_to_disk(folder)
        rows = datasets.load_from_disk(folder)  # memory-mapped, like the data that a recipe reads
        training = TrainingArguments(output_dir=folder, use_cpu=True)
        function = partial(pack, tokenizer=tokenizer, block_size=1024)
        datasets.disable_caching()  # with a cache, each round would find the output of the previous one
        datasets.disable_progress_bars()
        millions = CORPUS_CHARACTERS // 10**6
        name = f"corpus of {millions} Mchar to packed rows, {settings.threads} processes, disk to disk"
        packed = partial(_rate, corpus, lambda: encode_rows({"train": rows}, training, function, settings.threads))
        rates = {OURS: packed, PEER: byt5}
        yield measure(name, "Mchar/s", rates, settings, CORPUS_ROUNDS, more_is_better=True)
        datasets.enable_caching()


def _cut(texts: list[str], characters: int) -> list[str]:
    joined = "".join(texts)[:characters]
    return [joined[start : start + 1000] for start in range(0, len(joined), 1000)]


def _batch_rate(tokenizer: PreTrainedTokenizerBase, texts: list[str], size: int) -> float:
    batches = [texts[start : start + size] for start in range(0, len(texts), size)]
    return _rate(texts, lambda: _consume(map(tokenizer, batches)))


def _rate(texts: list[str], function: Callable[[], object]) -> float:
    return sum(map(len, texts)) / 1e6 / timed(function, Settings())
