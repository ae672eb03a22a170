"""Data of the models that the laboratory computes in the page: pairs, and weights and a novel's text as scripts.

`python docs/page_data.py pairs FOLDER` writes pairs to train the encoder-decoder, and with `weights FOLDER` it puts
the model that was trained on them into `_static`. `make page-model` runs both. With `novel docs/_static` it
writes what the Transformer that is trained in the page reads.
"""

import base64
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedTokenizerBase

from atenta import AtentaEncoderDecoderForConditionalGeneration, AtentaTokenizer
from atenta.modeling.attention import MultiHeadAttention
from atenta.modeling.block import TransformerBlock
from atenta.recipes.samples.files import read_samples
from atenta.tokenization.base_letters import strip_accents

STATIC = Path(__file__).parent / "_static"
LONGEST, MOST_WORDS = 24, 4  # characters and words of a source: a map of attention must fit the width of a phone
HELD_OUT = 1000  # pairs of validation, and as many of the test
_LETTERS = "a-záàâãéêíóôõúç"
_WORDS = re.compile(rf"(?<![\w-])[{_LETTERS}]+(?: [{_LETTERS}]+)*(?![\w-])")
_SOURCES = {"portugues": "conversa-common-voice.txt", "portugues_2": "conversa-tatoeba*.txt"}
_BYTE = re.compile("<0x..>")  # a token that no text of the page needs
NOVEL_LENGTH, HELD_LENGTH, LEAST_TIMES = 120_000, 3_000, 5  # characters, and how often one must come to be kept
_NOVEL_HEAD = """\
// Beginnings of Dom Casmurro and Casa Velha, by Machado de Assis (public domain), by `python docs/page_data.py novel`.
"use strict";

const NOVEL = """
_HEAD = """\
// The weights of the page's model of accents, in 8 bits, by `make page-model`; its texts are in docs/sources.md.
// Each matrix is its levels, from -127 to 127, times the scale of their column; accents_model.js unpacks them.
"use strict";

const ACCENTS_WEIGHTS = """


def cut_short_spans(text: str, generator: random.Random) -> Iterator[str]:
    """Yield consecutive spans of one to four words in lower case, of at most 24 characters, without signs."""
    for run in _WORDS.findall(text.lower()):
        words = run.split()
        while words:
            size = generator.randint(1, MOST_WORDS)
            span, words = " ".join(words[:size]), words[size:]
            if len(span) <= LONGEST:
                yield span


