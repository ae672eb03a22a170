"""A run that is resumed with other options trains with them, and its card says which steps had which options."""

import json
import shutil
from contextlib import chdir

import pytest
import yaml

from atenta.recipes.training.checkpoints import mark_complete, read_data
from support.recipes import contents, read_metrics, run_here, tiny, write_lines

NAME = "finetune_classification"
WORDS = ("amor", "mer", "ler", "dois", "deux", "um", "une", "avoir")  # four batches
SCHEDULE = {"learning_rate": 1e-2, "lr_scheduler_type": "linear", "warmup_steps": 0}


def options(**changed):
    given = {
        "train_file": "words.tsv",
        "validation_file": "words.tsv",
        "output_dir": "model",
        "max_steps": 4,
        **SCHEDULE,
    }
    given |= {"per_device_train_batch_size": 2, "save_steps": 2, "eval_steps": 2, "save_total_limit": 4}
    return tiny(NAME, **{**given, **changed})


def train(folder, **changed):
    with chdir(folder):
        run_here(NAME, folder, *options(**changed))
    metrics = read_metrics(folder / "model")
    rates = {entry["step"]: entry["learning_rate"] for entry in metrics["training"] if "learning_rate" in entry}
    return rates, metrics["card"]["options"]


def refused(folder, **changed):
    before = contents(folder)
    with pytest.raises(SystemExit) as stopped, chdir(folder):
        run_here(NAME, folder, *options(**changed))
    assert contents(folder).items() >= before.items()
    return str(stopped.value)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a run of four steps, with checkpoints after two and four, on words beside it."""
    folder = tmp_path_factory.mktemp("finished")
    rows = (f"{word}\t{'fra' if number % 2 else 'por'}" for number, word in enumerate(WORDS))
    write_lines(folder / "words.tsv", "text\tlabel", *rows)
    rates, stated = train(folder)
    assert rates == pytest.approx({1: 0.01, 2: 0.0075, 3: 0.005, 4: 0.0025})
    assert stated["trained_steps"] == stated["max_steps"] == 4
    return folder


@pytest.fixture
def folder(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "run")
    return tmp_path / "run"


def test_the_advice_to_resume_with_changed_options_trains_the_further_steps(folder):
    message = refused(folder, max_steps=8, warmup_steps=2, lr_scheduler_type="cosine", train_file=("a b.tsv", "c"))
    for changed in ("max_steps was 4, is 8", "warmup_steps was 0, is 2", "lr_scheduler_type was linear, is cosine"):
        assert changed in message
    assert "train_file was words.tsv, is 'a b.tsv' c" in message
    assert "--resume_from_checkpoint model/checkpoint-4 to train further" in message
    rates, stated = train(folder, max_steps=8, resume_from_checkpoint="model/checkpoint-4")
    expected = {1: 0.01, 2: 0.0075, 3: 0.005, 4: 0.0025, 5: 0.005, 6: 0.00375, 7: 0.0025, 8: 0.00125}
    assert rates == pytest.approx(expected)
    assert stated["trained_steps"] == stated["max_steps"] == 8
    assert stated["up to step 4"] == "max_steps 4"
    assert train(folder, max_steps=8) == (rates, stated)  # from now on these are the options of the run


def test_a_changed_rate_takes_effect(folder):
    changed = {"learning_rate": 1e-3, "weight_decay": 0.5}
    rates, stated = train(folder, **changed, resume_from_checkpoint="model/checkpoint-2")
    assert rates == pytest.approx({1: 0.01, 2: 0.0075, 3: 0.0005, 4: 0.00025})
    assert (stated["learning_rate"], stated["trained_steps"]) == (0.001, 4)
    assert stated["up to step 2"] == "learning_rate 0.01, weight_decay 0.02"
    # The same command goes on, and another change is stated beside the first one.
    epochs = {"max_steps": -1, "num_train_epochs": 2, "eval_steps": 4, "save_steps": 4}
    rates, stated = train(folder, **changed, **epochs, resume_from_checkpoint="model/checkpoint-4")
    assert [name for name in stated if name.startswith("up to")] == ["up to step 2", "up to step 4"]
    assert rates[5] == pytest.approx(0.001 * 4 / 8)
    assert max(rates) == stated["trained_steps"] == 8
    assert stated["num_train_epochs"] == 2


def test_fewer_steps_than_the_checkpoint_has_are_refused(folder):
    changed = {"max_steps": -1, "num_train_epochs": 1, "learning_rate": 0.5}
    message = refused(folder, **changed, resume_from_checkpoint="model/checkpoint-4")
    assert "checkpoint-4 has 4 steps, and this run has 4: it would take none with the changed learning_rate" in message


def test_another_model_or_optimizer_is_refused(folder):
    fixed = {"hidden_act": "gelu", "num_attention_heads": 4, "optim": "muon"}
    message = refused(folder, max_steps=8, resume_from_checkpoint="model/checkpoint-4", **fixed)
    changes = "hidden_act was relu, is gelu, num_attention_heads was 2, is 4, optim was adamw_torch_fused, is muon"
    assert f"another model or optimizer ({changes})" in message  # max_steps may change
    assert "to train further" not in refused(folder, max_steps=8, **fixed)


def test_an_option_that_an_earlier_run_did_not_have_had_its_default(folder):
    paths = [folder / "model" / "options.yaml", *folder.glob("model/checkpoint-*/data.json")]
    for path in paths:
        is_yaml = path.suffix == ".yaml"
        recorded = (yaml.safe_load if is_yaml else json.loads)(path.read_text(encoding="utf-8"))
        options = recorded.get("options", recorded)
        del options["muon_momentum"], options["seed"], options["max_steps"]
        options["card_title"] = "of an earlier version, which recorded it"
        path.write_text(
            yaml.safe_dump(recorded, explicit_end=True) if is_yaml else json.dumps(recorded), encoding="utf-8"
        )
    for checkpoint in folder.glob("model/checkpoint-*"):
        mark_complete(checkpoint, read_data(checkpoint))
    message = refused(folder)
    assert "(max_steps was -1, is 4)" in message
    assert "with the changed max_steps" in refused(folder, resume_from_checkpoint="model/checkpoint-4")


def test_other_weights_to_keep_need_no_steps(folder):
    changed = {"load_best_model_at_end": False, "resume_from_checkpoint": "model/checkpoint-4"}
    _, stated = train(folder, **changed)
    assert stated["trained_steps"] == 4
    state = json.loads((folder / "model" / "checkpoint-4" / "trainer_state.json").read_text(encoding="utf-8"))
    assert state["global_step"] == 4


def test_a_run_that_stopped_early_states_its_steps(finished, tmp_path):
    shutil.copy(finished / "words.tsv", tmp_path)
    early = {"learning_rate": 1e-9, "eval_steps": 1, "save_steps": 1, "early_stopping_patience": 1, "max_steps": 6}
    _, stated = train(tmp_path, **early)
    assert (stated["trained_steps"], stated["max_steps"]) == (2, 6)
    checkpoint = "model/checkpoint-2"
    _, stated = train(tmp_path, **{**early, "early_stopping_patience": 3}, resume_from_checkpoint=checkpoint)
    assert stated["trained_steps"] == 4
