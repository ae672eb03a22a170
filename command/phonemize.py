"""`atenta phonemize`: texts as phones, without torch if the model is exported and onnxruntime is installed."""

from atenta.recipes.terminal import allow_interrupts

import json
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from atenta import PhonemizedText, Phonemizer
from atenta.command.text_lines import LineReader, chunks_of, print_results, warn_once
from atenta.engines.choice import EngineName, Quantization
from atenta.phonemization.portuguese_words import PHONES_FOLDER, check_phones_folder
from atenta.phonemization.readings import STRESS, plain_word

_CHUNK = 1024  # lines that are read together


def phonemize_texts(
    texts: Sequence[str],
    files: Sequence[Path],
    model: str | None,
    *,
    variant: str | None,
    format: str,
    lexicon: Path | None,
    n_best: int,
    punctuation: bool,
    engine: EngineName,
    quantization: Quantization | None,
) -> None:
    """Write the phones of texts, of the lines of files or of those of standard input to standard output.

    Raises:
        ValueError: If a line or the lexicon is not UTF-8, the model does not write phones, or has no such variant.
        OSError: If there is no such model, a file cannot be read, or the output cannot be written.
    """
    if model is None:
        check_phones_folder()
    name = PHONES_FOLDER if model is None else model
    phonemizer = Phonemizer.from_pretrained(name, engine=engine, quantization=quantization, lexicon=lexicon)
    variant = next(iter(phonemizer.variants), None) if variant is None else variant
    allow_interrupts()
    listed: set[str] = set()
    reader = LineReader(texts, files)
    for chunk in chunks_of(reader, reader.at_once(_CHUNK)):
        with warnings.catch_warnings(record=True) as noticed:
            warnings.simplefilter("always")
            read = phonemizer.read([str(line) for line in chunk], variant, n_best=n_best)
        for warning in noticed:
            warn_once(str(warning.message))
        for line, each in zip(chunk, read):
            if format == "text":
                print_results(line.line_start + each.join(punctuation=punctuation) + line.line_end)
            elif format == "jsonl":
                print_results(json.dumps(_record(line, each, punctuation), ensure_ascii=False) + "\n")
            else:
                print_results("".join(_entries(each, listed)))


def _record(line: str, read: PhonemizedText, punctuation: bool) -> dict[str, Any]:
    words = [{**word._asdict(), "readings": [each._asdict() for each in word.readings]} for word in read.words]
    return {"text": line, "read": read.text, "phones": read.join(punctuation=punctuation), "words": words}


def _entries(read: PhonemizedText, listed: set[str]) -> Iterator[str]:
    """Yield the lines of a lexicon for words that are not listed yet: each reading of each, without stress marks."""
    for word in read.words:
        plain = plain_word(word.word)
        if plain in listed or not word.readings:
            continue
        listed.add(plain)
        readings = (" ".join(each for each in reading.phones if each != STRESS) for reading in word.readings)
        for phones in dict.fromkeys(readings):
            yield f"{plain}\t{phones}\n"
