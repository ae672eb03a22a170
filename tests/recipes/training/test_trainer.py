"""The trainer: gradients by token, batches, checkpoints that are kept, LoRA and reproducibility."""

import copy
import shutil
from collections import Counter
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch.nn.functional import cross_entropy
from transformers import AutoModelForSeq2SeqLM, DataCollatorForSeq2Seq, TrainerCallback
from transformers.integrations.integration_utils import INTEGRATION_TO_CALLBACK

from atenta import AtentaDecoderForCausalLM, AtentaEncoderDecoderForConditionalGeneration, AtentaEncoderForPreTraining
from atenta.recipes.training.checkpoints import checkpoints_of, delete_checkpoint, read_data, step_of
from atenta.recipes.training.models import add_lora
from atenta.recipes.training.options import RecipeArguments
from atenta.recipes.training.runs import Run, start_run
from atenta.recipes.training.trainer import RecipeTrainer, check_metric
from support.models import assert_close, tiny_model
from support.trainers import in_float64, random_pairs, random_texts, tiny, tiny_tokenizer, trainer_of

PAIRS = random_pairs([(3, 2), (4, 3), (9, 12), (12, 10)])  # two batches of two, with 5 and 22 labels
EVERY_STEP = {"eval_strategy": "steps", "eval_steps": 1, "save_strategy": "steps", "save_steps": 1}


