"""Small runs of the recipes, each trained once for all tests that look at it, and the language of pictures."""

import pickle
from functools import cache

import pytest
from filelock import FileLock

from atenta.recipes.pictures.words import set_language
from support.recipe_cases import train_case


@pytest.fixture(scope="session")
def trained(tmp_path_factory, worker_id):
    """A function that returns the finished run of a recipe, whose folder is for reading: the workers share it."""
    shared = tmp_path_factory.getbasetemp()
    if worker_id != "master":
        shared = shared.parent

    @cache
    def train(name):
        record = shared / f"{name}.pickle"
        with FileLock(f"{record}.lock"):
            if not record.exists():
                record.write_bytes(pickle.dumps(train_case(name, tmp_path_factory.mktemp(name))))
            return pickle.loads(record.read_bytes())

    return train


@pytest.fixture
def portuguese():
    """Portuguese pictures for one test."""
    set_language("pt")
    yield
    set_language("en")
