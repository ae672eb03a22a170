"""Two processes with half of every weight compute what one process does, for each family.

torch's `fully_shard` splits the weights as the model's author would, and as accelerate does; transformers splits them
by the models' plans for tensor parallelism. The tests start this file as both processes with `torchrun`.
"""

import sys
from itertools import product
from pathlib import Path

import pytest
import torch
import torch.distributed
from accelerate import Accelerator, FullyShardedDataParallelPlugin, PartialState
from accelerate.state import AcceleratorState
from accelerate.utils import (
    DistributedType,
    load_fsdp_model,
    load_fsdp_optimizer,
    save_fsdp_model,
    save_fsdp_optimizer,
)
from safetensors.torch import load_file, save_file
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, set_model_state_dict
from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method
from torch.distributed.tensor import DTensor

from atenta import AtentaEncoderDecoderForConditionalGeneration
from atenta.modeling.block import TransformerBlock
from support.models import LANGUAGE_MODELS, assert_equal, double_model, inputs_for, pad, texts
from support.ranks import run_ranks

LAYOUTS = (
    {"position_embedding_type": "learned"},
    {"position_embedding_type": "rotary", "norm_first": True, "tie_word_embeddings": True, "attention_bias": True},
)
STEPS = 2
FULL = StateDictOptions(full_state_dict=True, cpu_offload=True)  # on the first process alone
FULL_EVERYWHERE = StateDictOptions(full_state_dict=True)


@pytest.mark.slow
@pytest.mark.parametrize("grouping", ["by_block", "by_accelerate", "by_plan"])
def test_two_processes_equal_one(grouping, tmp_path):
    run_ranks(Path(__file__), tmp_path, grouping)


def embeddings(model):
    """Return the modules that embed the tokens of the source and of the target."""
    return [stack.embeddings.embed_tokens for stack in (model.get_encoder(), model.get_decoder())]


def test_tied_stacks_share_the_module_of_their_embeddings(tmp_path):
    """A matrix in two modules would be in two of accelerate's groups, which torch refuses."""
    model = double_model(AtentaEncoderDecoderForConditionalGeneration, tie_word_embeddings=True)
    assert embeddings(model)[0] is embeddings(model)[1]
    model.resize_token_embeddings(50)
    assert embeddings(model)[0] is embeddings(model)[1]
    model.set_input_embeddings(torch.nn.Embedding(50, 32))
    assert embeddings(model)[0] is embeddings(model)[1]
    first, second = embeddings(double_model(type(model)))
    assert first is not second
    assert first.weight is not second.weight


@pytest.mark.parametrize("names", [("encoder",), ("decoder",), ("encoder", "decoder")], ids="-".join)
def test_tied_embeddings_are_loaded_under_either_name(names, tmp_path):
    """Saved files have the encoder's name only, as before; others may have the decoder's too."""
    model = double_model(AtentaEncoderDecoderForConditionalGeneration, tie_word_embeddings=True)
    model.save_pretrained(tmp_path)
    saved = load_file(tmp_path / "model.safetensors")
    assert [name for name in saved if "embed_tokens" in name] == ["model.encoder.embeddings.embed_tokens.weight"]
    matrix = saved.pop("model.encoder.embeddings.embed_tokens.weight")
    saved |= {f"model.{name}.embeddings.embed_tokens.weight": matrix.clone() for name in names}
    save_file(saved, tmp_path / "model.safetensors", {"format": "pt"})
    loaded, report = type(model).from_pretrained(tmp_path, output_loading_info=True)
    assert not any(report.values()), report
    assert embeddings(loaded)[0] is embeddings(loaded)[1]
    assert_equal(loaded.state_dict(), model.state_dict())


def test_two_saved_matrices_are_not_made_one(tmp_path):
    model = double_model(AtentaEncoderDecoderForConditionalGeneration)
    model.save_pretrained(tmp_path)
    loaded = type(model).from_pretrained(tmp_path, tie_word_embeddings=True)  # transformers warns
    assert_equal(loaded.state_dict(), model.state_dict())


def adamw(model):
    """Return AdamW with an epsilon far above rounding errors, which it would otherwise amplify at gradients of 0."""
    return torch.optim.AdamW(model.parameters(), lr=1e-2, eps=1e-4)


def by_block(model):
    """Split each block, then the remaining weights, over all processes; return the model and its optimizer."""
    for block in [module for module in model.modules() if isinstance(module, TransformerBlock)]:
        fully_shard(block)
    fully_shard(model)
    return model, adamw(model)


def by_accelerate(model):
    """Split as recipes/launch/fsdp2.yaml does: accelerate also splits off embeddings, last norm and output layer."""
    AcceleratorState._reset_state(reset_partial_state=True)
    PartialState(cpu=True).distributed_type = DistributedType.MULTI_GPU  # accelerate refuses FSDP on CPUs
    plugin = FullyShardedDataParallelPlugin(
        fsdp_version=2,
        auto_wrap_policy="transformer_based_wrap",
        transformer_cls_names_to_wrap=["TransformerBlock"],
        state_dict_type="FULL_STATE_DICT",
        cpu_ram_efficient_loading=False,
    )
    accelerator = Accelerator(fsdp_plugin=plugin)
    assert accelerator.is_fsdp2
    return accelerator.prepare(model, adamw(model))


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


