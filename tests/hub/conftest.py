"""A saved model whose card is written."""

import pytest

from atenta import AtentaEncoderDecoderForConditionalGeneration
from support.saved import save_with_tokenizer


@pytest.fixture
def folder(tmp_path):
    """A saved encoder-decoder."""
    save_with_tokenizer(AtentaEncoderDecoderForConditionalGeneration, tmp_path / "outputs" / "tiny_model")
    return tmp_path / "outputs" / "tiny_model"
