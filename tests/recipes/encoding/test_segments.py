from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atenta import AtentaTokenizer
from atenta.recipes.encoding.segments import cut

DATA = Path(__file__).parents[3] / "recipes" / "data"
TOKENIZER = AtentaTokenizer.from_alphabet(family="encoder")


@pytest.mark.parametrize(
    ("document", "texts"),
    [
        ("uma linha\noutra\nmais uma linha\n", ["uma linha\noutra", "mais uma linha"]),
        ("Sim. Não? Uma frase longa", ["Sim. Não?", "Uma frase longa"]),
        ("“Sim.” disse ela a ele", ["“Sim.”", "disse ela a ele"]),
        ("palavra depois de palavra", ["palavra depois", "de palavra"]),
        ("sem espaço: " + "a" * 20, ["sem espaço:", "a" * 16, "aaaa"]),
        ("dezesseis sinais. E depois", ["dezesseis", "sinais. E depois"]),
        ("quinze ao todo.\nmais", ["quinze ao todo.", "mais"]),
        ("dezesseis ao fim\nmais", ["dezesseis ao fim", "mais"]),
        (" \n\n ", []),
        ("", []),
    ],
)
def test_texts_end_at_the_best_place_in_reach(document, texts):
    assert cut(document, TOKENIZER, 16) == texts


@given(st.text("ab .\n\u0301\u20acЖ𝄞"), st.integers(4, 12))
def test_nothing_but_white_space_is_lost_and_no_text_is_too_long(document, max_tokens):
    texts = cut(document, TOKENIZER, max_tokens)
    normalized = TOKENIZER.backend_tokenizer.normalizer.normalize_str(document)
    assert "".join("".join(texts).split()) == "".join(normalized.split())
    assert all(len(TOKENIZER(text, add_special_tokens=False).input_ids) <= max_tokens for text in texts)
    assert all(text == text.strip() != "" for text in texts)


def test_texts_of_a_novel_are_nearly_as_long_as_may_be():
    novel = (DATA / "machado" / "validation" / "casaVelha.txt").read_text(encoding="utf-8")
    texts = cut(novel, TOKENIZER, 256)
    assert all(text in novel for text in texts)
    lengths = [len(text) for text in texts]
    assert max(lengths) <= 256
    assert sum(lengths) > 0.7 * 256 * len(texts)


def test_special_tokens_in_a_text_are_characters():
    assert cut("<eos>" * 3, TOKENIZER, 8) == ["<eos><eo", "s><eos>"]


def test_room_for_one_character_is_needed():
    with pytest.raises(ValueError, match="--max_length leaves 3 tokens"):
        cut("a", TOKENIZER, 3)
