"""Models that several tests of the command ask."""

import pytest

from support.saved import save_pairs


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    """The folders of two encoder-decoders with one vocabulary."""
    folder = tmp_path_factory.mktemp("models")
    return [save_pairs(folder / "first", 1), save_pairs(folder / "second", 2, hidden_size=24)]
