"""A bar for long work, on a terminal alone."""

import io
import sys
from contextlib import contextmanager

import pytest
import tqdm

from atenta import AtentaEncoderDecoderForConditionalGeneration, CharacterRestorer, load_engine
from atenta.engines.feedback import progress
from atenta.restoration.portuguese import MODEL_FOLDER
from support.saved import save_with_tokenizer


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "total", "shown"), [(Terminal, 3, True), (Terminal, 1, False), (io.StringIO, 3, False)]
)
def test_a_bar_is_only_for_a_terminal_and_more_than_one_part(stream, total, shown, monkeypatch):
    monkeypatch.setattr("tqdm.tqdm", lambda delay, **options: tqdm.std.tqdm(**options))
    monkeypatch.setattr(sys, "stderr", stream())
    with progress(total, "window") as count:
        count(total)
        assert ("window" in sys.stderr.getvalue()) == shown
    monkeypatch.setattr(sys, "stderr", None)
    with progress(3, "window") as count:
        count(3)


@pytest.mark.filterwarnings("ignore:.*reached the largest length")
def test_each_batch_and_each_window_is_counted(tmp_path, monkeypatch):
    counted = []

    @contextmanager
    def record(total, unit):
        done = []
        yield done.append
        counted.append((unit, total, sum(done)))

    monkeypatch.setattr("atenta.engines.engine.progress", record)
    monkeypatch.setattr("atenta.restoration.restorer.progress", record)
    save_with_tokenizer(AtentaEncoderDecoderForConditionalGeneration, tmp_path)
    load_engine(tmp_path).generate(["a", "b", "c"], batch_size=1, max_new_tokens=3)
    CharacterRestorer.from_pretrained(MODEL_FOLDER).restore(["Nao e facil. " * 200, "Nao"])
    (batches, windows) = counted
    assert batches == ("batch", 3, 3)
    assert windows[0] == "window"
    assert windows[1] == windows[2] > 2
