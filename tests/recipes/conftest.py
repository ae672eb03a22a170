"""Small runs of the recipes, each trained once for all tests that look at it, and the language of pictures."""

from functools import cache

import pytest

from atenta.recipes.pictures.words import set_language
from support.recipe_cases import train_case


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A function that returns the finished run of a recipe."""
    return cache(lambda name: train_case(name, tmp_path_factory.mktemp(name)))


@pytest.fixture
def portuguese():
    """Portuguese pictures for one test."""
    set_language("pt")
    yield
    set_language("en")
