"""torch's `fully_shard` for each family: two processes with half of every weight compute what one process does.

The test starts this file as both processes with `torchrun`.
"""

import sys
from itertools import product
from pathlib import Path

import torch
import torch.distributed
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, set_model_state_dict
from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method

from atenta.modeling.block import TransformerBlock
from support.models import LANGUAGE_MODELS, assert_equal, double_model, inputs_for, pad, texts
from support.ranks import run_ranks
from support.tensor_parallel import local

LAYOUTS = (
    {"position_embedding_type": "learned"},
    {"position_embedding_type": "rotary", "norm_first": True, "tie_word_embeddings": True, "attention_bias": True},
)
STEPS = 2
FULL = StateDictOptions(full_state_dict=True, cpu_offload=True)


def test_two_processes_equal_one(tmp_path):
    run_ranks(Path(__file__), tmp_path)


def shard(model):
    """Split each block, then the remaining weights, over all processes."""
    for block in [module for module in model.modules() if isinstance(module, TransformerBlock)]:
        fully_shard(block)
    fully_shard(model)
    if model.can_generate():
        register_fsdp_forward_method(model, "generate")  # it calls the encoder directly
    return model


def batch_for(model_class):
    """Return four texts with equally many labels, so that the mean loss of the halves is that of the batch."""
    inputs = inputs_for(model_class, batch=4)
    length = inputs.get("decoder_input_ids", inputs["input_ids"]).shape[1]
    labels = texts(batch=4, length=length, seed=3)
    labels[:, ::3] = -100
    return inputs | {"labels": labels}


def own_half(batch):
    """Return this process's half of the rows."""
    return {name: rows.chunk(2)[torch.distributed.get_rank()] for name, rows in batch.items()}


def train(model, batch):
    """Take some steps of AdamW and return the loss of each.

    Epsilon is far above rounding errors, which AdamW would otherwise amplify where a gradient is 0.
    """
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, eps=1e-4)  # made before a forward pass gathers weights
    losses = []
    for _ in range(STEPS):
        losses.append(model(**batch).loss)
        losses[-1].backward()
        optimizer.step()
        optimizer.zero_grad()
    return torch.stack(losses).detach()


def check_split(sharded, whole):
    held = sum(local(parameter).numel() for parameter in sharded.parameters())
    assert held < 0.6 * whole.num_parameters(), f"{held} of {whole.num_parameters()} numbers are held here"


def check_training(sharded, whole):
    """The mean of the losses and the trained weights are those of one process with the whole batch."""
    before = {name: weight.clone() for name, weight in whole.state_dict().items()}
    batch = batch_for(type(whole))
    losses = train(sharded, own_half(batch))
    torch.distributed.all_reduce(losses)
    assert_equal(losses / 2, train(whole, batch))
    after = get_model_state_dict(sharded, options=StateDictOptions(full_state_dict=True))
    assert after.keys() == before.keys()
    for name, weight in whole.state_dict().items():
        assert_equal(after[name], weight)
        assert (weight - before[name]).abs().max() > 1e-3, name


def check_saving(sharded, whole, folder):
    """The processes save an ordinary model."""
    state = get_model_state_dict(sharded, options=FULL)  # on the first process alone
    if torch.distributed.get_rank() == 0:
        sharded.save_pretrained(folder, state_dict=state)
        assert (folder / "model.safetensors").is_file()
    torch.distributed.barrier()
    loaded, report = type(whole).from_pretrained(folder, output_loading_info=True)
    assert not any(report.values()), report
    assert loaded.config.architectures == [type(whole).__name__]
    for name, weight in loaded.state_dict().items():
        assert_equal(weight, whole.state_dict()[name])
    return loaded


def check_loading(loaded, whole, options):
    """The first process loads the saved weights into a sharded model with other weights."""
    other = double_model(type(whole), seed=1, **options)
    half = own_half(batch_for(type(whole)))
    assert not torch.allclose(other(**half).logits, loaded(**half).logits, atol=1e-2)
    sharded = shard(other)
    state = loaded.state_dict() if torch.distributed.get_rank() == 0 else {}
    set_model_state_dict(sharded, state, options=StateDictOptions(full_state_dict=True, broadcast_from_rank0=True))
    assert_equal(sharded(**half).logits, loaded(**half).logits)


def check_generation(sharded, whole, **options):
    """The processes generate texts of different lengths: the first to end takes part until the other has ended."""
    rank = torch.distributed.get_rank()
    ids, mask = pad(texts(batch=2, length=9, seed=4 + rank), (9, 6), side="left")
    options |= {"attention_mask": mask, "do_sample": False}
    options |= dict.fromkeys(("min_new_tokens", "max_new_tokens"), 5 + 4 * rank)
    assert torch.equal(sharded.generate(ids, **options), whole.generate(ids, **options))


def compare(model_class, folder, options):
    whole = double_model(model_class, **options)
    sharded = shard(double_model(model_class, **options))
    check_split(sharded, whole)
    check_training(sharded, whole)
    loaded = check_saving(sharded, whole, folder)
    check_loading(loaded, whole, options)
    if whole.can_generate():
        check_generation(sharded, whole)
        check_generation(sharded, whole, num_beams=3)


if __name__ == "__main__":
    torch.distributed.init_process_group("gloo")
    for model_class, (number, options) in product(LANGUAGE_MODELS, enumerate(LAYOUTS)):
        compare(model_class, Path(sys.argv[1]) / f"{model_class.__name__}-{number}", options)
    torch.distributed.destroy_process_group()
