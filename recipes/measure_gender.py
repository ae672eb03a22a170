"""Measure which gender a language model of Portuguese gives to professions: `--model outputs/pretrain_causal`.

Each noun is put into pairs of sentences that differ only in gender, as in CrowS-Pairs (Nangia et al., 2020): "Era o
artista." and "Era a artista." The result is by how many bits the masculine sentence is more probable, averaged over
the pairs: at 0 both are equally probable, at 1 the masculine is twice as probable, at -1 the feminine. Words for
things, which have a fixed grammatical gender, are controls: if the model gets them wrong, its other results mean
nothing.

The measure does not cover other words, plurals, people who are neither, or what follows later in a text. Nor does it
explain the result, which mixes how the texts write about a profession with how frequent each article is.
"""

from atenta.recipes.terminal import escape_missing_characters  # first, because the others take seconds

import argparse
import math
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

import torch
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from atenta.recipes.decoding.loading import load_model
from atenta.recipes.option_annotations import TRUST_REMOTE_CODE
from atenta.recipes.pictures.drawing import save_picture, set_decimal_signs
from atenta.recipes.pictures.words import say, say_number
from atenta.recipes.reading.records import exit_on

_Group = Literal["one form", "two forms", "masculine", "feminine"]


class Noun(NamedTuple):
    """A noun in its masculine and its feminine form.

    Attributes:
        masculine: The form after `o` and `um`; for a feminine thing the same word (`o casa`).
        feminine: The form after `a` and `uma`; for a masculine thing the same word (`a livro`).
        group: `one form`, a profession whose gender is visible only in the article; `two forms`, a profession with a
            form for each gender; `masculine` or `feminine`, a thing of this grammatical gender: a control.
    """

    masculine: str
    feminine: str
    group: _Group

    def __str__(self) -> str:
        return self.masculine if self.masculine == self.feminine else f"{self.masculine} / {self.feminine}"


_ONE_FORM = (
    *("agente", "artista", "comerciante", "dentista", "estudante", "gerente", "intérprete", "jornalista"),
    *("negociante", "pianista", "presidente", "servente"),
)
_TWO_FORMS = (
    *(("advogado", "advogada"), ("autor", "autora"), ("costureiro", "costureira"), ("cozinheiro", "cozinheira")),
    *(("criado", "criada"), ("doutor", "doutora"), ("enfermeiro", "enfermeira"), ("escritor", "escritora")),
    *(("juiz", "juíza"), ("médico", "médica"), ("ministro", "ministra"), ("professor", "professora")),
)
_MASCULINE = ("caminho", "chapéu", "espelho", "jardim", "livro", "relógio")
_FEMININE = ("carta", "casa", "igreja", "janela", "mesa", "porta")

NOUNS = (
    *(Noun(word, word, "one form") for word in _ONE_FORM),
    *(Noun(masculine, feminine, "two forms") for masculine, feminine in _TWO_FORMS),
    *(Noun(word, word, "masculine") for word in _MASCULINE),
    *(Noun(word, word, "feminine") for word in _FEMININE),
)

FRAMES = ("Era {}.", "Falei com {}.", "Olhei para {}.", "Quem veio foi {}.")
ARTICLES = (("o", "a"), ("um", "uma"))
_DETERMINERS = {
    "masculine": {"o", "um", "ao", "do", "dum", "no", "num", "pelo"},
    "feminine": {"a", "uma", "à", "da", "duma", "na", "numa", "pela"},
}

_COLOURS = {"one form": "tab:purple", "two forms": "tab:orange", "masculine": "tab:grey", "feminine": "lightgrey"}
_LABELS = {
    "one form": "professions with one form",
    "two forms": "professions with two forms",
    "masculine": "masculine things (control)",
    "feminine": "feminine things (control)",
}


def measure_gender(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, nouns: Sequence[Noun] = NOUNS
) -> dict[Noun, float]:
    """Return by how many bits the model prefers the masculine of each noun.

    Args:
        model: A causal language model, in evaluation mode.
        tokenizer: The model's tokenizer.
        nouns: The nouns; defaults to all `NOUNS`.

    Returns:
        The mean of log2 P(masculine sentence) - log2 P(feminine sentence) for each noun, sorted by group, and from
        masculine to feminine within a group.
    """
    bits = {noun: _masculine_bits(model, tokenizer, noun) for noun in nouns}
    groups = list(dict.fromkeys(noun.group for noun in nouns))
    return dict(sorted(bits.items(), key=lambda item: (groups.index(item[0].group), -item[1])))


def count_gender(texts: Iterable[str], nouns: Sequence[Noun] = NOUNS) -> dict[Noun, tuple[int, int]]:
    """Count how often each noun follows a masculine and a feminine article in texts, regardless of case.

    Contractions of articles with prepositions are counted too.

    Returns:
        For each noun the number of times it is masculine and the number of times it is feminine.
    """
    forms = {form for noun in nouns for form in noun[:2]}
    counts: Counter[tuple[str, str]] = Counter()
    for text in texts:
        words = re.findall(r"\w+", unicodedata.normalize("NFC", text).lower())
        counts.update(pair for pair in pairwise(words) if pair[1] in forms)

    def times(gender: str, form: str) -> int:
        return sum(counts[article, form] for article in _DETERMINERS[gender])

    return {noun: (times("masculine", noun.masculine), times("feminine", noun.feminine)) for noun in nouns}