def write_pairs(folder: Path) -> None:
    """Write `train.tsv`, `validation.tsv` and `test.tsv`, `source<TAB>target`.

    A source of several words that is in the test or the validation is not in the training; single words may be.
    """
    generator = random.Random(0)
    texts = [text for sample, files in _SOURCES.items() for text in read_samples(sample, files)]
    lines = sorted({line for text in texts for line in text.splitlines()})
    generator.shuffle(lines)
    spans = [span for line in lines for span in cut_short_spans(line, generator)]
    parts = {"test": spans[:HELD_OUT], "validation": spans[HELD_OUT : 2 * HELD_OUT], "train": spans[2 * HELD_OUT :]}
    held_out = {strip_accents(span) for split in ("test", "validation") for span in parts[split] if " " in span}
    folder.mkdir(parents=True, exist_ok=True)
    for split, chosen in parts.items():
        pairs = [(strip_accents(span), span) for span in chosen]
        kept = [pair for pair in pairs if split != "train" or pair[0] not in held_out]
        (folder / f"{split}.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in kept), encoding="utf-8")


def quantize(matrix: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the levels of a matrix, whole numbers from -127 to 127, and the scale of each column, their factor."""
    scales = (matrix.abs().amax(0) / 127).float().clamp(min=1e-12)
    return (matrix / scales).round().to(torch.int8), scales


def _pack(matrix: torch.Tensor) -> dict[str, Any]:
    """Return a matrix that multiplies from the right, or a vector as its one row, as `accents_model.js` reads it."""
    levels, scales = quantize(torch.atleast_2d(matrix.detach()))

    def text(numbers: torch.Tensor) -> str:
        return base64.b64encode(numbers.contiguous().numpy().tobytes()).decode("ascii")

    return {"columns": len(scales), "scales": text(scales), "levels": text(levels)}


def _pack_norm(norm: nn.LayerNorm | nn.Identity) -> dict[str, Any]:
    return {"gain": _pack(norm.weight), "shift": _pack(norm.bias)}


def _pack_attention(attention: MultiHeadAttention) -> dict[str, Any]:
    return {
        name: _pack(getattr(attention, f"{name[0]}_proj").weight.T) for name in ("query", "key", "value", "output")
    }


def _pack_block(block: TransformerBlock) -> dict[str, Any]:
    network = block.feed_forward
    packed = {
        "self": {**_pack_attention(block.self_attn), **_pack_norm(block.self_attn_frame.norm)},
        "network": {
            "up": _pack(network.up_proj.weight.T),
            "upBias": _pack(network.up_proj.bias),
            "down": _pack(network.down_proj.weight.T),
            "downBias": _pack(network.down_proj.bias),
            **_pack_norm(block.feed_forward_frame.norm),
        },
    }
    if block.cross_attn is not None and block.cross_attn_frame is not None:
        packed["cross"] = {**_pack_attention(block.cross_attn), **_pack_norm(block.cross_attn_frame.norm)}
    return packed


def page_weights(
    model: AtentaEncoderDecoderForConditionalGeneration, tokenizer: PreTrainedTokenizerBase
) -> dict[str, Any]:
    """Return what `AccentsModel` of `accents_model.js` reads: characters, heads and weights, without tokens of bytes.

    The model has `norm_first`, tied embeddings and sinusoidal positions, as `page_model.yaml` says.
    """
    vocabulary = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    kept = list(takewhile(lambda token: not _BYTE.fullmatch(token), vocabulary))
    sides = {"encoder": model.model.encoder, "decoder": model.model.decoder}
    return {
        "characters": kept,
        "headCount": model.config.num_attention_heads,
        "weights": {
            "tokens": _pack(model.lm_head.weight[: len(kept)]),
            "headBias": _pack(model.lm_head.bias[: len(kept)]),
            **{
                name: {"blocks": [_pack_block(block) for block in side.layers], **_pack_norm(side.norm)}
                for name, side in sides.items()
            },
        },
    }


def write_weights(folder: Path) -> None:
    """Write the weights of a trained model as `accents_weights.js`, which a page loads."""
    model = AtentaEncoderDecoderForConditionalGeneration.from_pretrained(folder)
    saved = page_weights(model, AtentaTokenizer.from_pretrained(folder))
    (STATIC / "accents_weights.js").write_text(f"{_HEAD}{json.dumps(saved, ensure_ascii=False)};\n", encoding="utf-8")


def write_novel(folder: Path) -> None:
    """Write `novel.js`: the beginnings of *Dom Casmurro*, to learn from, and of *Casa Velha*, to measure on.

    Rare characters, of numbers and footnotes, are left out of both.
    """
    train = read_samples("machado/train", "domCasmurro.txt")[0][:NOVEL_LENGTH]
    held = read_samples("machado/validation", "casaVelha.txt")[0][:HELD_LENGTH]
    times = Counter(train)
    kept = {
        part: "".join(character for character in text if times[character] >= LEAST_TIMES)
        for part, text in {"train": train, "held": held}.items()
    }
    text = json.dumps(kept, ensure_ascii=False)
    (folder / "novel.js").write_text(f"{_NOVEL_HEAD}{text};\n", encoding="utf-8")


if __name__ == "__main__":
    write = {"pairs": write_pairs, "weights": write_weights, "novel": write_novel}[sys.argv[1]]
    write(Path(sys.argv[2]))
