"""The time and energy of a training are measured without network, over resumed runs, and never stop a training."""

import json
import socket
import sys
import threading

import codecarbon
import pytest

from atenta.recipes.training.cost import CostMeter, check_country
from support.trainers import random_pairs, trainer_of

ROWS = {"train": random_pairs([(5, 5), (6, 6), (7, 7), (8, 8)])}


@pytest.fixture(autouse=True)
def _without_network(monkeypatch):
    def refuse(*_):
        raise AssertionError("a connection was made")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def test_a_block_is_measured(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = set(threading.enumerate())
    meter = CostMeter("BRA")
    meter.start()
    sum(range(10**6))
    meter.stop()
    facts = meter.facts()
    assert 0 < facts["minutes"] < 1
    assert 0 < facts["kilowatt_hours"] < 0.1
    assert facts["co2_grams"] > 0
    assert facts["country"] == "Brazil"
    assert facts["tracker"].startswith("codecarbon ")
    assert facts["processor"]
    json.dumps(facts)
    assert capfd.readouterr() == ("", "")
    assert not list(tmp_path.iterdir())
    timers = [thread for thread in set(threading.enumerate()) - before if isinstance(thread, threading.Timer)]
    for timer in timers:
        timer.join(timeout=10)  # a cancelled timer still has to wake up
    assert not any(timer.is_alive() for timer in timers)


@pytest.mark.parametrize("method", ["__init__", "start", "stop"])
def test_a_machine_that_cannot_be_measured_costs_a_line(method, capsys, monkeypatch):
    def fail(*_, **__):
        raise OSError("no\nsuch meter")

    meter = CostMeter("BRA")
    with monkeypatch.context() as patch:
        patch.setattr(codecarbon.OfflineEmissionsTracker, method, fail)
        meter.start()
        tracker = meter._tracker
        meter.stop()
    assert meter.facts().keys() == {"minutes"}
    if method == "stop":
        tracker.stop()
    else:
        assert capsys.readouterr().out == "The energy of this training is not measured: no such meter\n"


def test_without_the_library_the_time_is_stated_and_no_country_is_taken(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "codecarbon", None)
    monkeypatch.setitem(sys.modules, "codecarbon.input", None)
    meter = CostMeter()
    meter.start()
    meter.stop()
    assert meter.facts().keys() == {"minutes"}
    assert capsys.readouterr().out == 'The energy of this training is not measured: pip install "atenta[energy]"\n'
    check_country(None)
    with pytest.raises(ValueError, match=r"^--country_iso_code BRA: .*atenta\[energy\]"):
        check_country("BRA")
    monkeypatch.undo()
    check_country("PRT")
    with pytest.raises(ValueError, match=r"--country_iso_code pt: expected the ISO 3166-1 code .* such as BRA or PRT"):
        check_country("pt")


def test_a_resumed_training_states_all_of_it(tmp_path):
    options = {"max_steps": 2, "save_strategy": "steps", "save_steps": 1}
    trainer = trainer_of(tmp_path, ROWS, **options)
    trainer.train()
    trainer.cost.stop()
    checkpoint = tmp_path / "checkpoint-1"
    state = json.loads((checkpoint / "trainer_state.json").read_text(encoding="utf-8"))
    kept = state["stateful_callbacks"]["TrainingCost"]["attributes"]
    assert kept["co2_grams"] is None  # without a country
    kept["minutes"], kept["kilowatt_hours"] = 100.0, 5.0
    state["stateful_callbacks"]["TrainingCost"]["attributes"] = kept
    (checkpoint / "trainer_state.json").write_text(json.dumps(state), encoding="utf-8")
    resumed = trainer_of(tmp_path, ROWS, **options)
    resumed.train(resume_from_checkpoint=str(checkpoint))
    facts = resumed.cost.facts()
    assert 100 < facts["minutes"] < 105
    assert 5 < facts["kilowatt_hours"] < 6
    resumed.training_step = lambda *_: 1 / 0
    with pytest.raises(ZeroDivisionError):
        resumed.fit(None)
    assert resumed.cost._started is None  # it is no longer measured
