"""One of several processes that share a model by tensor parallelism. It compares its results with the whole model."""

import sys
from pathlib import Path

import torch
import torch.distributed
from torch.distributed.tensor import DTensor

from support.models import LANGUAGE_MODELS, assert_equal, double_model, inputs_for, texts


def compare(model_class, folder: Path, **options) -> None:
    """Check that a model split over the processes, loaded from `folder`, gives the logits and texts of the whole one.

    Raises:
        AssertionError: If they differ, or if this process holds most of the model.
    """
    whole = double_model(model_class, **options)
    if torch.distributed.get_rank() == 0:
        whole.save_pretrained(folder)
    torch.distributed.barrier()
    parts = model_class.from_pretrained(folder, tp_plan="auto")
    held = sum(local(parameter).numel() for parameter in parts.parameters())
    assert held < 0.6 * whole.num_parameters()
    with torch.no_grad():
        assert_equal(parts(**inputs_for(model_class)).logits, whole(**inputs_for(model_class)).logits)
    if whole.can_generate():
        options = {"attention_mask": torch.ones_like(texts()), "max_new_tokens": 6}
        assert torch.equal(parts.generate(texts(), **options), whole.generate(texts(), **options))


def local(parameter: torch.Tensor) -> torch.Tensor:
    """Return the part of a parameter that this process holds."""
    return parameter.to_local() if isinstance(parameter, DTensor) else parameter


if __name__ == "__main__":
    torch.distributed.init_process_group("gloo")
    for model_class in LANGUAGE_MODELS:
        for tied in (False, True):
            name = f"{model_class.__name__}-{'tied' if tied else 'untied'}"
            positions = "sinusoidal" if tied else "rotary"
            options = {"tie_word_embeddings": tied, "attention_bias": tied, "position_embedding_type": positions}
            compare(model_class, Path(sys.argv[1]) / name, **options)
    torch.distributed.destroy_process_group()
