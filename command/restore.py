"""`atenta restore`: the accents, capitals and signs of Portuguese, without torch if onnxruntime is installed."""

from atenta.recipes.terminal import allow_interrupts

import json
from collections.abc import Sequence
from pathlib import Path

from atenta import CharacterRestorer
from atenta.command.text_lines import LineReader, chunks_of, print_results, read_whole
from atenta.engines.kinds import writes_units
from atenta.restoration.character_codes import RESTORED, learned_changes
from atenta.restoration.portuguese import MODEL_FOLDER, SPEECH_FOLDER

_CHUNK = 256  # lines that are restored together


def restore_texts(
    texts: Sequence[str],
    files: Sequence[Path],
    model: str | None,
    restored: Sequence[str],
    variant: str | None,
    min_confidence: float,
    probabilities: bool,
) -> None:
    """Restore texts, whole files, or the lines of standard input, and write them, or JSON, to standard output.

    Of a model that is named, everything that it has learned is restored, unless more than accents is asked for.

    Raises:
        ValueError: If a text is not UTF-8, or the model does not restore characters.
        OSError: If there is no such model, a file cannot be read, or the output cannot be written.
    """
    if not restored:
        raise ValueError("--no_accents leaves nothing to restore; expected --capitals or --punctuation with it.")
    only_accents = restored == ["accents"]
    default = MODEL_FOLDER if only_accents else SPEECH_FOLDER
    restorer = CharacterRestorer.from_pretrained(default if model is None else model)
    if writes_units(vars(restorer.config)):
        raise ValueError(
            f"{model} writes what letters become; expected a model that restores texts: use atenta predict."
        )
    learned = learned_changes(restorer.config.character_variants)
    if not only_accents and (lacking := [name for name in restored if name not in learned]):
        raise ValueError(
            f"{model} has not learned to restore {', '.join(lacking)}; it restores {', '.join(learned)}: "
            "leave out the rest."
        )
    switched_on = RESTORED if only_accents else restored
    allow_interrupts()
    reader = LineReader(texts, [])
    whole = ([read_whole(path)] for path in files)
    for chunk in whole if files else chunks_of(reader, reader.at_once(_CHUNK)):
        answers = restorer.restore([str(line) for line in chunk], min_confidence, switched_on, variant)
        for line, each in zip(chunk, answers):
            record = {"text": line, "restored": each.text, "probabilities": each.probabilities.tolist()}
            plain = line.line_start + each.text + line.line_end
            print_results(json.dumps(record, ensure_ascii=False) + "\n" if probabilities else plain)