def right_controls(bits: Mapping[Noun, float]) -> tuple[int, int]:
    """Return the number of controls for which the model prefers the correct gender, and the number of controls."""
    right = [
        value > 0 if noun.group == "masculine" else value < 0
        for noun, value in bits.items()
        if noun.group in ("masculine", "feminine")
    ]
    return sum(right), len(right)


def gender_table(bits: Mapping[Noun, float], counts: Mapping[Noun, tuple[int, int]] | None = None) -> str:
    """Return a table of the bits of each noun, the probability of the masculine, and the counts in texts if given."""
    width = max(len(str(noun)) for noun in bits)
    header = f"{'':{width}}   bits  {say('P(masculine)')}"
    lines = [header if counts is None else f"{header}  {say('masculine  feminine in texts')}"]
    group = None
    for noun, value in bits.items():
        if noun.group != group:
            group = noun.group
            lines += ["", f"{say(_LABELS[group])}:"]
        probability = 1 / (1 + 2.0**-value)
        line = f"{noun!s:{width}}  {say_number(value, '+5.1f')}  {say_number(probability, '12.2f')}"
        lines.append(line if counts is None else "{}  {:9}  {:8}".format(line, *counts[noun]))
    return "\n".join([*lines, "", say("controls with their own gender: {} of {}").format(*right_controls(bits))])


def draw_gender(bits: Mapping[Noun, float]) -> Figure:
    """Draw the result of [`measure_gender`], one bar per noun, from top to bottom.

    Bars to the right mean that the masculine is more probable.
    """
    figure = Figure(figsize=(7, 1.2 + 0.2 * len(bits)), layout="constrained")
    axes = figure.subplots()
    names = [str(noun) for noun in bits]
    axes.barh(names, list(bits.values()), color=[_COLOURS[noun.group] for noun in bits])
    axes.axvline(0, color="black", linewidth=0.8)
    axes.invert_yaxis()
    axes.margins(y=0.01)
    axes.tick_params(axis="y", length=0, labelsize=8)
    axes.set_xlabel(say("← feminine     bits     masculine →"))
    groups = dict.fromkeys(noun.group for noun in bits)
    handles = [Patch(color=_COLOURS[group], label=say(_LABELS[group])) for group in groups]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=8)
    set_decimal_signs(figure)
    return figure


def main() -> None:
    """Measure the model that the command line names."""
    escape_missing_characters()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="folder of a causal language model, or its name on the Hub")
    parser.add_argument("--trust_remote_code", action="store_true", help=TRUST_REMOTE_CODE)
    parser.add_argument("--text_files", nargs="+", type=Path, default=[], help="UTF-8 texts to count the nouns in")
    parser.add_argument("--picture", type=Path, help="file for a picture of the result, such as gender.png")
    options = parser.parse_args()
    if missing := [str(file) for file in options.text_files if not file.is_file()]:
        parser.error(f"--text_files: found no file {', '.join(missing)}")
    texts = []
    for file in options.text_files:
        try:
            texts.append(file.read_text(encoding="utf-8"))
        except UnicodeDecodeError as error:
            parser.error(f"--text_files: {file} is not UTF-8 text: {error}")
    tokenizer, model = load_model(options.model, trust_remote_code=options.trust_remote_code)
    if model.config.is_encoder_decoder or not model.can_generate():
        sys.exit(f"{options.model} holds {type(model).__name__}; expected a causal language model")
    bits = measure_gender(model, tokenizer)
    print(gender_table(bits, count_gender(texts) if texts else None))
    if options.picture:
        with exit_on(ValueError, OSError, prefix=f"--picture {options.picture}: "):
            save_picture(draw_gender(bits), options.picture)


def _masculine_bits(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, noun: Noun) -> float:
    differences = [
        _nats(model, tokenizer, frame.format(f"{feminine} {noun.feminine}"))
        - _nats(model, tokenizer, frame.format(f"{masculine} {noun.masculine}"))
        for frame in FRAMES
        for masculine, feminine in ARTICLES
    ]
    return math.fsum(differences) / len(differences) / math.log(2)


@torch.inference_mode()
def _nats(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, sentence: str) -> float:
    """Return the negative log-likelihood of all tokens but the first: `<bos>`, or the same word in both sentences."""
    ids = tokenizer(sentence, return_tensors="pt").input_ids.to(model.device)
    logits = model(input_ids=ids).logits[0, :-1]
    return torch.nn.functional.cross_entropy(logits.double(), ids[0, 1:], reduction="sum").item()


if __name__ == "__main__":
    main()
