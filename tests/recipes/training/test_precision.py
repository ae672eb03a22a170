"""Whatever the precision of training, a recipe scores with products in float32, as the saved model will be used."""

import pytest
import torch
from torch.nn.modules.module import register_module_forward_hook
from transformers import PreTrainedModel

from atenta.engines.saved_model import load_config
from atenta.recipes.training.trainer import RecipeTrainer
from support.recipes import run_here, tiny, write_lines

DATA = {
    "seq2seq": ["nao\tnão", "e\té", "so\tsó"],
    "finetune_characters": ["Ela esta la.\tEla está lá.", "E a mae nao vem.\tE a mãe não vem."] * 4,
    "train_embeddings": ["anchor\tpositive", "casa\tlar", "rua\tvia", "falar\tdizer"],
}
FURTHER = {"finetune_characters": {"min_spelling_count": 1, "min_variant_count": 1, "min_character_count": 1}}


@pytest.fixture
def products(monkeypatch):
    """The types of the outputs of all linear layers, before and after the end of `fit`, and of the weights then.

    The implementations of attention besides.
    """
    seen = {"trained": set(), "scored": set(), "weights": set(), "attention": set()}
    now = ["trained"]

    def fit(trainer, run, own=RecipeTrainer.fit):
        now[0] = "trained"
        own(trainer, run)
        seen["weights"] |= {weight.dtype for weight in trainer.model.parameters()}
        now[0] = "scored"

    def record(module, inputs, output):
        if isinstance(module, torch.nn.Linear):
            seen[now[0]].add(output.dtype)
        if isinstance(module, PreTrainedModel):
            seen["attention"].add((now[0], module.config._attn_implementation))

    monkeypatch.setattr(RecipeTrainer, "fit", fit)
    hook = register_module_forward_hook(record)
    yield seen
    hook.remove()


@pytest.mark.parametrize("name", DATA)
def test_scores_are_of_products_in_float32(name, tmp_path, products):
    data = write_lines(tmp_path / "rows.tsv", *DATA[name])
    options = {"train_file": data, "validation_file": data, "output_dir": tmp_path / "model", "max_steps": 2}
    arguments = [*tiny(name, **options, **FURTHER.get(name, {})), "--bf16", "true"]
    run_here(name, tmp_path, *arguments)
    assert torch.bfloat16 in products["trained"]
    assert products["scored"] == products["weights"] == {torch.float32}
    longest = load_config(tmp_path / "model").max_position_embeddings
    in_training = "eager" if longest <= 256 else "sdpa"
    assert products["attention"] == {("trained", in_training), ("scored", "sdpa")}
    products["scored"].clear()
    run_here(name, tmp_path, *arguments)  # which only scores
    assert products["scored"] == {torch.float32}
