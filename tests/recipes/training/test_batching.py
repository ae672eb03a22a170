"""Batches of texts of similar length."""

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from atenta.recipes.samples.registry import SAMPLES
from atenta.recipes.training.batching import BucketBatchSampler
from atenta.recipes.training.parsing import CONFIGS
from support.recipes import refusal, write_lines
from support.trainers import random_pairs, trainer_of


def epochs_of(lengths, epoch=0, **options):
    sampler = BucketBatchSampler(lengths, **options)
    sampler.set_epoch(epoch)
    batches = list(sampler)
    assert len(batches) == len(sampler)
    return batches


@given(
    lengths=st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=3, max_size=200),
    extra=st.integers(0, 400),
    num_processes=st.integers(1, 3),
)
@settings(deadline=None)
def test_every_text_is_used_once_within_the_budget(lengths, extra, num_processes):
    max_tokens = max(map(sum, lengths)) + extra  # each text fits by itself
    shares = [
        epochs_of(lengths, batch_size=1, max_tokens=max_tokens, num_processes=num_processes, process_index=index)
        for index in range(num_processes)
    ]
    assert len({len(batches) for batches in shares}) == 1  # every process takes part in every step
    seen = sorted(index for batches in shares for batch in batches for index in batch)
    assert seen == list(range(len(lengths)))
    padded = [
        len(batch) * (max(lengths[i][0] for i in batch) + max(lengths[i][1] for i in batch))
        for batches in shares
        for batch in batches
    ]
    few = len(lengths) < num_processes * (len(shares[0]) + 1)  # for one more batch: the first one is too large
    assert few or max(padded) <= max_tokens
    assert all(batch for batches in shares for batch in batches)


@given(lengths=st.lists(st.integers(1, 60), min_size=2, max_size=150), batch_size=st.integers(1, 8))
@settings(deadline=None)
def test_two_processes_share_the_batches_of_one(lengths, batch_size):
    alone = epochs_of(lengths, batch_size=2 * batch_size)
    shares = [epochs_of(lengths, batch_size=batch_size, num_processes=2, process_index=index) for index in (0, 1)]
    if len(lengths) % (2 * batch_size) != 1:  # a single last text joins the previous batch of two processes only
        assert [set(batch) for batch in alone] == [set(one) | set(two) for one, two in zip(*shares)]


def test_a_last_text_takes_one_of_the_batch_before():
    shares = [epochs_of([4] * 5, batch_size=1, max_tokens=8, num_processes=2, process_index=index) for index in (0, 1)]
    assert sorted(map(len, shares[0])) == [1, 2]
    assert sorted(map(len, shares[1])) == [1, 1]


def test_the_order_depends_on_epoch_and_seed():
    lengths = [5, 6] * 50
    first = epochs_of(lengths, batch_size=10, seed=1)
    assert first == epochs_of(lengths, batch_size=10, seed=1)
    second = epochs_of(lengths, epoch=1, batch_size=10, seed=1)
    assert set(map(frozenset, first)) != set(map(frozenset, second))  # other batches, not only another order
    assert first != epochs_of(lengths, batch_size=10, seed=2)
    means = [sum(batch) / len(batch) for batch in epochs_of(range(1, 1001), batch_size=10)]
    assert means not in (sorted(means), sorted(means, reverse=True))


@pytest.mark.parametrize("task", ["accents", "french_g2p"])
def test_less_than_a_twentieth_of_the_samples_is_padding_and_batches_are_not_small(task, rows_of):
    options = yaml.safe_load((CONFIGS / f"{task}.yaml").read_text(encoding="utf-8"))
    if task == "accents":
        pairs = [(pair["source"], pair["target"]) for pair in rows_of("accents")["train"]]
    else:
        file = SAMPLES[task].split_files()["train"]
        pairs = [line.split("\t")[:2] for line in Path(file).read_text(encoding="utf-8").splitlines()]
    lengths = [(len(source) + 1, len(target) + 1) for source, target in pairs]  # each with its <eos>
    sampler = BucketBatchSampler(lengths, batch_size=1, max_tokens=options["max_tokens_per_batch"])
    places = sum(len(batch) * sampler.lengths[batch].amax(0).sum().item() for batch in sampler)
    tokens = sampler.lengths.sum().item()
    assert 1 - tokens / places < 0.05
    assert tokens / (len(sampler) * options["max_tokens_per_batch"]) > 0.7


LONG_ROWS = {  # and the end of the message; texts are joined to rows of training
    "seq2seq": (["a\tb", "uma frase longa\tuma frase longa"], r"row 1, .*found 32 tokens; .* 1 of the 2 rows"),
    "finetune_characters": (["à\tá", "uma frase longa á\tuma frase longa à"], "row 0, .* 1 of the 1 rows"),
    "pretrain_causal": (["uma frase longa", "a"], "row 0, .* 1 of the 1 rows"),
}


@pytest.mark.parametrize("name", LONG_ROWS)
def test_the_longest_row_over_the_budget_is_named(name, tmp_path):
    suffix = "txt" if name.startswith("pretrain") else "tsv"
    lines, told = LONG_ROWS[name]
    data = write_lines(tmp_path / f"rows.{suffix}", *lines)
    named = {"train_file": data, "validation_file": data, "max_tokens_per_batch": 8}
    arguments = ["--min_variant_count", 1, "--min_character_count", 1] if name == "finetune_characters" else []
    message = refusal(
        name, tmp_path, *[each for pair in named.items() for each in (f"--{pair[0]}", pair[1])], *arguments
    )
    assert "frase longa" in message
    assert re.match(f"train, {told}", message)
    assert "--max_tokens_per_batch 8" in message
    assert not list((tmp_path / "refused").glob("*.yaml"))


def test_fewer_texts_than_processes_are_one_line(tmp_path, monkeypatch):
    trainer = trainer_of(tmp_path, {"train": random_pairs([(3, 2)])})
    monkeypatch.setattr(type(trainer.args), "world_size", 2)
    with pytest.raises(SystemExit, match="Found 1 texts to train on; expected at least one for each process"):
        trainer.fit(None)
