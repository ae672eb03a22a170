"""`restore_accents` and `restore_text`, with the models that come with this package."""

from collections.abc import Collection
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Literal

import numpy as np

from ..engines.feedback import warn_of_files
from ..tokenization.text_checks import check_sequence
from .character_codes import RESTORED
from .restorer import CharacterRestorer
from .window_reader import RestoredText

_LOADING = Lock()
_MARK = "\ufeff"  # of a file's byte order, which is not read: to the model it would begin the first sentence
# An editable install is made of links, and a model whose files are links is refused.
MODEL_FOLDER = Path(__file__).resolve().with_name("portuguese_accents")
SPEECH_FOLDER = MODEL_FOLDER.with_name("portuguese_speech")  # its model in int8 alone


def restore_accents(
    texts: str | Path | Collection[str | Path],
    *,
    variant: Literal["br", "pt"] | None = None,
    min_confidence: float = 0.0,
    return_probabilities: bool = False,
) -> str | RestoredText | list[str] | list[RestoredText]:
    """Restore the accents of Portuguese text: `A acao comecou amanha` becomes `A ação começou amanhã`.

    Only marks are added; letters, spaces, line ends, capitals and signs come out as they went in, and accents that a
    text has are kept. URLs, addresses, @names, #tags, paths, `{placeholders}` and code in backticks are not changed.
    Text that is not in Unicode's composed form (NFC) is returned in it. Longer texts are faster than many short ones,
    and a list is faster than a call for each of its texts.

    Args:
        texts: a text of any length, the path of a UTF-8 file (a `Path`, not a str), or a list of them, or a
            column of datasets, pandas or NumPy.
        variant: Portuguese of Brazil or of Portugal: words that the two mark differently, such as *acadêmico* and
            *académico*, get its marks. By default the model decides for each word.
        min_confidence: a character gets its mark only if the model gives it at least this probability, 0 to 1. With
            0.9, doubtful characters stay as they are.
        return_probabilities: whether to return the probability of each character too.

    Returns:
        The text, or [`RestoredText`] with the probabilities; for a list, a list.

    Raises:
        TypeError: If `texts` is neither text, path nor a sequence of them, or `min_confidence` is not a number.
        ValueError: If `min_confidence` is not between 0 and 1, there is no such variant, a text has a lone surrogate,
            or a file is not UTF-8.
        OSError: If a file cannot be read.

    Warns:
        UserWarning: If a text is the name of a file, whose content a `Path` gives.
    """
    return _restore(texts, MODEL_FOLDER, RESTORED, variant, min_confidence, return_probabilities)


def restore_text(
    texts: str | Path | Collection[str | Path],
    *,
    accents: bool = True,
    capitals: bool = True,
    punctuation: bool = True,
    variant: Literal["br", "pt"] | None = None,
    min_confidence: float = 0.0,
    return_probabilities: bool = False,
) -> str | RestoredText | list[str] | list[RestoredText]:
    """Restore what speech recognition leaves out of Portuguese: `voce vem amanha` becomes `Você vem amanhã?`.

    Words are never changed: letters get marks and capitals, and a sign, one of `, . ? ! : ;`, may come after a word,
    before a space, before a line end and at the end of a text. Marks, capitals and signs that a text has are kept.
    Digits, hyphens, quotation marks, dashes, and what `restore_accents` leaves alone, are not changed. Capitals that
    a text has get no marks: for `VOCE` use [`restore_accents`].

    Args:
        texts: as in [`restore_accents`].
        accents: whether to restore accents. Alone they are restored by the model of [`restore_accents`], which is
            stronger.
        capitals: whether to restore capitals, at the start of sentences and of names.
        punctuation: whether to restore signs.
        variant: as in [`restore_accents`].
        min_confidence: a character is changed only if the model gives what it becomes at least this probability, 0
            to 1.
        return_probabilities: whether to return the probability of each character too.

    Returns:
        The text, or [`RestoredText`] with the probabilities; for a list, a list.

    Raises:
        TypeError: As in [`restore_accents`].
        ValueError: As in [`restore_accents`], or there is nothing to restore.
        OSError: If a file cannot be read.
        ImportError: If onnxruntime, which runs this model, is not installed.
    """
    switches = {"accents": accents, "capitals": capitals, "punctuation": punctuation}
    restored = [name for name, is_on in switches.items() if is_on]
    if not restored:
        raise ValueError("accents, capitals and punctuation are all False; expected one of them True.")
    folder = MODEL_FOLDER if restored == ["accents"] else SPEECH_FOLDER
    return _restore(texts, folder, restored, variant, min_confidence, return_probabilities)


def _restore(
    texts: str | Path | Collection[str | Path],
    folder: Path,
    restored: Collection[str],
    variant: Literal["br", "pt"] | None,
    min_confidence: float,
    return_probabilities: bool,
) -> str | RestoredText | list[str] | list[RestoredText]:
    alone = isinstance(texts, str | Path)
    given = (
        [texts] if alone else check_sequence(texts, "texts", "a str, a Path, a list of them, or a column of a table")
    )
    warn_of_files(given)
    read = [_read(each) if isinstance(each, Path) else each for each in given]
    has_mark = [isinstance(each, Path) and text.startswith(_MARK) for each, text in zip(given, read)]
    read = [text.removeprefix(_MARK) if is_there else text for text, is_there in zip(read, has_mark)]
    with _LOADING:  # two threads would load it twice
        restorer = load_restorer(folder)
    found = restorer.restore(read, min_confidence, restored, variant)
    found = [_behind_mark(each) if is_there else each for each, is_there in zip(found, has_mark)]
    answers = found if return_probabilities else [each.text for each in found]
    return answers[0] if alone else answers


def _behind_mark(restored: RestoredText) -> RestoredText:
    pieces = _MARK + restored.pieces if isinstance(restored.pieces, str) else [_MARK, *restored.pieces]
    return RestoredText(_MARK + restored.text, np.insert(restored.probabilities, 0, 1), pieces)


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")  # keeps line ends, which `read_text` does not
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 at byte {error.start}: save it as UTF-8.") from None


@cache
def load_restorer(folder: Path) -> CharacterRestorer:
    """Return the restorer of a folder of the package, which is loaded once."""
    return CharacterRestorer.from_pretrained(folder)
