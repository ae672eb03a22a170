import pytest
from hypothesis import given
from hypothesis import strategies as st

from atenta import AtentaTokenizer
from atenta.recipes.tasks.prompts import encode_prompts

TOKENIZER = AtentaTokenizer.from_alphabet("abcdé?\n ", family="decoder")
texts = st.text("abé Ж\u0301", min_size=1, max_size=9)


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=4))
def test_only_answers_are_predicted(pairs):
    prompts, answers = map(list, zip(*pairs))
    encoded = encode_prompts({"prompt": prompts, "answer": answers}, TOKENIZER, max_length=100)
    for prompt, answer, ids, labels in zip(prompts, answers, encoded["input_ids"], encoded["labels"]):
        assert ids == [*TOKENIZER(f"{prompt}\n{answer}").input_ids, TOKENIZER.eos_token_id]
        start = len(TOKENIZER(f"{prompt}\n").input_ids)
        assert labels == [-100] * start + ids[start:]


def test_row_that_is_too_long():
    rows = {"prompt": ["a", "abab"], "answer": ["b", "cc"]}
    assert encode_prompts(rows, TOKENIZER, max_length=9)
    with pytest.raises(ValueError, match=r"found 9 tokens in the prompt 'abab'.*--max_length 8"):
        encode_prompts(rows, TOKENIZER, max_length=8)
