"""The sample data of the repository, as the same rows that a user's own files give."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from atenta.recipes.samples.accents import accent_pairs
from atenta.recipes.samples.dialogue import dialogue_prompts
from atenta.recipes.samples.files import DATA, SPLITS, missing_sample, novels
from atenta.recipes.samples.languages import language_words
from atenta.recipes.samples.misspellings import misspellings
from atenta.recipes.samples.portuguese_texts import portuguese_documents, portuguese_texts
from atenta.recipes.samples.romance import brazil_words, romance_words


@dataclass(frozen=True)
class Sample:
    """The sample data of a task: files that are read like a user's own, or rows made from such files.

    Attributes:
        about: The fields of a model card: `task` and `data` in the languages of cards, `language` and `licence`, and
            an `example` to try the model with, if one says more than that of its kind.
        files: The file of each split, in `recipes/data`.
        rows: A function that makes the rows of each split, if no file contains them as they are.
    """

    about: Mapping[str, Any]
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


def _about(
    task: Mapping[str, str] | None,
    data: Mapping[str, str],
    language: str | None,
    licence: str = "apache-2.0",
    example: str = "",
) -> dict[str, Any]:
    about = {"task": task, "data": data, "language": language, "licence": licence, "example": example or None}
    return {name: value for name, value in about.items() if value is not None}


_PHONES = {
    "fr": {"en": "It writes the phones of French words.", "pt": "Escreve os fones de palavras do francês."},
    "it": {"en": "It writes the phones of Italian words.", "pt": "Escreve os fones de palavras do italiano."},
}
_ACCENTS = {"en": "It writes the accents of Portuguese texts.", "pt": "Escreve os acentos de textos em português."}
_NOVELS = {
    "en": "tales and novels of Machado de Assis, public domain",
    "pt": "contos e romances de Machado de Assis, em domínio público",
}

SAMPLES = {
    "accents": Sample(
        _about(
            _ACCENTS,
            {
                "en": "novels and tales of Machado de Assis in spans of 2 to 30 words, public domain",
                "pt": "romances e contos de Machado de Assis em trechos de 2 a 30 palavras, em domínio público",
            },
            "pt",
            example="A acao comecou amanha",
        ),
        rows=accent_pairs,
    ),
    "novels": Sample(_about(None, _NOVELS, "pt"), rows=novels),  # models of all kinds are pre-trained on them
    "plays": Sample(
        _about(
            {
                "en": "It answers a line of a play with the next one.",
                "pt": "Responde a uma fala de peça de teatro com a seguinte.",
            },
            {
                "en": "plays of Machado de Assis, public domain",
                "pt": "peças de teatro de Machado de Assis, em domínio público",
            },
            "pt",
        ),
        rows=dialogue_prompts,
    ),
    "languages": Sample(
        _about(
            {
                "en": "It tells whether a word is Italian, French or Portuguese.",
                "pt": "Diz se uma palavra é italiana, francesa ou portuguesa.",
            },
            {
                "en": "words of SIGMORPHON 2021 task 1 (CC BY-SA 3.0) and of Machado de Assis",
                "pt": "palavras da tarefa 1 do SIGMORPHON 2021 (CC BY-SA 3.0) e de Machado de Assis",
            },
            None,
            "cc-by-sa-3.0",
            "coração",
        ),
        rows=language_words,
    ),
    "portuguese": Sample(
        _about(
            _ACCENTS,
            {
                "en": "running text of nine domains, Brazil and Portugal, under its own licences (public domain, CC0, "
                "CC BY, CC BY-SA, MIT, MPL 2.0, GPL-2+), listed in recipes/data/portugues",
                "pt": "texto corrido de nove domínios, do Brasil e de Portugal, com suas licenças (domínio público, "
                "CC0, CC BY, CC BY-SA, MIT, MPL 2.0, GPL-2+), listadas em recipes/data/portugues",
            },
            "pt",
        ),
        rows=portuguese_texts,
    ),
    "portuguese_documents": Sample(
        _about(
            None,
            {
                "en": "running text of nine domains, Brazil and Portugal, under its own licences, listed in "
                "recipes/data/portugues; tales and novels of Machado de Assis, public domain",
                "pt": "texto corrido de nove domínios, do Brasil e de Portugal, com suas licenças, listadas em "
                "recipes/data/portugues; contos e romances de Machado de Assis, em domínio público",
            },
            "pt",
        ),
        rows=portuguese_documents,
    ),
    "french_g2p": Sample(
        _about(
            _PHONES["fr"],
            {
                "en": "SIGMORPHON 2021 task 1, French, CC BY-SA 3.0",
                "pt": "tarefa 1 do SIGMORPHON 2021, francês, CC BY-SA 3.0",
            },
            "fr",
            "cc-by-sa-3.0",
            "bonjour",
        ),
        files=("g2p/fre_train.tsv", "g2p/fre_dev.tsv", "g2p/fre_test.tsv"),
    ),
    "italian_g2p": Sample(
        _about(
            _PHONES["it"],
            {
                "en": "SIGMORPHON 2021 task 1, Italian, CC BY-SA 3.0",
                "pt": "tarefa 1 do SIGMORPHON 2021, italiano, CC BY-SA 3.0",
            },
            "it",
            "cc-by-sa-3.0",
            "buongiorno",
        ),
        files=("g2p/ita_train.tsv", "g2p/ita_dev.tsv", "g2p/ita_test.tsv"),
    ),
    "romance_g2p": Sample(
        _about(
            {
                "en": "It writes the phones of words of Portuguese (Brazil or Portugal), Galician, Spanish, Italian "
                "and French.",
                "pt": "Escreve os fones de palavras do português (do Brasil ou de Portugal), do galego, do espanhol, "
                "do italiano e do francês.",
            },
            {
                "en": "WikiPron, by way of CharsiuG2P (Zhu et al., 2022), CC BY-SA 3.0",
                "pt": "WikiPron, por meio do CharsiuG2P (Zhu et al., 2022), CC BY-SA 3.0",
            },
            None,
            "cc-by-sa-3.0",
            "coração",
        ),
        rows=romance_words,
    ),
    "brazil_g2p": Sample(
        _about(
            {"en": "It writes the phones of Brazilian words.", "pt": "Escreve os fones de palavras do Brasil."},
            {
                "en": "WikiPron, Brazil, by way of CharsiuG2P (Zhu et al., 2022), CC BY-SA 3.0",
                "pt": "WikiPron, Brasil, por meio do CharsiuG2P (Zhu et al., 2022), CC BY-SA 3.0",
            },
            "pt",
            "cc-by-sa-3.0",
            "coração",
        ),
        rows=brazil_words,
    ),
    "misspellings": Sample(
        _about(
            {
                "en": "It finds names and words that are misspelled.",
                "pt": "Encontra nomes e palavras escritos com erros.",
            },
            {
                "en": "names of Wikidata (Merhav and Ash, 2018, CC0) and words of SIGMORPHON 2021 task 1 "
                "(CC BY-SA 3.0), with errors made for this sample",
                "pt": "nomes da Wikidata (Merhav e Ash, 2018, CC0) e palavras da tarefa 1 do SIGMORPHON 2021 "
                "(CC BY-SA 3.0), com erros feitos para esta amostra",
            },
            None,
            "cc-by-sa-3.0",
        ),
        rows=misspellings,
    ),
    "hebrew": Sample(
        _about(
            {
                "en": "It writes names in Hebrew letters.",
                "pt": "Escreve nomes em letras hebraicas.",
            },
            {
                "en": "names in Latin and Hebrew letters (Merhav and Ash, 2018), CC0",
                "pt": "nomes em letras latinas e hebraicas (Merhav e Ash, 2018), CC0",
            },
            "he",
            example="Maria",
        ),
        files=("transliteration_he/train.tsv", "transliteration_he/validation.tsv", "transliteration_he/test.tsv"),
    ),
    "lener_br": Sample(
        _about(
            {
                "en": "It finds persons, organizations, places, times, laws and court cases in Brazilian legal texts.",
                "pt": "Encontra pessoas, organizações, lugares, datas, leis e julgados em textos jurídicos do Brasil.",
            },
            {"en": "LeNER-Br (Luz de Araujo et al., 2018), MIT", "pt": "LeNER-Br (Luz de Araujo et al., 2018), MIT"},
            "pt",
        ),
        files=("lener_br/train.conll", "lener_br/dev.conll", "lener_br/test.conll"),
    ),
    "bosque": Sample(
        _about(
            {
                "en": "It tags the parts of speech of Portuguese sentences.",
                "pt": "Etiqueta as classes de palavras de frases em português.",
            },
            {
                "en": "a part of UD Portuguese-Bosque, CC BY-SA 4.0",
                "pt": "uma parte do UD Portuguese-Bosque, CC BY-SA 4.0",
            },
            "pt",
            "cc-by-sa-4.0",
        ),
        files=("bosque/train.conllu", "bosque/validation.conllu", "bosque/test.conllu"),
    ),
    "faquad": Sample(
        _about(
            {
                "en": "It finds the answer to a question in a Portuguese text.",
                "pt": "Encontra num texto em português a resposta a uma pergunta.",
            },
            {
                "en": "FaQuAD (Sayama et al., 2019), CC BY 4.0; the test is of seven documents of its training file",
                "pt": "FaQuAD (Sayama et al., 2019), CC BY 4.0; o teste é de sete documentos do seu arquivo de treino",
            },
            "pt",
            "cc-by-4.0",
        ),
        files=("faquad/train.json", "faquad/dev.json", "faquad/test.json"),
    ),
}
