"""LM Evaluation Harness, where it is installed, scores a decoder as docs/en/saved_models.md says."""

import json
import math
import re
from pathlib import Path

import pytest
import torch

from atenta import AtentaDecoderForCausalLM, AtentaTokenizer
from support.models import nats_at_once
from support.saved import save_with_tokenizer

PAGE = Path(__file__).parents[2] / "docs" / "en" / "saved_models.md"
TEXTS = ["Era uma vez.", "Não é fácil: ß"]

pytestmark = pytest.mark.slow  # it imports much


@torch.inference_mode()
def test_bits_per_byte(tmp_path, monkeypatch):
    lm_eval = pytest.importorskip("lm_eval")
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager

    page = PAGE.read_text(encoding="utf-8")
    (task,) = re.findall(r"```yaml\n(task: my_texts\n.*?)```", page, re.DOTALL)
    options = dict(each.split("=") for each in re.search(r"--model_args (\S+)", page)[1].split(","))
    monkeypatch.chdir(tmp_path)
    Path("my_texts.yaml").write_text(task, encoding="utf-8")
    Path("texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS), encoding="utf-8")
    model = save_with_tokenizer(AtentaDecoderForCausalLM, tmp_path / "model").eval()
    tokenizer = AtentaTokenizer.from_pretrained(tmp_path / "model")

    adds_bos = {"False": False}[options["add_bos_token"]]  # else each text has two, and the second is scored
    scored = HFLM(pretrained=str(tmp_path / "model"), add_bos_token=adds_bos, device="cpu", dtype="float32")
    manager = TaskManager(include_path=str(tmp_path), include_defaults=False)
    found = lm_eval.simple_evaluate(scored, tasks=["my_texts"], task_manager=manager, bootstrap_iters=0)
    nats = nats_at_once(model, tokenizer(TEXTS).input_ids)
    expected = nats / math.log(2) / sum(len(text.encode()) for text in TEXTS)
    assert found["results"]["my_texts"]["bits_per_byte,none"] == pytest.approx(expected, rel=1e-5)
