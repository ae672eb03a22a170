"""Tests of the engines' contestants, on tiny models and with one round."""

import pytest

from benchmarks import decoding_speed, engine_speed
from benchmarks.contestants import DECODING_CONTESTANTS
from benchmarks.engine_speed import INT8, ONNX, Worker
from benchmarks.measuring import OURS, Settings, Size

SIZE = Size(layers=1, width=16, heads=2, inner=32)
SETTINGS = Settings(rounds=1, threads=1)


@pytest.fixture(scope="module")
def small():
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(engine_speed, "SMALL", SIZE)
        for module in (engine_speed, decoding_speed):
            monkeypatch.setattr(module, "NEW_TOKENS", 5)
        sizes = {"PROCESS_BATCHES": 2, "ACCENTS_CHARACTERS": 20}
        for name, value in sizes.items():
            monkeypatch.setattr(engine_speed, name, value)
        yield


@pytest.fixture(scope="module")
def decoded(small, tmp_path_factory):
    """The works of an encoder-decoder, and the folder of its models with their ONNX files."""
    folder = tmp_path_factory.mktemp("models")
    contestants = DECODING_CONTESTANTS["encoder-decoder"]
    return list(engine_speed.measure_decoding_engines("encoder-decoder", contestants, SIZE, folder, SETTINGS)), folder


@pytest.fixture
def saved(decoded):
    return decoded[1] / OURS / str(SIZE)


def check(work, *contestants):
    assert tuple(work.figures) == contestants
    assert all(len(figures) == 1 and figures[0] > 0 for figures in work.figures.values())


@pytest.mark.slow
def test_every_contestant_decodes_all_tokens(decoded):
    for work in decoded[0]:
        check(work, OURS, ONNX, INT8, "BART")
        assert work.peers == ["BART"]


def test_a_decoder_that_stops_early_is_an_error(small):
    with pytest.raises(RuntimeError, match="expected 5 new tokens, got 4"):
        decoding_speed.step_milliseconds(lambda: 4, SETTINGS)


@pytest.mark.slow
def test_every_contestant_labels_the_characters(tmp_path):
    for work in engine_speed.measure_tagging(SIZE, tmp_path, SETTINGS):
        check(work, OURS, ONNX, INT8, "BERT")


@pytest.mark.slow
def test_processes_are_compared(saved):
    work = engine_speed.measure_processes(saved, SETTINGS)
    check(work, f"{INT8}, 1 process of 2 threads", f"{INT8}, 2 processes of 1 thread")
    assert work.more_is_better


@pytest.mark.slow
def test_a_worker_in_torch_holds_more_memory(saved):
    in_torch, in_onnxruntime = (engine_speed._peak_megabytes(engine, saved, 1) for engine in ("torch", "int8"))
    assert 0 < in_onnxruntime < in_torch / 2  # it imports no torch


def test_a_worker_that_cannot_load_is_an_error(tmp_path, capfd):
    with pytest.raises(RuntimeError, match="ended with 1 before it was ready"), Worker("int8", tmp_path, 1):
        pass
    assert "config.json" in capfd.readouterr().err


@pytest.mark.slow
def test_first_answers_are_measured(saved):
    for work in engine_speed.measure_first_answers(saved, SETTINGS):
        check(work, OURS, "python -c pass")


@pytest.mark.slow
def test_accents_are_restored_by_every_engine(tmp_path, small, monkeypatch):
    restored = {}
    rate = engine_speed._restored_rate

    def record(restorer, texts):
        restored[restorer] = [each.text for each in restorer.restore(texts)]
        return rate(restorer, texts)

    monkeypatch.setattr(engine_speed, "_restored_rate", record)
    sentences = ["A ação começou amanhã.", "Não há mais.", "Só isto."]
    work = engine_speed.measure_accents(sentences, tmp_path / "model", SETTINGS)
    check(work, OURS, ONNX, INT8)
    assert list(restored.values()) == [sentences[:1]] * 3
