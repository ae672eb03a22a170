"""Build the demo's page: `demo/site/`, a folder for any static host, with all that the page loads.

npm ci        # in demo/: onnxruntime-web
python demo/build.py
"""

import argparse
import copy
import json
import shutil
import sys
from pathlib import Path

import onnx
import torch
from mistakes import find_mistakes
from torch import nn
from transformers import PreTrainedModel

from atenta.engines.onnx_export import export_graph, given, graphs_of
from atenta.engines.torch_models import load_model
from atenta.phonemization import numbers_in_words, spelled_out
from atenta.phonemization.portuguese_words import PHONES_FOLDER
from atenta.restoration.portuguese import MODEL_FOLDER, SPEECH_FOLDER

DEMO = Path(__file__).parent
TRAINED = DEMO.parent / "outputs" / "accents"
RUNTIME = DEMO / "node_modules" / "onnxruntime-web" / "dist"
RUNTIME_FILES = ("ort.wasm.bundle.min.mjs", "ort-wasm-simd-threaded.wasm")
# The front matter of a Space of the Hub; other hosts do not read it.
README = """---
title: atenta
emoji: ✍️
colorFrom: indigo
colorTo: yellow
sdk: static
app_file: index.html
license: apache-2.0
short_description: Accents, punctuation and phones of Portuguese
---

Restores the accents, capitals and punctuation of Portuguese text in the browser, and writes its phones. Nothing that
is typed is sent anywhere.
"""


class CrossAttentionWeights(nn.Module):
    """The graph of what each character of an output read of its source: from ids to the weights of all heads."""

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        self.model = copy.deepcopy(model)
        self.model.set_attn_implementation("eager")  # the others return no weights

    def forward(self, input_ids: torch.Tensor, decoder_input_ids: torch.Tensor) -> torch.Tensor:
        """Return the weights, (blocks, heads, target_length, source_length), each row with the sum 1.

        Args:
            input_ids: (1, source_length).
            decoder_input_ids: (1, target_length), from the start token on: position i chooses character i + 1.
        """
        outputs = self.model(
            input_ids=input_ids, decoder_input_ids=decoder_input_ids, output_attentions=True, use_cache=False
        )
        return torch.cat(outputs.cross_attentions)


def build_site(site: Path, trained: Path, phones: Path, speech: Path) -> None:
    """Write the page, its models, their mistakes and onnxruntime-web into a folder, in place of what it had."""
    if not (trained / "config.json").is_file():
        raise FileNotFoundError(f"{trained} has no model; train it, which takes five minutes: make run")
    if not (phones / "config.json").is_file():
        raise FileNotFoundError(f"{phones} has no model; train it, which takes an hour: make phones-model")
    if not (speech / "config.json").is_file():
        raise FileNotFoundError(f"{speech} has no model; train it with recipes/configs/portuguese_speech.yaml")
    if not RUNTIME.is_dir():
        raise FileNotFoundError(f"{RUNTIME} is not there; install onnxruntime-web: npm ci --prefix {DEMO.name}")
    found = [each.name for each in site.iterdir()] if site.exists() else []
    if found and ("onnxruntime" not in found or ".git" in found):
        raise FileExistsError(f"{site} has files other than this page's; give an empty folder or a new name.")
    shutil.rmtree(site, ignore_errors=True)
    shutil.copytree(DEMO / "page", site)
    (site / "README.md").write_text(README, encoding="utf-8")
    _copy(RUNTIME, site / "onnxruntime", *RUNTIME_FILES)
    translator, speaker = (site / "models" / name for name in ("encoder_decoder", "phones"))
    for folder, name in ((MODEL_FOLDER, "tagger"), (speech, "speech")):
        _copy(folder, site / "models" / name, "config.json", "tokenizer.json", "spellings.txt", "onnx/model_int8.onnx")
    _copy(phones, speaker, "config.json", "tokenizer.json", "readings.txt", "onnx/model_int8.onnx")
    tables = {
        "abbreviations": spelled_out.ABBREVIATIONS,
        "noAbbreviations": spelled_out.NO_ABBREVIATIONS,
        "letters": spelled_out.LETTER_NAMES,
        "initials": spelled_out.SPELT,
        "titles": spelled_out.TITLES,
        "singleLetters": spelled_out.SINGLE_LETTERS,
        "signsOfAddresses": spelled_out.SIGNS_OF_ADDRESSES,
        "parts": numbers_in_words.PARTS,
        "names": numbers_in_words.NAMES,
        "meetings": numbers_in_words.MEETINGS,
        "foreignU": spelled_out.FOREIGN_U,
        "foreignWord": spelled_out.FOREIGN_WORD,
        "foreignLetters": spelled_out.FOREIGN_LETTERS,
    }
    (speaker / "spelled_out.json").write_text(json.dumps(tables), encoding="utf-8")
    (site / "mistakes.json").write_text(json.dumps(find_mistakes(), ensure_ascii=False), encoding="utf-8")
    _copy(trained, translator, "config.json", "generation_config.json", "tokenizer.json")
    model = load_model(trained)
    for name, export in graphs_of(model).items():
        onnx.save(export().model, translator / f"{name}.onnx")
    sizes = {"input_ids": "source_length", "decoder_input_ids": "new_length"}
    inputs = {name: given(1, size, dtype=torch.long) for name, size in sizes.items()}
    weights = export_graph(CrossAttentionWeights(model), inputs, ["weights"])
    onnx.save(weights.model, translator / "cross_attention.onnx")


def _copy(source: Path, target: Path, *names: str) -> None:
    target.mkdir(parents=True)
    for name in names:
        shutil.copy(source / name, target)


def main() -> None:
    """Build the page in the folder on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--site", type=Path, default=DEMO / "site", help="the folder of the page, which is replaced")
    parser.add_argument("--model", type=Path, default=TRAINED, help="the accents encoder-decoder")
    parser.add_argument("--phones", type=Path, default=PHONES_FOLDER, help="the tagger of letters, exported in int8")
    parser.add_argument("--speech", type=Path, default=SPEECH_FOLDER, help="the tagger of signs, exported in int8")
    options = parser.parse_args()
    try:
        build_site(options.site, options.model, options.phones, options.speech)
    except (FileNotFoundError, FileExistsError) as error:
        sys.exit(str(error))
    print(f"Built {options.site}. See it: python -m http.server --directory {options.site}")


if __name__ == "__main__":
    main()
