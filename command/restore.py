"""`atenta restore`: the accents of Portuguese, line by line, without torch if onnxruntime is installed."""

import json
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from atenta import restore_accents
from atenta.command.text_lines import LineReader, LineWriter

_CHUNK = 256  # lines that are restored together


def restore_lines(texts: Sequence[str], files: Sequence[Path], min_confidence: float, probabilities: bool) -> None:
    """Restore lines and write them to standard output.

    Args:
        texts: texts; else the lines of the files, or of standard input.
        files: UTF-8 files.
        min_confidence: from which a character is restored, 0 to 1.
        probabilities: whether to write a line of JSON for each, with the probability of each of its characters.

    Raises:
        ValueError: If a line is not UTF-8.
        OSError: If a file cannot be read, or the output cannot be written.
    """
    reader = LineReader(texts, files)
    lines = iter(reader)
    with LineWriter(None, {}) as writer:
        while chunk := list(islice(lines, _CHUNK)):
            restored = restore_accents(
                [str(line) for line in chunk], min_confidence=min_confidence, return_probabilities=True
            )
            for line, each in zip(chunk, restored):
                record = {"text": line, "restored": each.text, "probabilities": each.probabilities.tolist()}
                written = json.dumps(record, ensure_ascii=False) + "\n" if probabilities else each.text + line.line_end
                writer.write(written, reader)
