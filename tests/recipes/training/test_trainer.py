"""The trainer: gradients by token, every text once, what is kept, LoRA, and one result for one seed."""

from collections import Counter

import pytest
import torch
from safetensors.torch import load_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch.nn.functional import cross_entropy
from transformers import AutoModelForSeq2SeqLM, DataCollatorForSeq2Seq

from atenta.modeling import (
    AtentaDecoderForCausalLM,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderForPreTraining,
    AtentaEncoderForQuestionAnswering,
)
from atenta.recipes.training.checkpoints import checkpoints_of, find_checkpoint, is_finished, step_of
from atenta.recipes.training.models import add_lora
from support.models import assert_close, named, tiny_model
from support.trainers import random_pairs, random_texts, tiny, tiny_tokenizer, trainer_of

PAIRS = random_pairs([(3, 2), (4, 3), (9, 12), (12, 10)])  # two batches of two, of 5 and of 22 labels
EVERY_STEP = {"eval_strategy": "steps", "eval_steps": 1, "save_strategy": "steps", "save_steps": 1}
both_families = pytest.mark.parametrize(
    "model_class", named([AtentaDecoderForCausalLM, AtentaEncoderDecoderForConditionalGeneration])
)


def many(number=20, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return random_pairs(torch.randint(2, 15, (number, 2), generator=generator).tolist(), seed)


def weights(model):
    return {name: weight.detach().clone() for name, weight in model.state_dict().items()}


def losses(trainer):
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


def scripted(*scores):
    """A `compute_metrics` that returns these scores, one at each evaluation."""
    left = list(scores)
    return lambda _: {"score": left.pop(0)}


def fitted(trainer):
    trainer.fit(None)
    return trainer


@both_families
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_accumulated_gradients_are_those_of_the_mean_over_all_tokens(tmp_path, model_class, smoothing):
    """Against torch's own loss on all texts together; a step of plain descent at rate 1 subtracts its gradient."""
    decoder = model_class is AtentaDecoderForCausalLM
    rows = random_texts([3, 4, 9, 12]) if decoder else PAIRS
    model = tiny(model_class)
    family = "decoder" if decoder else "encoder-decoder"
    batch = DataCollatorForSeq2Seq(tiny_tokenizer(family), None if decoder else model)(list(rows))
    logits, labels = model(**batch).logits, batch["labels"]
    if decoder:
        logits, labels = logits[:, :-1], labels[:, 1:]
    cross_entropy(logits.flatten(0, 1), labels.flatten(), label_smoothing=smoothing).backward()
    expected = {name: (weight - weight.grad).detach().clone() for name, weight in model.named_parameters()}
    for batches in (1, 2):
        trainer = trainer_of(
            tmp_path,
            {"train": rows},
            tiny(model_class),
            max_steps=1,
            per_device_train_batch_size=4 // batches,
            gradient_accumulation_steps=batches,
            optim="sgd",
            learning_rate=1.0,
            max_grad_norm=0.0,
            label_smoothing_factor=smoothing,
        )
        trainer.fit(None)
        for name, weight in trainer.model.named_parameters():
            assert_close(weight, expected[name])


@pytest.mark.parametrize("model_class", named([AtentaEncoderForPreTraining, AtentaEncoderForQuestionAnswering]))
def test_label_smoothing_is_refused_where_it_would_not_reach_the_loss(tmp_path, model_class):
    with pytest.raises(ValueError, match=r"--label_smoothing_factor .* this task learns .*(next_sentence|positions)"):
        trainer_of(tmp_path, {"train": PAIRS}, tiny_model(model_class), label_smoothing_factor=0.1)


def test_batches_by_budget_bring_every_text_once_an_epoch(tmp_path):
    rows, seen, sizes = many(30), Counter(), []
    collate = DataCollatorForSeq2Seq(tiny_tokenizer(), tiny(AtentaEncoderDecoderForConditionalGeneration))

    def record(features):
        seen.update(str((row["input_ids"], row["labels"])) for row in features)
        batch = collate(features)
        sizes.append(batch["input_ids"].numel() + batch["labels"].numel())
        return batch

    options = {"data_collator": record}
    fitted(trainer_of(tmp_path, {"train": rows}, options=options, max_tokens_per_batch=100, num_train_epochs=3))
    assert seen == {str((row["input_ids"], row["labels"])): 3 for row in rows}
    assert max(sizes) <= 100


def test_a_stream_is_learned_for_as_many_steps_as_are_asked_for(tmp_path):
    rows, seen = many(10), Counter()
    collate = DataCollatorForSeq2Seq(tiny_tokenizer(), tiny(AtentaEncoderDecoderForConditionalGeneration))

    def record(features):
        seen.update(str(row["input_ids"]) for row in features)
        return collate(features)

    trainer = trainer_of(
        tmp_path,
        {"train": rows.to_iterable_dataset()},
        options={"data_collator": record},
        max_steps=9,
        per_device_train_batch_size=2,
    )
    trainer.fit(None)
    assert trainer.state.global_step == 9
    assert set(seen) == {str(row["input_ids"]) for row in rows}
    assert len(losses(trainer)) == 9
    assert losses(trainer)[-1] < losses(trainer)[0]


def test_early_stopping_stops_when_the_score_does_not_rise(tmp_path):
    trainer = trainer_of(
        tmp_path,
        {"train": PAIRS, "validation": PAIRS},
        options={"compute_metrics": scripted(0.1, 0.5, 0.4, 0.5, 0.9)},
        early_stopping_patience=2,
        metric_for_best_model="score",
        load_best_model_at_end=True,
        max_steps=20,
        **EVERY_STEP,
    )
    trainer.fit(None)
    assert trainer.state.global_step == 4
    assert trainer.state.best_global_step == 2
    assert is_finished(tmp_path / "checkpoint-4")


@pytest.mark.parametrize(("limit", "kept"), [(1, [2, 5]), (2, [2, 4, 5]), (None, [1, 2, 3, 4, 5])])
def test_the_last_checkpoints_and_the_best_are_kept_and_the_best_is_loaded(tmp_path, limit, kept):
    trainer = trainer_of(
        tmp_path,
        {"train": PAIRS, "validation": PAIRS},
        options={"compute_metrics": scripted(0.1, 0.5, 0.4, 0.2, 0.3)},
        max_steps=5,
        **EVERY_STEP,
        metric_for_best_model="score",
        load_best_model_at_end=True,
        save_total_limit=limit,
    )
    trainer.fit(None)
    assert [step_of(checkpoint) for checkpoint in checkpoints_of(tmp_path)] == kept
    best, last = (load_file(tmp_path / f"checkpoint-{step}" / "model.safetensors") for step in (2, 5))
    found = weights(trainer.model)
    assert all(torch.equal(found[name], weight) for name, weight in best.items())
    assert not all(torch.equal(best[name], last[name]) for name in best)


def test_a_finished_run_is_not_trained_further(tmp_path):
    def trainer():
        return trainer_of(
            tmp_path,
            {"train": PAIRS, "validation": PAIRS},
            options={"compute_metrics": scripted(0.1, 0.5, 0.4)},
            max_steps=3,
            **EVERY_STEP,
            metric_for_best_model="score",
            load_best_model_at_end=True,
            save_total_limit=1,
        )

    find_checkpoint(trainer().args, [])
    first, again = fitted(trainer()), trainer()
    checkpoint = find_checkpoint(again.args, [])
    assert checkpoint == tmp_path / "checkpoint-3"
    again.training_step = lambda *_: pytest.fail("it trains")
    again.fit(checkpoint)
    assert again.state.log_history == first.state.log_history
    found = weights(again.model)
    assert all(torch.equal(found[name], weight) for name, weight in weights(first.model).items())


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize(("which", "averaged"), [("last", [3, 4, 5]), ("best", [2, 3, 5])])
def test_the_mean_of_checkpoints_is_kept(tmp_path, tied, which, averaged):
    model = tiny(AtentaEncoderDecoderForConditionalGeneration, tie_word_embeddings=tied)
    trainer = trainer_of(
        tmp_path,
        {"train": PAIRS, "validation": PAIRS},
        model,
        options={"compute_metrics": scripted(0.1, 0.5, 0.4, 0.2, 0.3)},
        max_steps=5,
        **EVERY_STEP,
        metric_for_best_model="score",
        **{f"average_{which}_checkpoints": 3},
    )
    trainer.fit(None)
    saved = [load_file(tmp_path / f"checkpoint-{step}" / "model.safetensors") for step in averaged]
    found = weights(trainer.model)
    for name in saved[0]:
        assert_close(found[name], sum(each[name] for each in saved) / 3, 1e-6)
    if tied:
        assert_close(found["lm_head.weight"], trainer.model.get_input_embeddings().weight, 0)


def test_lora_trains_its_own_weights_and_the_head_and_leaves_a_plain_model(tmp_path):
    model = tiny(AtentaEncoderDecoderForConditionalGeneration)
    before = weights(model)
    trainer = trainer_of(tmp_path, {"train": PAIRS}, add_lora(model, 2), max_steps=4)
    assert {name.split(".")[-3] for name, weight in trainer.model.named_parameters() if weight.requires_grad} == {
        *("lora_A", "lora_B")
    }
    trainer.fit(None)
    trainer.save_model()
    assert not list(tmp_path.glob("adapter*"))
    plain, report = AutoModelForSeq2SeqLM.from_pretrained(tmp_path, output_loading_info=True)
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    after = weights(plain)
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed
    linear = {f"{name}.weight" for name, module in model.named_modules() if isinstance(module, torch.nn.Linear)}
    assert changed <= {name.replace(".base_layer", "") for name in linear}
    batch = DataCollatorForSeq2Seq(tiny_tokenizer(), plain)(list(PAIRS))
    assert_close(trainer.model.eval()(**batch).logits, plain(**batch).logits)


def test_lora_and_averages_exclude_each_other(tmp_path):
    model = add_lora(tiny(AtentaEncoderDecoderForConditionalGeneration), 2)
    with pytest.raises(ValueError, match="--lora_rank or an average, not both"):
        trainer_of(tmp_path, {"train": PAIRS}, model, average_last_checkpoints=2)


@both_families
def test_gradient_checkpointing_changes_nothing(tmp_path, model_class):
    rows = {"train": random_texts([3, 4, 9, 12]) if model_class is AtentaDecoderForCausalLM else PAIRS}
    runs = [
        fitted(
            trainer_of(
                tmp_path, rows, tiny(model_class, dropout=0.1), max_steps=3, gradient_checkpointing=checkpointed
            )
        )
        for checkpointed in (False, True)
    ]
    assert any(getattr(module, "gradient_checkpointing", False) for module in runs[1].model.modules())
    expected = weights(runs[0].model)
    for name, weight in weights(runs[1].model).items():
        assert_close(weight, expected[name], 1e-6)


def test_bfloat16_computes_in_it_and_keeps_float32_weights(tmp_path):
    dtypes = set()
    models = [tiny(AtentaEncoderDecoderForConditionalGeneration) for _ in range(2)]
    models[1].lm_head.register_forward_hook(lambda module, inputs, output: dtypes.add(output.dtype))
    plain, half = (
        fitted(trainer_of(tmp_path, {"train": PAIRS}, model, max_steps=10, bf16=bf16))
        for model, bf16 in zip(models, (False, True))
    )
    assert dtypes == {torch.bfloat16}
    assert {weight.dtype for weight in half.model.parameters()} == {torch.float32}
    assert losses(half) == pytest.approx(losses(plain), rel=0.03)
    assert losses(half) != losses(plain)


@pytest.mark.slow
def test_a_compiled_model_learns_alike(tmp_path):
    plain, compiled = (
        fitted(trainer_of(tmp_path, {"train": PAIRS}, max_steps=3, torch_compile=compiled))
        for compiled in (False, True)
    )
    assert losses(compiled) == pytest.approx(losses(plain), rel=1e-4)


def test_one_seed_gives_one_result(tmp_path):
    rows = {"train": many(), "validation": PAIRS}

    def run(seed):
        model = tiny(AtentaEncoderDecoderForConditionalGeneration, dropout=0.2)
        torch.manual_seed(0)  # of what was drawn before training nothing counts
        evaluated = {"eval_strategy": "steps", "eval_steps": 3, "per_device_train_batch_size": 4}
        return fitted(trainer_of(tmp_path, rows, model, seed=seed, num_train_epochs=2, **evaluated))

    first, again, other = run(1), run(1), run(2)
    assert losses(first) == losses(again)
    assert losses(first) != losses(other)
    expected = weights(first.model)
    assert all(torch.equal(weight, expected[name]) for name, weight in weights(again.model).items())


def test_the_loss_is_logged_before_a_checkpoint_is_written(tmp_path):
    trainer = trainer_of(
        tmp_path,
        {"train": PAIRS},
        logging_steps=4,
        save_strategy="steps",
        save_steps=3,
        max_steps=6,
    )
    trainer.fit(None)
    assert [entry["step"] for entry in trainer.state.log_history if "loss" in entry] == [3, 4, 6]


def test_predictions_are_not_scored_by_what_knows_the_validation_rows(tmp_path):
    trainer = trainer_of(
        tmp_path,
        {"train": PAIRS, "validation": PAIRS},
        options={"compute_metrics": lambda _: pytest.fail("it scores")},
        per_device_eval_batch_size=3,
    )
    measure = trainer.compute_metrics
    predicted = trainer.predict(PAIRS)
    assert len(predicted.label_ids) == len(PAIRS)
    assert trainer.compute_metrics is measure


def test_tokens_over_the_budget_are_refused_before_training(tmp_path):
    with pytest.raises(ValueError, match="more than --max_tokens_per_batch 20"):
        trainer_of(tmp_path, {"train": PAIRS}, max_tokens_per_batch=20).fit(None)
    assert not list(tmp_path.iterdir())


def test_figures_reach_tensorboard(tmp_path):
    fitted(trainer_of(tmp_path, {"train": many()}, report_to="tensorboard", max_steps=2))
    (folder,) = {path.parent for path in tmp_path.rglob("events.out.tfevents.*")}
    events = EventAccumulator(str(folder)).Reload()
    assert [event.step for event in events.Scalars("train/loss")] == [1, 2]
