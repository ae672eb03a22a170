"""Small runs of the recipes, each trained once for all tests that look at it, and the language of pictures."""

from functools import cache

import pytest

from atenta.recipes.pictures.words import set_language
from atenta.recipes.samples.portuguese_texts import spoken_texts
from atenta.recipes.samples.registry import SAMPLES
from support.recipe_cases import train_case


@pytest.fixture(scope="session")
def trained(tmp_path_factory, made_once):
    """A function that returns the finished run of a recipe, whose folder is for reading: the workers share it."""
    return cache(lambda name: made_once(name, lambda: train_case(name, tmp_path_factory.mktemp(name))))


@pytest.fixture(scope="session")
def rows_of(made_once):
    """A function that returns the rows of a sample, which are for reading."""

    def make(name):
        with pytest.MonkeyPatch.context() as patch:
            if name == "portuguese_speech":  # made of the other rows, which take seconds
                patch.setitem(spoken_texts.__globals__, "portuguese_texts", lambda: rows_of("portuguese"))
            return SAMPLES[name].rows()

    @cache
    def rows_of(name):
        return made_once(f"rows of {name}", lambda: make(name))

    return rows_of


@pytest.fixture
def portuguese():
    """Portuguese pictures for one test."""
    set_language("pt")
    yield
    set_language("en")