def train(model, optimizer, batch):
    """Take some steps and return the loss of each."""
    losses = []
    for _ in range(STEPS):
        losses.append(model(**batch).loss)
        losses[-1].backward()
        optimizer.step()
        optimizer.zero_grad()
    return torch.stack(losses).detach()


def check_split(sharded, whole):
    parts = [each.to_local() if isinstance(each, DTensor) else each for each in sharded.parameters()]
    held = sum(part.numel() for part in parts)
    assert held < 0.6 * whole.num_parameters(), f"{held} of {whole.num_parameters()} numbers are held here"


def check_training(sharded, optimizer, whole):
    """The mean of the losses and the trained weights are those of one process with the whole batch."""
    before = {name: weight.clone() for name, weight in whole.state_dict().items()}
    batch = batch_for(type(whole))
    losses = train(sharded, optimizer, own_half(batch))
    torch.distributed.all_reduce(losses)
    assert_equal(losses / 2, train(whole, adamw(whole), batch))
    after = get_model_state_dict(sharded, options=FULL_EVERYWHERE)
    assert {name for name, _ in whole.named_parameters()} <= after.keys() <= before.keys()
    for name, weight in after.items():
        assert_equal(weight, whole.state_dict()[name])
        assert (weight - before[name]).abs().max() > 1e-3, name


def check_saving(sharded, whole, folder):
    """The processes save an ordinary model."""
    state = get_model_state_dict(sharded, options=FULL)
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


def check_loading(loaded, whole, split, options):
    """The first process loads the saved weights into a sharded model with other weights."""
    other = double_model(type(whole), seed=1, **options)
    half = own_half(batch_for(type(whole)))
    assert not torch.allclose(other(**half).logits, loaded(**half).logits, atol=1e-2)
    sharded, _ = split(other)
    state = loaded.state_dict() if torch.distributed.get_rank() == 0 else {}
    set_model_state_dict(sharded, state, options=StateDictOptions(full_state_dict=True, broadcast_from_rank0=True))
    assert_equal(sharded(**half).logits, loaded(**half).logits)


def check_checkpoint(sharded, optimizer, whole, folder, options):
    """A checkpoint of accelerate, as transformers' Trainer writes it, is resumed to the same weights."""
    accelerator, half = Accelerator(), own_half(batch_for(type(whole)))
    save_fsdp_model(accelerator.state.fsdp_plugin, accelerator, sharded, folder)
    save_fsdp_optimizer(accelerator.state.fsdp_plugin, accelerator, optimizer, sharded, folder)
    expected = train(sharded, optimizer, half)

    resumed, other_optimizer = by_accelerate(double_model(type(whole), seed=1, **options))
    accelerator = Accelerator()
    load_fsdp_model(accelerator.state.fsdp_plugin, accelerator, resumed, folder)
    load_fsdp_optimizer(accelerator.state.fsdp_plugin, accelerator, other_optimizer, resumed, folder)
    assert_equal(train(resumed, other_optimizer, half), expected)
    assert_equal(*(get_model_state_dict(model, options=FULL_EVERYWHERE) for model in (resumed, sharded)))


def check_generation(sharded, whole, **options):
    """The processes generate texts of different lengths: the first to end takes part until the other has ended."""
    rank = torch.distributed.get_rank()
    ids, mask = pad(texts(batch=2, length=9, seed=4 + rank), (9, 6), side="left")
    options |= {"attention_mask": mask, "do_sample": False}
    options |= dict.fromkeys(("min_new_tokens", "max_new_tokens"), 5 + 4 * rank)
    assert torch.equal(sharded.generate(ids, **options), whole.generate(ids, **options))


def compare_by_plan(whole, folder):
    """Both processes read the same texts, and each has some heads and some columns of a saved model."""
    if torch.distributed.get_rank() == 0:
        whole.save_pretrained(folder)
    torch.distributed.barrier()
    parts = type(whole).from_pretrained(folder, tp_plan="auto")
    check_split(parts, whole)
    with torch.no_grad():
        assert_equal(*(model(**inputs_for(type(whole))).logits for model in (parts, whole)))
    if whole.can_generate():
        options = {"attention_mask": torch.ones_like(texts()), "max_new_tokens": 6}
        assert torch.equal(*(model.generate(texts(), **options) for model in (parts, whole)))


def compare(model_class, folder, grouping, options):
    whole = double_model(model_class, **options)
    if grouping == "by_plan":
        compare_by_plan(whole, folder)
        return
    split = {"by_block": by_block, "by_accelerate": by_accelerate}[grouping]
    sharded, optimizer = split(double_model(model_class, **options))
    check_split(sharded, whole)
    check_training(sharded, optimizer, whole)
    loaded = check_saving(sharded, whole, folder)
    check_loading(loaded, whole, split, options)
    if whole.can_generate():
        register_fsdp_forward_method(sharded, "generate")  # it calls the encoder directly
        check_generation(sharded, whole)
        check_generation(sharded, whole, num_beams=3)
    if split is by_accelerate:
        check_checkpoint(sharded, optimizer, whole, folder, options)


if __name__ == "__main__":
    _, folder, grouping = sys.argv
    torch.distributed.init_process_group("gloo")
    for model_class, (number, options) in product(LANGUAGE_MODELS, enumerate(LAYOUTS)):
        compare(model_class, Path(folder) / f"{model_class.__name__}-{number}", grouping, options)
    torch.distributed.destroy_process_group()
