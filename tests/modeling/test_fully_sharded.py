"""Each family under torch's `fully_shard`: two processes, each with half of every weight, do what one does alone.

Run by `torchrun`, this file is one of the two.
"""

import sys
from pathlib import Path

import pytest
import torch
import torch.distributed
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, set_model_state_dict
from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method

from atenta.modeling.block import TransformerBlock
from support.models import LANGUAGE_MODELS, assert_close, inputs_for, named, pad, texts, tiny_model
from support.ranks import run_ranks
from support.tensor_parallel import local

LAYOUTS = (
    {"position_embedding_type": "learned"},
    {"position_embedding_type": "rotary", "norm_first": True, "tie_word_embeddings": True, "attention_bias": True},
)
STEPS = 2
WHOLE = StateDictOptions(full_state_dict=True, cpu_offload=True)


@pytest.mark.parametrize("model_class", named(LANGUAGE_MODELS))
def test_two_processes_do_what_one_does(model_class, tmp_path):
    run_ranks(Path(__file__), model_class.__name__, tmp_path)


def shard(model):
    """Split each block, then what is left, over all processes."""
    for block in [module for module in model.modules() if isinstance(module, TransformerBlock)]:
        fully_shard(block)
    fully_shard(model)
    if model.can_generate():
        register_fsdp_forward_method(model, "generate")  # it calls the encoder, a part, without the whole
    return model


def batch_for(model_class):
    """Four texts, each with as many labels as the others, so that the mean of two halves is that of the whole."""
    inputs = inputs_for(model_class, batch=4)
    length = inputs.get("decoder_input_ids", inputs["input_ids"]).shape[1]
    labels = texts(batch=4, length=length, seed=3)
    labels[:, ::3] = -100
    return inputs | {"labels": labels}


def own_part(batch):
    """This process's half of the rows."""
    return {name: rows.chunk(2)[torch.distributed.get_rank()] for name, rows in batch.items()}


def train(model, batch):
    """Some steps of AdamW, and the loss of each. Epsilon is above rounding errors, which a zero gradient blows up."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, eps=1e-4)  # before any forward pass gathers weights
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
    """The losses of the halves have the mean, and their gradients make the weights, of the whole batch."""
    before = {name: weight.clone() for name, weight in whole.state_dict().items()}
    batch = batch_for(type(whole))
    losses = train(sharded, own_part(batch))
    torch.distributed.all_reduce(losses)
    assert_close(losses / 2, train(whole, batch))
    after = get_model_state_dict(sharded, options=StateDictOptions(full_state_dict=True))
    assert after.keys() == before.keys()
    for name, weight in whole.state_dict().items():
        assert_close(after[name], weight)
        # A key's bias adds the same to all scores of a query unless keys are turned, as they are in self-attention.
        moves = not name.endswith("cross_attn.k_proj.bias")
        assert moves == ((weight - before[name]).abs().max() > 1e-3).item(), name


def check_saving(sharded, whole, folder):
    """What is saved from the parts is an ordinary model."""
    state = get_model_state_dict(sharded, options=WHOLE)  # on the first process alone
    if torch.distributed.get_rank() == 0:
        sharded.save_pretrained(folder, state_dict=state)
        assert (folder / "model.safetensors").is_file()
    torch.distributed.barrier()
    loaded, report = type(whole).from_pretrained(folder, output_loading_info=True)
    assert not any(report.values()), report
    assert loaded.config.architectures == [type(whole).__name__]
    for name, weight in loaded.state_dict().items():
        assert_close(weight, whole.state_dict()[name])
    return loaded


def check_loading(loaded, whole, options):
    """The saved weights, given by the first process to parts that started from others."""
    other = tiny_model(type(whole), seed=1, **options)
    part = own_part(batch_for(type(whole)))
    assert not torch.allclose(other(**part).logits, loaded(**part).logits, atol=1e-2)
    sharded = shard(other)
    state = loaded.state_dict() if torch.distributed.get_rank() == 0 else {}
    set_model_state_dict(sharded, state, options=StateDictOptions(full_state_dict=True, broadcast_from_rank0=True))
    assert_close(sharded(**part).logits, loaded(**part).logits)


def check_generation(sharded, whole, **options):
    """Other texts on each process, longer on one: the one that is done goes on until the other is done too."""
    rank = torch.distributed.get_rank()
    ids, mask = pad(texts(batch=2, length=9, seed=4 + rank), (9, 6), side="left")
    options |= {"attention_mask": mask, "do_sample": False}
    options |= dict.fromkeys(("min_new_tokens", "max_new_tokens"), 5 + 4 * rank)
    assert torch.equal(sharded.generate(ids, **options), whole.generate(ids, **options))


def main(model_name, folder):
    torch.distributed.init_process_group("gloo")
    model_class = next(each for each in LANGUAGE_MODELS if each.__name__ == model_name)
    for number, options in enumerate(LAYOUTS):
        whole = tiny_model(model_class, **options)
        sharded = shard(tiny_model(model_class, **options))
        check_split(sharded, whole)
        check_training(sharded, whole)
        loaded = check_saving(sharded, whole, Path(folder) / str(number))
        check_loading(loaded, whole, options)
        if whole.can_generate():
            check_generation(sharded, whole)
            check_generation(sharded, whole, num_beams=3)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
