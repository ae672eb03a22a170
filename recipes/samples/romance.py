"""Sample for grapheme to phoneme in several languages: words of Portuguese and its neighbours, each with a tag."""

from pathlib import Path
from typing import Any

from atenta.recipes.samples.files import DATA, SPLITS, read_samples

_NAMES = {
    **{"pt-BR": "Brazil", "pt-PT": "Portugal", "gl": "Galician"},
    **{"es": "Spanish", "it": "Italian", "fr": "French"},
}


def romance_words(folder: Path = DATA / "g2p_romance") -> dict[str, list[dict[str, Any]]]:
    """Return words and their phones in the splits `train`, `validation` and `test`, and the tests of each language.

    A word is in one split, with all its pronunciations; Brazil and Portugal count as one language for this. The tag,
    such as `pt-BR`, says which language the phones are of.

    Returns:
        The rows of each split: `source`, `target`, phones separated by spaces, and `tags`, such as `<pt-BR>`.

    Raises:
        FileNotFoundError: If a file is missing, as in an installed package, which contains no data.
    """
    rows: dict[str, list[dict[str, Any]]] = {}
    for split in SPLITS:
        cells = (line.split("\t") for line in read_samples(folder, f"{split}.tsv")[0].splitlines())
        rows[split] = [{"source": word, "target": phones, "tags": [f"<{tag}>"]} for word, phones, tag in cells]
    for tag, name in _NAMES.items():
        rows[name] = [row for row in rows["test"] if row["tags"] == [f"<{tag}>"]]
    return rows


def brazil_words() -> dict[str, list[dict[str, Any]]]:
    """Return the words of [`romance_words`] as they are said in Brazil, without a tag: one language alone.

    Raises:
        FileNotFoundError: If a file is missing, as in an installed package, which contains no data.
    """
    rows = romance_words()
    return {split: [row | {"tags": []} for row in rows[split] if row["tags"] == ["<pt-BR>"]] for split in SPLITS}
