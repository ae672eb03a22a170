"""The sample data of the repository, as the same rows that a user's own files give."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from atenta.recipes.samples.accents import accent_pairs
from atenta.recipes.samples.dialogue import dialogue_prompts
from atenta.recipes.samples.files import DATA, SPLITS, missing_sample, novels
from atenta.recipes.samples.languages import language_words
from atenta.recipes.samples.portuguese_texts import portuguese_texts


@dataclass(frozen=True)
class Sample:
    """The sample data of a task: files that are read like a user's own, or rows made from such files.

    Attributes:
        about: The fields of a model card that describe the data: `data`, and `language` and `licence` of the model.
        files: The file of each split, in `recipes/data`.
        rows: A function that makes the rows of each split, if no file contains them as they are.
    """

    about: Mapping[str, str]
    files: Sequence[str] = ()
    rows: Callable[[], Mapping[str, Sequence[Mapping[str, Any]]]] | None = None

    def split_files(self) -> dict[str, str]:
        """Return the file of each split.

        Raises:
            FileNotFoundError: If a file is missing, as in an installed package, which contains no data.
        """
        paths = [DATA / file for file in self.files]
        if missing := [path for path in paths if not path.is_file()]:
            raise missing_sample(missing[0].parent, missing[0].name)
        return dict(zip(SPLITS, map(str, paths)))


def _about(data: str, language: str, licence: str = "apache-2.0") -> dict[str, str]:
    return {"data": data, "language": language, "licence": licence}


SAMPLES = {
    "accents": Sample(
        _about("novels and tales of Machado de Assis in spans of 2 to 30 words, public domain", "pt"),
        rows=accent_pairs,
    ),
    "novels": Sample(_about("tales and novels of Machado de Assis, public domain", "pt"), rows=novels),
    "plays": Sample(_about("plays of Machado de Assis, public domain", "pt"), rows=dialogue_prompts),
    "languages": Sample(
        {
            "data": "words of SIGMORPHON 2021 task 1 (CC BY-SA 3.0) and of Machado de Assis",
            "licence": "cc-by-sa-3.0",
        },
        rows=language_words,
    ),
    "portuguese": Sample(
        _about(
            "running text of nine domains, Brazil and Portugal, under its own licences (public domain, CC0, CC BY, "
            "CC BY-SA, MIT, MPL 2.0, GPL-2+), listed in recipes/data/portugues",
            "pt",
        ),
        rows=portuguese_texts,
    ),
    "french_g2p": Sample(
        _about("SIGMORPHON 2021 task 1, French, CC BY-SA 3.0", "fr", "cc-by-sa-3.0"),
        files=("g2p/fre_train.tsv", "g2p/fre_dev.tsv", "g2p/fre_test.tsv"),
    ),
    "italian_g2p": Sample(
        _about("SIGMORPHON 2021 task 1, Italian, CC BY-SA 3.0", "it", "cc-by-sa-3.0"),
        files=("g2p/ita_train.tsv", "g2p/ita_dev.tsv", "g2p/ita_test.tsv"),
    ),
    "hebrew": Sample(
        _about("names in Latin and Hebrew letters (Merhav and Ash, 2018), CC0", "he"),
        files=("transliteration_he/train.tsv", "transliteration_he/validation.tsv", "transliteration_he/test.tsv"),
    ),
    "lener_br": Sample(
        _about("LeNER-Br (Luz de Araujo et al., 2018), MIT", "pt"),
        files=("lener_br/train.conll", "lener_br/dev.conll", "lener_br/test.conll"),
    ),
    "bosque": Sample(
        _about("a part of UD Portuguese-Bosque, CC BY-SA 4.0", "pt", "cc-by-sa-4.0"),
        files=("bosque/train.conllu", "bosque/validation.conllu", "bosque/test.conllu"),
    ),
    "faquad": Sample(  # there is no test file: the validation questions are also the test questions
        _about("FaQuAD (Sayama et al., 2019), CC BY 4.0", "pt", "cc-by-4.0"),
        files=("faquad/train.json", "faquad/dev.json"),
    ),
}
