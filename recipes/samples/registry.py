"""All samples by name: what their data are, and the files or the function that their rows come from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from atenta.recipes.samples.accents import accent_pairs
from atenta.recipes.samples.dialogue import dialogue_prompts
from atenta.recipes.samples.files import FILES, SPLITS, novels, sample_files
from atenta.recipes.samples.languages import (
    brazil_words,
    language_words,
    low_resource_words,
    medium_resource_words,
    romance_words,
)
from atenta.recipes.samples.misspellings import misspellings
from atenta.recipes.samples.portuguese_phones import portuguese_phones
from atenta.recipes.samples.portuguese_texts import portuguese_documents, portuguese_texts, spoken_texts
from atenta.recipes.samples.simplification import simpler_sentences, simplifications
from atenta.recipes.samples.titles import titles


@dataclass(frozen=True)
class Sample:
    """The sample data of a task: files that are read like a user's own, or rows made from such files.

    Attributes:
        data: What the data are, in English and in Portuguese, for model cards.
        task: What a model that is trained on them does, in both, unless there are several such tasks.
        language: The language of the texts, unless there are several.
        licence: The licence of the data.
        example: A text to try the model with, if it says more than that of its kind of model.
        columns: The columns of its rows.
        files: The file of each split, in `recipes/data`.
        rows: A function that makes the rows of each split, if no file contains them as they are.
        word_list: A file of words in `recipes/data`, whose spellings a tagger of characters is given after training.
    """

    data: tuple[str, str]
    task: tuple[str, str] | None = None
    language: str | None = "pt"
    licence: str = "apache-2.0"
    example: str | None = None
    columns: Sequence[str] = ()
    files: Sequence[str] = ()
    rows: Callable[[], Mapping[str, Sequence[Mapping[str, Any]]]] | None = None
    word_list: str | None = None

    @property
    def about(self) -> dict[str, Any]:
        """The fields of a model card."""
        texts = {"task": self.task, "data": self.data}
        fields: dict[str, Any] = {name: dict(zip(("en", "pt"), text)) for name, text in texts.items() if text}
        others = {"language": self.language, "licence": self.licence, "example": self.example}
        return fields | {name: value for name, value in others.items() if value is not None}

    def split_files(self) -> dict[str, str]:
        """Return the file of each split.

        Raises:
            FileNotFoundError: If a file is missing, as in an installed package that runs outside a clone.
        """
        return {split: str(sample_files("", file)[0]) for split, file in zip(SPLITS, self.files)}


_PAIRS, _DOCUMENTS, _LABELLED = ("source", "target", "tags"), ("text",), ("text", "text_pair", "label")
_CHARACTERS, _TAGGED = ("source", "target", "domain"), ("words", "tags")
_phones = partial(Sample, licence="cc-by-sa-3.0", columns=_PAIRS)  # of words
_ACCENTS = ("It writes the accents of Portuguese texts.", "Escreve os acentos de textos em português.")

_PORTUGUESE = (
    "running text of many domains, Brazil and Portugal, under its own licences (public domain, CC0, CC BY, CC BY-SA, "
    "MIT, BSD, Apache-2.0, MPL 2.0, GPL), listed in recipes/data/portugues and portugues_2, and sentences made by "
    "rule",
    "texto corrido de muitos domínios, do Brasil e de Portugal, com suas licenças (domínio público, CC0, CC BY, "
    "CC BY-SA, MIT, BSD, Apache-2.0, MPL 2.0, GPL), listadas em recipes/data/portugues e portugues_2, e frases feitas "
    "por regras",
)

SAMPLES = {
    "accents": Sample(
        (
            "novels and tales of Machado de Assis in spans of 2 to 30 words, public domain",
            "romances e contos de Machado de Assis em trechos de 2 a 30 palavras, em domínio público",
        ),
        _ACCENTS,
        example="A acao comecou amanha",
        columns=_PAIRS,
        rows=accent_pairs,
    ),
    "novels": Sample(  # models of all kinds are pre-trained on them
        (
            "tales and novels of Machado de Assis, public domain",
            "contos e romances de Machado de Assis, em domínio público",
        ),
        columns=_DOCUMENTS,
        rows=novels,
    ),
    "plays": Sample(
        ("plays of Machado de Assis, public domain", "peças de teatro de Machado de Assis, em domínio público"),
        ("It answers a line of a play with the next one.", "Responde a uma fala de peça de teatro com a seguinte."),
        columns=("prompt", "answer"),
        rows=dialogue_prompts,
    ),
    "languages": Sample(
        (
            "words of SIGMORPHON 2021 task 1 (CC BY-SA 3.0) and of Machado de Assis",
            "palavras da tarefa 1 do SIGMORPHON 2021 (CC BY-SA 3.0) e de Machado de Assis",
        ),
        (
            "It tells whether a word is Italian, French or Portuguese.",
            "Diz se uma palavra é italiana, francesa ou portuguesa.",
        ),
        None,
        "cc-by-sa-3.0",
        example="coração",
        columns=_LABELLED,
        rows=language_words,
    ),
    "portuguese": Sample(
        (
            f"{_PORTUGUESE[0]}; words of the dictionary VERO (LGPL 3 or MPL 2.0) in spellings.txt",
            f"{_PORTUGUESE[1]}; palavras do dicionário VERO (LGPL 3 ou MPL 2.0) em spellings.txt",
        ),
        _ACCENTS,
        columns=_CHARACTERS,
        rows=portuguese_texts,
        word_list="words_pt/words.txt",
    ),
    "portuguese_speech": Sample(
        (
            f"{_PORTUGUESE[0]}, as speech recognition leaves it",
            f"{_PORTUGUESE[1]}, como o deixa o reconhecimento de fala",
        ),
        (
            "It writes the accents, capitals and punctuation of Portuguese texts.",
            "Escreve os acentos, as maiúsculas e a pontuação de textos em português.",
        ),
        example="voce vem amanha ou prefere que eu va ate ai",
        columns=_CHARACTERS,
        rows=spoken_texts,
    ),
    "portuguese_documents": Sample(
        (
            "running text of nine domains, Brazil and Portugal, under its own licences, listed in "
            "recipes/data/portugues; tales and novels of Machado de Assis, public domain",
            "texto corrido de nove domínios, do Brasil e de Portugal, com suas licenças, listadas em "
            "recipes/data/portugues; contos e romances de Machado de Assis, em domínio público",
        ),
        columns=_DOCUMENTS,
        rows=portuguese_documents,
    ),
    "french_g2p": _phones(
        ("SIGMORPHON 2021 task 1, French, CC BY-SA 3.0", "tarefa 1 do SIGMORPHON 2021, francês, CC BY-SA 3.0"),
        ("It writes the phones of French words.", "Escreve os fones de palavras do francês."),
        "fr",
        example="bonjour",
        files=FILES["french_g2p"],
    ),
    "italian_g2p": _phones(
        ("SIGMORPHON 2021 task 1, Italian, CC BY-SA 3.0", "tarefa 1 do SIGMORPHON 2021, italiano, CC BY-SA 3.0"),
        ("It writes the phones of Italian words.", "Escreve os fones de palavras do italiano."),
        "it",
        example="buongiorno",
        files=FILES["italian_g2p"],
    ),
    "romance_g2p": _phones(
        (
            "WikiPron, by way of CharsiuG2P (Zhu et al., 2022), CC BY-SA 3.0",
            "WikiPron, por meio do CharsiuG2P (Zhu et al., 2022), CC BY-SA 3.0",
        ),
        (
            "It writes the phones of words of Portuguese (Brazil or Portugal), Galician, Spanish, Italian and French.",
            "Escreve os fones de palavras do português (do Brasil ou de Portugal), do galego, do espanhol, do "
            "italiano e do francês.",
        ),
        None,
        example="coração",
        rows=romance_words,
    ),
    "low_resource_g2p": _phones(
        (
            "SIGMORPHON 2021 task 1, low resource, 800 words of each language, CC BY-SA 3.0",
            "tarefa 1 do SIGMORPHON 2021, poucos recursos, 800 palavras de cada língua, CC BY-SA 3.0",
        ),
        (
            "It writes the phones of words of Adyghe, Greek, Italian, Khmer, Latvian, Maltese, Romanian and Slovene.",
            "Escreve os fones de palavras do adigue, do grego, do italiano, do khmer, do letão, do maltês, do romeno "
            "e do esloveno.",
        ),
        None,
        example="buongiorno",
        rows=low_resource_words,
    ),
    "medium_resource_g2p": _phones(
        (
            "SIGMORPHON 2021 task 1, medium resource, 8,000 words of each language, CC BY-SA 3.0",
            "tarefa 1 do SIGMORPHON 2021, recursos médios, 8.000 palavras de cada língua, CC BY-SA 3.0",
        ),
        (
            "It writes the phones of words of Armenian, Bulgarian, Dutch, French, Georgian, Hungarian, Japanese (in "
            "hiragana) and Serbo-Croatian.",
            "Escreve os fones de palavras do armênio, do búlgaro, do holandês, do francês, do georgiano, do húngaro, "
            "do japonês (em hiragana) e do servo-croata.",
        ),
        None,
        example="goedemorgen",
        rows=medium_resource_words,
    ),
    "brazil_g2p": _phones(
        (
            "WikiPron, Brazil, by way of CharsiuG2P (Zhu et al., 2022), CC BY-SA 3.0",
            "WikiPron, Brasil, por meio do CharsiuG2P (Zhu et al., 2022), CC BY-SA 3.0",
        ),
        ("It writes the phones of Brazilian words.", "Escreve os fones de palavras do Brasil."),
        example="coração",
        rows=brazil_words,
    ),
    "portuguese_g2p": _phones(
        (
            "ipa-dict, Brazil, in the split of FG2P (MIT), and WikiPron, Brazil and Portugal (CC BY-SA 3.0)",
            "ipa-dict, Brasil, na divisão do FG2P (MIT), e WikiPron, Brasil e Portugal (CC BY-SA 3.0)",
        ),
        (
            "It writes the phones of Portuguese words, as they are said in Brazil or in Portugal.",
            "Escreve os fones de palavras do português, como se dizem no Brasil ou em Portugal.",
        ),
        example="coração",
        rows=portuguese_phones,
    ),
    "misspellings": Sample(
        (
            "names of Wikidata (Merhav and Ash, 2018, CC0) and words of SIGMORPHON 2021 task 1 (CC BY-SA 3.0), with "
            "errors made for this sample",
            "nomes da Wikidata (Merhav e Ash, 2018, CC0) e palavras da tarefa 1 do SIGMORPHON 2021 (CC BY-SA 3.0), "
            "com erros feitos para esta amostra",
        ),
        ("It finds names and words that are misspelled.", "Encontra nomes e palavras escritos com erros."),
        None,
        "cc-by-sa-3.0",
        columns=("anchor", "positive"),
        rows=misspellings,
    ),
    "hebrew": Sample(
        (
            "names in Latin and Hebrew letters (Merhav and Ash, 2018), CC0",
            "nomes em letras latinas e hebraicas (Merhav e Ash, 2018), CC0",
        ),
        ("It writes names in Hebrew letters.", "Escreve nomes em letras hebraicas."),
        "he",
        example="maria",
        columns=_PAIRS,
        files=FILES["hebrew"],
    ),
    "lener_br": Sample(
        ("LeNER-Br (Luz de Araujo et al., 2018), MIT", "LeNER-Br (Luz de Araujo et al., 2018), MIT"),
        (
            "It finds persons, organizations, places, times, laws and court cases in Brazilian legal texts.",
            "Encontra pessoas, organizações, lugares, datas, leis e julgados em textos jurídicos do Brasil.",
        ),
        columns=_TAGGED,
        files=FILES["lener_br"],
    ),
    "bosque": Sample(
        ("a part of UD Portuguese-Bosque, CC BY-SA 4.0", "uma parte do UD Portuguese-Bosque, CC BY-SA 4.0"),
        (
            "It tags the parts of speech of Portuguese sentences.",
            "Etiqueta as classes de palavras de frases em português.",
        ),
        licence="cc-by-sa-4.0",
        columns=_TAGGED,
        files=FILES["bosque"],
    ),
    "faquad": Sample(
        (
            "FaQuAD (Sayama et al., 2019), CC BY 4.0; the test is of seven documents of its training file",
            "FaQuAD (Sayama et al., 2019), CC BY 4.0; o teste é de sete documentos do seu arquivo de treino",
        ),
        (
            "It finds the answer to a question in a Portuguese text.",
            "Encontra num texto em português a resposta a uma pergunta.",
        ),
        licence="cc-by-4.0",
        columns=("id", "context", "question", "answers"),
        files=FILES["faquad"],
    ),
    "simpler_sentences": Sample(
        (
            "pairs of sentences of PorSimplesSent (Leal et al., 2018), CC BY 4.0",
            "pares de frases do PorSimplesSent (Leal et al., 2018), CC BY 4.0",
        ),
        (
            "It tells which of two wordings of a Portuguese sentence is the simpler one.",
            "Diz qual de duas redações de uma frase em português é a mais simples.",
        ),
        licence="cc-by-4.0",
        columns=_LABELLED,
        rows=simpler_sentences,
    ),
    "simplification": Sample(
        (
            "sentences of PorSimplesSent (Leal et al., 2018) and their simpler wordings, CC BY 4.0",
            "frases do PorSimplesSent (Leal et al., 2018) e suas redações mais simples, CC BY 4.0",
        ),
        (
            "It words Portuguese sentences more simply; it may invent words.",
            "Escreve frases em português de modo mais simples; pode inventar palavras.",
        ),
        licence="cc-by-4.0",
        columns=_PAIRS,
        rows=simplifications,
    ),
    "titles": Sample(
        (
            "paragraphs of Brazilian public services, help pages and tutorials and their titles, under their own "
            "licences (MIT, MPL 2.0, CC BY, CC BY-SA), listed in recipes/data/portugues and portugues_2",
            "parágrafos de serviços públicos, páginas de ajuda e tutoriais do Brasil e seus títulos, com suas "
            "licenças (MIT, MPL 2.0, CC BY, CC BY-SA), listadas em recipes/data/portugues e portugues_2",
        ),
        (
            "It writes titles of Portuguese paragraphs; it may invent words.",
            "Escreve títulos para parágrafos em português; pode inventar palavras.",
        ),
        columns=_PAIRS,
        rows=titles,
    ),
}
