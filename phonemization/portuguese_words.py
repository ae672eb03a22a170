"""`phonemize`, with the model of Portuguese words that comes with this package."""

from functools import cache
from pathlib import Path
from threading import Lock

from ..engines.saved_model import CONFIG
from ..tokenization.text_checks import Texts
from .phonemizer import Phonemizer
from .readings import read_lexicon

_LOADING = Lock()
# An editable install is made of links, and a model whose files are links is refused.
PHONES_FOLDER = Path(__file__).resolve().with_name("portuguese_phones")

_CONSONANTS = "b d f k l m n p s t v z ɡ ɲ ɾ ʃ ʎ ʒ"
#: The phones of each variant, as the guide promises them: a list that changes is a new variant.
INVENTORIES = {
    "br": frozenset(f"ˈ a ã e ẽ ɛ i ĩ o õ ɔ u ũ ə ɪ ʊ w y ʊ̃ ỹ {_CONSONANTS} x ɣ".split()),
    "br-wikipron": frozenset(f"a ɐ ɐ̃ e ẽ ɛ i ĩ o õ ɔ u ũ j w j̃ w̃ {_CONSONANTS} ʁ d͡ʒ t͡ʃ".split()),
    "pt": frozenset(f"a ɐ ɐ̃ e ẽ ɛ i ɨ ĩ o õ ɔ u ũ j w j̃ w̃ {_CONSONANTS} ʁ t͡ʃ".split()),
}


def phonemize(
    texts: str | Texts,
    variant: str = "br",
    *,
    punctuation: bool = False,
    word_separator: str = " ",
    phone_separator: str = "",
) -> str | list[str]:
    """Return the phones of Portuguese texts: `amanhã vou à praia` becomes `amãˈɲã ˈvow a ˈpɾayə`.

    Texts are read as in [`Phonemizer`], which also gives the confidence in each word, further readings, and lexicons.

    Args:
        texts: a text, or several: a list or tuple, or a column of datasets, pandas or NumPy.
        variant: `"br"` for Brazil, with stress marks, `"br-wikipron"` for Brazil or `"pt"` for Portugal without.
        punctuation: whether what is between words stays.
        word_separator: what separates words, without punctuation.
        phone_separator: what separates the phones of a word.

    Returns:
        A text for a text, a list for a list. Numbers and words that cannot be read stay as they are.

    Raises:
        TypeError: If an input is not a text.
        ValueError: If there is no such variant, or a text has a lone surrogate.
        FileNotFoundError: If this installation has no such model.

    Warns:
        UserWarning: As in [`Phonemizer.phonemize`].
    """
    return load_portuguese_phones().phonemize(
        texts, variant, punctuation=punctuation, word_separator=word_separator, phone_separator=phone_separator
    )


def load_portuguese_phones(lexicon: str | Path | None = None) -> Phonemizer:
    """Return the [`Phonemizer`] of the package's model, which is loaded once; a lexicon is read each time.

    Args:
        lexicon: file of pronunciations that come before all others: see [`read_lexicon`].

    Raises:
        FileNotFoundError: If this installation has no such model, or there is no such file.
        ValueError: If the file is damaged.
    """
    own = None if lexicon is None else read_lexicon(lexicon)
    check_phones_folder()
    with _LOADING:  # two threads would load it twice
        loaded = _load(PHONES_FOLDER)
    return loaded if own is None else loaded.with_lexicon(own)


_load = cache(Phonemizer.from_pretrained)


def check_phones_folder() -> None:
    """Check that the model is there.

    Raises:
        FileNotFoundError: If it is not.
    """
    if not (PHONES_FOLDER / CONFIG).is_file():
        raise FileNotFoundError(
            f"{PHONES_FOLDER} has no model; expected that of a release, or of `make phones-model` in a clone."
        )
