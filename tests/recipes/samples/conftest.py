"""The rows of each sample, made once for all tests."""

from functools import cache

import pytest

from atenta.recipes.samples import SAMPLES


@pytest.fixture(scope="session")
def rows_of():
    return cache(lambda name: SAMPLES[name].rows())
