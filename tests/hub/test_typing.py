"""A type checker sees the package as typed, from the code of someone who uses it."""

import pytest
from mypy import api

from support.wheels import ROOT

USE = """
from typing import assert_type

from atenta import AtentaDecoderConfig, AtentaDecoderForCausalLM, AtentaTokenizer, CharacterTable, character_span

tokenizer = AtentaTokenizer.from_texts(["a"], family="decoder")
assert_type(tokenizer, AtentaTokenizer)
assert_type(character_span("a", [(0, 1)], 0, 0).start, int)
CharacterTable(tokenizer).encode("a").tolist()
AtentaDecoderForCausalLM(AtentaDecoderConfig(hidden_size=8)).num_parameters()
"""
MISTAKES = {
    'AtentaTokenizer.from_texts(["a"], family="decode")': "arg-type",
    "AtentaTokenizer.from_text(['a'])": "attr-defined",
    "CharacterTable(tokenizer).encode(1)": "arg-type",
    "AtentaDecoderForCausalLM(3)": "arg-type",
}


@pytest.mark.slow
def test_use_is_accepted_and_mistakes_are_found(tmp_path):
    file = tmp_path / "use.py"
    file.write_text(USE + "\n".join(MISTAKES), encoding="utf-8")
    # With the cache of `make lint`, if there is one: to read torch and transformers takes minutes.
    printed, errors, _ = api.run(
        [str(file), f"--config-file={ROOT / 'pyproject.toml'}", f"--cache-dir={ROOT / '.mypy_cache'}"]
    )
    assert not errors
    found = [line for line in printed.splitlines() if ": error: " in line]
    assert len(found) == len(MISTAKES), printed
    for line, code in zip(found, MISTAKES.values()):
        assert line.endswith(f"[{code}]"), printed
