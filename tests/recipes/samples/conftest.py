"""The rows of each sample, made once for all tests."""

from functools import cache

import pytest

from atenta.recipes.samples.portuguese_texts import spoken_texts
from atenta.recipes.samples.registry import SAMPLES


@pytest.fixture(scope="session")
def rows_of():
    @cache
    def rows_of(name):
        with pytest.MonkeyPatch.context() as patch:
            if name == "portuguese_speech":  # made of the other rows, which take seconds
                patch.setitem(spoken_texts.__globals__, "portuguese_texts", lambda: rows_of("portuguese"))
            return SAMPLES[name].rows()

    return rows_of