def many(number=20, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return random_pairs(torch.randint(2, 15, (number, 2), generator=generator).tolist(), seed)


def rows_for(model_class):
    return random_texts([3, 4, 9, 12]) if model_class is AtentaDecoderForCausalLM else PAIRS


def weights(model):
    return {name: weight.detach().clone() for name, weight in model.state_dict().items()}


def assert_same_weights(model, expected):
    found = weights(model)
    assert all(torch.equal(found[name], weight) for name, weight in expected.items())


def losses(trainer):
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


def scripted(*scores):
    """A `compute_metrics` that returns these scores, one at each evaluation."""
    left = list(scores)
    return lambda _: {"score": left.pop(0)}


def scored_trainer(folder, *scores, **training):
    """A trainer that evaluates and saves at each step, with these scores."""
    options = {"compute_metrics": scripted(*scores)}
    training = {**EVERY_STEP, "metric_for_best_model": "score", **training}
    return trainer_of(folder, {"train": PAIRS, "validation": PAIRS}, options=options, **training)


def fitted(trainer):
    trainer.fit(None)
    return trainer


def recorded(seen):
    """A collator that counts the rows it gets, and the sizes of the batches it makes."""
    collate = DataCollatorForSeq2Seq(tiny_tokenizer(), tiny(AtentaEncoderDecoderForConditionalGeneration))

    def record(features):
        seen.update(str(row["input_ids"]) for row in features)
        batch = collate(features)
        seen["largest"] = max(seen["largest"], batch["input_ids"].numel() + batch["labels"].numel())
        return batch

    return record


@pytest.mark.parametrize(
    ("model_class", "smoothing"),
    [(AtentaDecoderForCausalLM, 0.0), (AtentaEncoderDecoderForConditionalGeneration, 0.1)],
)
def test_accumulated_gradients_are_those_of_the_mean_over_all_tokens(tmp_path, model_class, smoothing):
    """A step of gradient descent at rate 1 subtracts the gradient of torch's own loss on all texts together."""
    rows = rows_for(model_class)
    decoder = model_class is AtentaDecoderForCausalLM
    model = tiny(model_class).double()
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
            tiny(model_class).double(),
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
            assert_close(weight, expected[name], 1e-6)  # transformers computes the loss in float32


def test_batches_within_a_budget_use_every_text_once_an_epoch(tmp_path):
    rows, seen = many(30), Counter()
    options = {"data_collator": recorded(seen)}
    fitted(trainer_of(tmp_path, {"train": rows}, options=options, max_tokens_per_batch=100, num_train_epochs=3))
    assert 50 < seen.pop("largest") <= 100
    assert seen == Counter(str(row["input_ids"]) for row in rows for _ in range(3))


def test_a_stream_is_repeated_in_another_order(tmp_path):
    rows, seen = many(10), Counter()
    stream = {"train": rows.to_iterable_dataset().map(dict)}  # its columns are not known before they are read
    options = {"data_collator": recorded(seen)}
    trainer = fitted(trainer_of(tmp_path, stream, options=options, max_steps=9, per_device_train_batch_size=2))
    assert trainer.state.global_step == len(losses(trainer)) == 9
    assert set(seen) - {"largest"} == {str(row["input_ids"]) for row in rows}
    batches = [str(batch["input_ids"].tolist()) for batch, _ in zip(trainer.get_train_dataloader(), range(20))]
    assert len(set(batches)) > 10  # a pass has five


def test_the_caller_s_arguments_are_unchanged(tmp_path):
    training = RecipeArguments(
        output_dir=str(tmp_path),
        max_steps=2,
        save_strategy="steps",
        save_steps=1,
        save_total_limit=1,
        lr_scheduler_kwargs={},
        use_cpu=True,
        report_to="none",
        disable_tqdm=True,
    )
    training.push_to_hub = True
    before = copy.deepcopy(vars(training))
    tokenizer = tiny_tokenizer("decoder")
    rows = {"train": random_texts([3, 4, 9, 12]), "validation": None}
    trainer = RecipeTrainer(
        tiny(AtentaDecoderForCausalLM), training, tokenizer, rows, DataCollatorForSeq2Seq(tokenizer)
    )
    assert trainer.push_when_finished
    trainer.fit(None)
    assert trainer.args.learning_rate is not None
    assert training.learning_rate is training.warmup_steps is None
    assert {name: str(value) for name, value in vars(training).items()} == {
        name: str(value) for name, value in before.items()
    }


def test_early_stopping(tmp_path):
    stopping = {"early_stopping_patience": 2, "load_best_model_at_end": True, "max_steps": 20}
    trainer = fitted(scored_trainer(tmp_path, 0.1, 0.5, 0.4, 0.5, 0.9, **stopping))
    assert trainer.state.global_step == 4
    assert trainer.state.best_global_step == 2
    assert [read_data(tmp_path / f"checkpoint-{step}")["ended"] for step in (1, 2, 3, 4)] == [False] * 3 + [True]


def test_the_best_checkpoint_is_kept_and_loaded(tmp_path):
    ending = {"max_steps": 5, "load_best_model_at_end": True, "save_total_limit": 2}
    trainer = fitted(scored_trainer(tmp_path, 0.1, 0.5, 0.4, 0.2, 0.3, **ending))
    assert [step_of(checkpoint) for checkpoint in checkpoints_of(tmp_path)] == [2, 4, 5]
    best, last = (load_file(tmp_path / f"checkpoint-{step}" / "model.safetensors") for step in (2, 5))
    assert_same_weights(trainer.model, best)
    assert not all(torch.equal(best[name], last[name]) for name in best)


def test_a_finished_run_is_not_trained_further(tmp_path):
    def trainer():
        ending = {"max_steps": 3, "load_best_model_at_end": True, "save_total_limit": 1}
        return scored_trainer(tmp_path, 0.1, 0.5, 0.4, **ending)

    first, again = trainer(), trainer()
    first.fit(start_run(first.args))
    run = start_run(again.args)
    assert run.checkpoint == tmp_path / "checkpoint-3"
    again.training_step = lambda *_: pytest.fail("it trains")
    again.fit(run)
    assert again.state.log_history == first.state.log_history
    assert_same_weights(again.model, weights(first.model))


@pytest.mark.parametrize(("which", "averaged", "tied"), [("last", [3, 4, 5], True), ("best", [2, 3, 5], False)])
def test_the_mean_of_checkpoints_is_loaded(tmp_path, which, averaged, tied):
    trainer = trainer_of(
        tmp_path,
        {"train": PAIRS, "validation": PAIRS},
        tiny(AtentaEncoderDecoderForConditionalGeneration, tie_word_embeddings=tied),
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
        assert torch.equal(found["lm_head.weight"], trainer.model.get_input_embeddings().weight)


def test_options_that_do_not_fit_are_refused_before_the_first_step(tmp_path):
    few = {"max_steps": 5, "save_strategy": "steps", "save_steps": 3, "average_last_checkpoints": 3}
    trainer = trainer_of(tmp_path, {"train": PAIRS}, **few)
    with pytest.raises(SystemExit, match=r"writes 2 checkpoints in 5 steps; .* 3 that are averaged"):
        trainer.fit(None)
    assert trainer.state.global_step == 0
    model = tiny_model(AtentaEncoderForPreTraining)
    with pytest.raises(SystemExit, match=r"--label_smoothing_factor .* this task has .*next_sentence"):
        trainer_of(tmp_path, {"train": PAIRS}, model, label_smoothing_factor=0.1)
    training = RecipeArguments(output_dir=str(tmp_path), use_cpu=True, metric_for_best_model="eval_f1")
    check_metric(training, ["f1"])
    with pytest.raises(SystemExit, match="--metric_for_best_model eval_f1: expected one of loss, accuracy"):
        check_metric(training, ["accuracy"])


def test_lora_trains_low_ranks_and_leaves_a_plain_model(tmp_path):
    model = tiny(AtentaEncoderDecoderForConditionalGeneration)
    before = weights(model)
    trainer = trainer_of(tmp_path, {"train": PAIRS}, add_lora(model, 2), max_steps=4)
    trained = {name.split(".")[-3] for name, weight in trainer.model.named_parameters() if weight.requires_grad}
    assert trained == {"lora_A", "lora_B"}
    trainer.fit(None)
    trainer.save_model()
    assert not list(tmp_path.glob("adapter*"))
    saved = [*tmp_path.rglob("*.safetensors")]  # of checkpoints too, which have the adapter
    assert {path.stat().st_mode for path in saved} == {(tmp_path / "config.json").stat().st_mode}
    plain, report = AutoModelForSeq2SeqLM.from_pretrained(tmp_path, output_loading_info=True)
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    after = weights(plain)
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    linear = {f"{name}.weight" for name, module in model.named_modules() if isinstance(module, torch.nn.Linear)}
    assert changed
    assert changed <= {name.replace(".base_layer", "") for name in linear}
    batch = DataCollatorForSeq2Seq(tiny_tokenizer(), plain)(list(PAIRS))
    assert torch.equal(trainer.model.eval()(**batch).logits, plain(**batch).logits)


def test_gradient_checkpointing_reaches_every_block(tmp_path):
    trainer = fitted(trainer_of(tmp_path, {"train": PAIRS}, max_steps=1, gradient_checkpointing=True))
    reached = {getattr(module, "gradient_checkpointing", None) for module in trainer.model.modules()}
    assert reached == {True, None}


@pytest.mark.slow
def test_compilation_changes_no_weight(tmp_path):
    plain, compiled = (
        fitted(
            trainer_of(
                tmp_path,
                {"train": PAIRS},
                in_float64(tiny(AtentaEncoderDecoderForConditionalGeneration)),
                max_steps=3,
                torch_compile=compiled,
            )
        )
        for compiled in (False, True)
    )
    assert_close(weights(compiled.model), weights(plain.model), 1e-6)


def test_a_seed_determines_the_result(tmp_path):
    rows = {"train": many(), "validation": PAIRS}

    def run(seed):
        model = tiny(AtentaEncoderDecoderForConditionalGeneration, dropout=0.2)
        torch.manual_seed(0)  # random numbers drawn before training have no effect
        evaluated = {"eval_strategy": "steps", "eval_steps": 3, "per_device_train_batch_size": 4}
        return fitted(trainer_of(tmp_path, rows, model, seed=seed, max_steps=7, **evaluated))

    first, again, other = run(1), run(1), run(2)
    assert losses(first) == losses(again)
    assert losses(first) != losses(other)
    assert_same_weights(again.model, weights(first.model))


def test_a_transducer_is_told_what_training_hides_from_its_decoder(tmp_path):
    """With smoothed labels too, which the model does not get."""
    model = tiny(AtentaEncoderDecoderForConditionalGeneration, transducer=True)
    read: list = []
    forward = model.transducer.forward
    model.transducer.forward = lambda *inputs: read.append(inputs[2]) or forward(*inputs)
    mask = tiny_tokenizer().mask_token_id
    for smoothing in (0.0, 0.1):
        read.clear()
        options = {"decoder_mask_probability": 0.5, "label_smoothing_factor": smoothing, "max_steps": 2}
        fitted(trainer_of(tmp_path / str(smoothing), {"train": PAIRS, "validation": PAIRS}, model, **options))
        assert read
        assert not any((ids == mask).any() for ids in read)


def test_masked_inputs_are_those_of_training_alone(tmp_path):
    mask = tiny_tokenizer().mask_token_id
    model = tiny(AtentaEncoderDecoderForConditionalGeneration)
    seen = {True: [], False: []}

    def note(model, _, inputs):
        if "labels" in inputs:  # else it generates
            before = model.prepare_decoder_input_ids_from_labels(inputs["labels"])
            seen[model.training].append((inputs["input_ids"], inputs["decoder_input_ids"], before))

    model.register_forward_pre_hook(note, with_kwargs=True)
    rows = {"train": random_pairs([(40, 50)] * 64), "validation": PAIRS}
    options = {"eval_strategy": "epoch", "per_device_train_batch_size": 16, "num_train_epochs": 1}
    fitted(trainer_of(tmp_path, rows, model, input_mask_probability=0.2, decoder_mask_probability=0.3, **options))
    source, target, before = (torch.cat(each) for each in zip(*seen[True]))
    assert source.shape == (64, 40)
    masked = source == mask
    assert (source[:, -1] == tiny_tokenizer().eos_token_id).all()  # a special token
    given = {tuple(text) for text in rows["train"]["input_ids"]}
    assert all(
        any(((text == torch.tensor(each)) | hidden).all() for each in given) for text, hidden in zip(source, masked)
    )
    assert 0.17 < masked[:, :-1].float().mean() < 0.23
    assert len(masked.unique(dim=0)) == 64
    assert target.shape == before.shape == (64, 50)
    masked = target == mask
    assert torch.equal(target[~masked], before[~masked])
    assert not masked[:, 0].any()
    assert 0.27 < masked[:, 1:].float().mean() < 0.33
    assert len(masked.unique(dim=0)) == 64
    assert seen[False]
    for source, target, before in seen[False]:
        assert torch.equal(target, before)
        assert not (source == mask).any()


def test_the_loss_is_logged_before_a_checkpoint_is_written(tmp_path):
    saving = {"save_strategy": "steps", "save_steps": 3, "max_steps": 6}
    trainer = fitted(trainer_of(tmp_path, {"train": PAIRS}, logging_steps=4, **saving))
    assert [entry["step"] for entry in trainer.state.log_history if "loss" in entry] == [3, 4, 6]


def test_predictions_are_not_scored(tmp_path):
    trainer = trainer_of(
        tmp_path,
        {"train": PAIRS, "validation": PAIRS},
        options={"compute_metrics": lambda _: pytest.fail("it scores")},
        per_device_eval_batch_size=3,
    )
    compute_metrics = trainer.compute_metrics
    assert len(trainer.predict(PAIRS).label_ids) == len(PAIRS)
    assert trainer.compute_metrics is compute_metrics


@pytest.mark.parametrize(
    ("schedule", "steps", "is_reached"), [("cosine", 4, False), ("cosine", 5, True), ("constant", 4, True)]
)
def test_a_warm_up_that_the_run_does_not_reach_is_said(tmp_path, capsys, schedule, steps, is_reached):
    options = {"lr_scheduler_type": schedule, "warmup_steps": 4, "max_steps": steps, "learning_rate": 0.02}
    trainer = fitted(trainer_of(tmp_path, {"train": PAIRS}, **options))
    rates = [entry["learning_rate"] for entry in trainer.state.log_history if "learning_rate" in entry]
    assert (max(rates) == 0.02) is is_reached
    printed = capsys.readouterr().out
    assert ("warm-up has 4 steps and the run only 4" in printed and "0.02" in printed) is not is_reached


def test_checkpoints_hold_no_pickled_options(tmp_path):
    trainer = fitted(trainer_of(tmp_path, {"train": PAIRS}, max_steps=1, save_strategy="steps", save_steps=1))
    trainer.save_model()
    assert (tmp_path / "model.safetensors").is_file()
    text = (".json", ".jinja", ".py", ".md", "")
    assert {path.name for path in tmp_path.rglob("*") if path.suffix not in text} == {
        *("model.safetensors", "optimizer.pt", "scheduler.pt", "rng_state.pth")
    }


@pytest.mark.parametrize(
    ("option", "damaging", "named"),
    [
        ({"average_last_checkpoints": 3}, lambda path: path.write_bytes(b""), r"safetensors has 0 bytes instead of"),
        ({"load_best_model_at_end": True}, Path.unlink, r"safetensors is missing\), and the run ends"),
    ],
)
def test_damaged_weights_are_neither_averaged_nor_loaded(tmp_path, monkeypatch, option, damaging, named):
    trainer = scored_trainer(tmp_path, 0.1, 0.5, 0.4, max_steps=3, **option)
    finalize = trainer._finalize_training

    def damage(*arguments):
        damaging(tmp_path / "checkpoint-2" / "model.safetensors")
        return finalize(*arguments)

    monkeypatch.setattr(trainer, "_finalize_training", damage)
    with pytest.raises(SystemExit, match=rf"checkpoint-2 is damaged \(model\.{named}"):
        trainer.fit(None)


@pytest.mark.parametrize("finished", [True, False])
def test_in_a_folder_that_was_moved_the_best_checkpoint_is_found(tmp_path, finished):
    def trainer(folder):
        scores = (0.1, 0.5, 0.4, 0.3)[0 if folder.name == "before" else 3 :]
        return scored_trainer(folder, *scores, max_steps=4, load_best_model_at_end=True)

    first = trainer(tmp_path / "before")
    first.fit(start_run(first.args))
    if not finished:
        delete_checkpoint(tmp_path / "before" / "checkpoint-4")
    (tmp_path / "before").rename(tmp_path / "after")
    shutil.copytree(tmp_path / "after" / "checkpoint-1", tmp_path / "before" / "checkpoint-2")  # of another run since
    again = trainer(tmp_path / "after")
    (tmp_path / "after" / "options.yaml").unlink()
    again.fit(Run(again.args, checkpoint=tmp_path / "after" / f"checkpoint-{4 if finished else 3}"))
    assert_same_weights(again.model, weights(first.model))


def test_a_best_checkpoint_that_was_deleted_is_the_best_no_more(tmp_path):
    first = scored_trainer(tmp_path, 0.5, 0.4, 0.6, max_steps=3, load_best_model_at_end=True)
    first.fit(start_run(first.args))
    delete_checkpoint(tmp_path / "checkpoint-1")
    again = scored_trainer(tmp_path, 0.45, 0.4, max_steps=4, load_best_model_at_end=True)
    again.fit(Run(again.args, checkpoint=tmp_path / "checkpoint-2"))
    assert again.state.best_metric == 0.45


def test_figures_reach_the_logger(tmp_path, monkeypatch):
    steps = []

    class Logger(TrainerCallback):
        def on_log(self, args, state, control, logs, **kwargs):
            steps.extend(state.global_step for name in logs if name == "loss")

    monkeypatch.setitem(INTEGRATION_TO_CALLBACK, "tensorboard", Logger)
    fitted(trainer_of(tmp_path, {"train": PAIRS}, report_to="tensorboard", max_steps=2))
    assert steps == [1, 2]
