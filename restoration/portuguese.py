"""`restore_accents`, with the model that comes with this package."""

from collections.abc import Collection
from functools import cache
from pathlib import Path
from threading import Lock

from ..engines.feedback import warn_of_files
from ..tokenization.text_checks import check_sequence
from .restorer import CharacterRestorer
from .window_reader import RestoredText

_LOADING = Lock()
# An editable install is made of links, and a model whose files are links is refused.
MODEL_FOLDER = Path(__file__).resolve().with_name("portuguese_accents")


def restore_accents(
    texts: str | Path | Collection[str | Path], *, min_confidence: float = 0.0, return_probabilities: bool = False
) -> str | RestoredText | list[str] | list[RestoredText]:
    """Restore the accents of Portuguese text: `A acao comecou amanha` becomes `A ação começou amanhã`.

    Only marks are added; letters, spaces, line ends, capitals and signs come out as they went in, and accents that a
    text has are kept. URLs, addresses, @names, #tags and code in backticks are not changed. Text that is not in
    Unicode's composed form (NFC) is returned in it. Longer texts are faster than many short ones, and a list is faster
    than a call for each of its texts.

    Args:
        texts: a text of any length, the path of a UTF-8 file (a `Path`, not a str), or a list of them, or a
            column of datasets, pandas or NumPy.
        min_confidence: a character gets its mark only if the model gives it at least this probability, 0 to 1. With
            0.9, doubtful characters stay as they are.
        return_probabilities: whether to return the probability of each character too.

    Returns:
        The text, or [`RestoredText`] with the probabilities; for a list, a list.

    Raises:
        TypeError: If `texts` is neither text, path nor a sequence of them, or `min_confidence` is not a number.
        ValueError: If `min_confidence` is not between 0 and 1, a text has a lone surrogate, or a file is not UTF-8.
        OSError: If a file cannot be read.

    Warns:
        UserWarning: If a text is the name of a file, whose content a `Path` gives.
    """
    alone = isinstance(texts, str | Path)
    given = (
        [texts] if alone else check_sequence(texts, "texts", "a str, a Path, a list of them, or a column of a table")
    )
    warn_of_files(given)
    read = [_read(each) if isinstance(each, Path) else each for each in given]
    with _LOADING:  # two threads would load it twice
        restorer = _load_portuguese()
    restored = restorer.restore(read, min_confidence)
    answers = restored if return_probabilities else [each.text for each in restored]
    return answers[0] if alone else answers


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")  # keeps line ends, which `read_text` does not
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 at byte {error.start}: save it as UTF-8.") from None


@cache
def _load_portuguese() -> CharacterRestorer:
    return CharacterRestorer.from_pretrained(MODEL_FOLDER)
