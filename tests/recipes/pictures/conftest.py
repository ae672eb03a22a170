"""Fixtures of the tests of pictures."""

import pytest

from atenta.recipes.pictures.words import set_language


@pytest.fixture
def portuguese():
    """Portuguese for one test."""
    set_language("pt")
    yield
    set_language("en")
