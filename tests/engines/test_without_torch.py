"""The onnxruntime engine where neither torch nor transformers is installed."""

import json
import shutil
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

import atenta
from atenta import AtentaEncoderForTokenClassification
from atenta.engines.engine import load_engine
from support.ranks import run

NEEDED = ("numpy", "numpy.libs", "onnxruntime", "tokenizers", "lazy_loader")
TEXTS = ["a cao", "", "ab\u0303 o 日"]
SEARCH = {"num_beams": 3, "max_new_tokens": 20}
# `-I` and `-S` leave nothing but the standard library to import from.
ANSWER = """
import importlib.util, json, sys
packages, folder, texts, search = sys.argv[1:]
sys.path.append(packages)
for name in ("torch", "transformers", "onnx", "safetensors", "huggingface_hub"):
    assert importlib.util.find_spec(name) is None, name
from atenta import load_engine
generator, head = (load_engine(f"{folder}/{name}") for name in ("generator", "head"))
generated = generator.generate(json.loads(texts), **json.loads(search))
streamed = "".join(generator.stream(json.loads(texts)[0], max_new_tokens=5))
logits = [outputs["logits"].tolist() for outputs in head.predict(json.loads(texts))]
try:
    load_engine(f"{folder}/head", "torch")
except ImportError as error:
    refused = str(error)
print(json.dumps([generator.name, generated, streamed, logits, refused]))
assert not {"torch", "transformers"} & {name.partition(".")[0] for name in sys.modules}
"""


@pytest.fixture
def packages(tmp_path):
    """A folder with nothing but this package and those that the engine needs."""
    folder = tmp_path / "packages"
    folder.mkdir()
    for name in NEEDED:
        for place in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
            if Path(place, name).is_dir():
                (folder / name).symlink_to(Path(place, name))
    (folder / "atenta").symlink_to(atenta.__path__[0])
    return folder


@pytest.mark.filterwarnings("ignore:.*reached the largest length")
def test_answers_are_those_of_this_process(packages, encoder_decoder_folder, head_folder, tmp_path):
    for name, folder in (
        ("generator", encoder_decoder_folder),
        ("head", head_folder(AtentaEncoderForTokenClassification)),
    ):
        without = shutil.ignore_patterns("*.py", "*.safetensors")
        shutil.copytree(folder, tmp_path / "models" / name, ignore=without)
    arguments = [packages, tmp_path / "models", json.dumps(TEXTS), json.dumps(SEARCH)]
    printed = run(sys.executable, "-I", "-S", "-W", "ignore", "-c", ANSWER, *arguments, cwd=tmp_path)
    name, generated, streamed, logits, refused = json.loads(printed)
    assert name == "onnx"
    generator = load_engine(encoder_decoder_folder, "torch")
    assert generated == generator.generate(TEXTS, **SEARCH)
    assert streamed == generator.generate(TEXTS[0], max_new_tokens=5)
    head = load_engine(head_folder(AtentaEncoderForTokenClassification), "torch")
    for ours, theirs in zip(logits, head.predict(TEXTS), strict=True):
        np.testing.assert_allclose(ours, theirs["logits"], atol=1e-4, rtol=0)
    assert refused.startswith("engine='torch' needs torch and transformers: pip install")
