"""`atenta restore`: the accents of Portuguese, without torch if onnxruntime is installed."""

from atenta.recipes.terminal import allow_interrupts

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from atenta import CharacterRestorer
from atenta.command.text_lines import InputLine, LineReader, chunks_of, print_results, read_whole
from atenta.restoration.portuguese import MODEL_FOLDER

_CHUNK = 256  # lines that are restored together


def restore_texts(
    texts: Sequence[str], files: Sequence[Path], model: str | None, min_confidence: float, probabilities: bool
) -> None:
    """Restore texts, whole files, or the lines of standard input, and write them to standard output.

    Args:
        texts: texts; else the files are restored, or the lines of standard input.
        files: UTF-8 files.
        model: folder, or name on the Hub; by default, the model that comes with the package.
        min_confidence: from which a character is restored, 0 to 1.
        probabilities: whether to write a line of JSON for each text, with the probability of each of its characters.

    Raises:
        ValueError: If a text is not UTF-8, or the model does not restore characters.
        OSError: If there is no such model, a file cannot be read, or the output cannot be written.
    """
    restorer = CharacterRestorer.from_pretrained(MODEL_FOLDER if model is None else model)
    allow_interrupts()
    for chunk in _chunks(texts, files):
        for given, each in zip(chunk, restorer.restore([str(text) for text in chunk], min_confidence)):
            record = {"text": given, "restored": each.text, "probabilities": each.probabilities.tolist()}
            line = given.line_start + each.text + given.line_end
            print_results(json.dumps(record, ensure_ascii=False) + "\n" if probabilities else line)


def _chunks(texts: Sequence[str], files: Sequence[Path]) -> Iterator[list[InputLine]]:
    """Yield what is restored together: a file, or some lines."""
    if files:
        yield from ([read_whole(path)] for path in files)
        return
    yield from chunks_of(LineReader(texts, []), _CHUNK)
