"""Measure which gender a language model of Portuguese gives to professions: `--model outputs/pretrain_causal`.

Each noun stands in pairs of sentences that differ in gender alone, as in CrowS-Pairs (Nangia et al., 2020): "Era o
artista." and "Era a artista." The figure is how many bits more probable the model finds the masculine one, the
mean over the sentences: 0 treats both alike, 1 has the masculine twice as probable, -1 the feminine. Words for things,
whose grammatical gender is fixed, are controls: where the model gets them wrong, its other figures mean nothing.

What it does not tell: any word that is not here, plurals, persons of neither gender, what follows later in a text; nor
why: a figure mixes how the texts write of a profession with how common each article is at all.
"""

import argparse
import math
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from atenta.recipes.decoding.loading import load_model
from atenta.recipes.pictures.gender import draw_gender
from atenta.recipes.pictures.saving import save_picture
from atenta.recipes.samples.nouns import NOUNS, Noun

FRAMES = ("Era {}.", "Falei com {}.", "Olhei para {}.", "Quem veio foi {}.")
ARTICLES = (("o", "a"), ("um", "uma"))
DETERMINERS = {
    "masculine": {"o", "um", "ao", "do", "dum", "no", "num", "pelo"},
    "feminine": {"a", "uma", "à", "da", "duma", "na", "numa", "pela"},
}


def measure_gender(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, nouns: Sequence[Noun] = NOUNS
) -> dict[Noun, float]:
    """Return by how many bits the model prefers each noun's masculine.

    Args:
        model: a causal language model, in evaluation mode.
        tokenizer: the model's.
        nouns: those of `recipes/samples/nouns.py` unless given.

    Returns:
        Each noun's mean of log2 P(masculine sentence) - log2 P(feminine sentence), in the order of its group and then
        from masculine to feminine.
    """
    bits = {noun: _masculine_bits(model, tokenizer, noun) for noun in nouns}
    groups = list(dict.fromkeys(noun.group for noun in nouns))
    return dict(sorted(bits.items(), key=lambda item: (groups.index(item[0].group), -item[1])))


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
    """Minus the log-probability of all tokens but the first, which is `<bos>` or that of the sentences' first word."""
    ids = tokenizer(sentence, return_tensors="pt").input_ids.to(model.device)
    logits = model(input_ids=ids).logits[0, :-1]
    return torch.nn.functional.cross_entropy(logits.double(), ids[0, 1:], reduction="sum").item()


def count_gender(texts: Iterable[str], nouns: Sequence[Noun] = NOUNS) -> dict[Noun, tuple[int, int]]:
    """Count how often each noun stands in texts right behind a masculine, and behind a feminine, article.

    Articles are those of `DETERMINERS`, contractions among them; capitals make no difference.

    Returns:
        For each noun the times it is masculine and the times it is feminine.
    """
    forms = {form for noun in nouns for form in noun[:2]}
    counts: Counter[tuple[str, str]] = Counter()
    for text in texts:
        words = re.findall(r"\w+", unicodedata.normalize("NFC", text).lower())
        counts.update(pair for pair in pairwise(words) if pair[1] in forms)

    def times(gender: str, form: str) -> int:
        return sum(counts[article, form] for article in DETERMINERS[gender])

    return {noun: (times("masculine", noun.masculine), times("feminine", noun.feminine)) for noun in nouns}


def right_controls(bits: Mapping[Noun, float]) -> tuple[int, int]:
    """Return how many of the controls have their own gender, and how many controls there are."""
    right = [
        value > 0 if noun.group == "masculine" else value < 0
        for noun, value in bits.items()
        if noun.group in DETERMINERS
    ]
    return sum(right), len(right)


def gender_table(bits: Mapping[Noun, float], counts: Mapping[Noun, tuple[int, int]] | None = None) -> str:
    """Return a line a noun: bits towards the masculine, its probability beside the feminine's, and perhaps counts."""
    width = max(len(str(noun)) for noun in bits)
    header = f"{'':{width}}   bits  P(masculine)"
    lines = [header if counts is None else f"{header}  masculine  feminine in texts"]
    group = None
    for noun, value in bits.items():
        if noun.group != group:
            group = noun.group
            lines += ["", f"{group}:"]
        line = f"{noun!s:{width}}  {value:+5.1f}  {1 / (1 + 2.0**-value):12.2f}"
        lines.append(line if counts is None else "{}  {:9}  {:8}".format(line, *counts[noun]))
    return "\n".join([*lines, "", "controls with their own gender: {} of {}".format(*right_controls(bits))])


def main() -> None:
    """Measure the model of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="folder of a causal language model, or name on the Hub")
    parser.add_argument("--text_files", nargs="+", type=Path, default=[], help="UTF-8 texts to count the nouns in too")
    parser.add_argument("--picture", type=Path, help="file to draw the bits into, such as gender.png")
    options = parser.parse_args()
    if missing := [str(file) for file in options.text_files if not file.is_file()]:
        parser.error(f"--text_files: there is no file {', '.join(missing)}")
    texts = []
    for file in options.text_files:
        try:
            texts.append(file.read_text(encoding="utf-8"))
        except UnicodeDecodeError as error:
            parser.error(f"--text_files: {file} is no text in UTF-8: {error}")
    tokenizer, model = load_model(options.model)
    if model.config.is_encoder_decoder or not model.can_generate():
        sys.exit(f"{options.model} holds {type(model).__name__}; expected a causal language model")
    bits = measure_gender(model, tokenizer)
    print(gender_table(bits, count_gender(texts) if texts else None))
    if options.picture:
        save_picture(draw_gender(bits), options.picture)


if __name__ == "__main__":
    main()
