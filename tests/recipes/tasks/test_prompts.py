import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from atenta import AtentaTokenizer
from atenta.recipes.tasks.prompts import CHAT_TEMPLATE, encode_prompts

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


@pytest.mark.parametrize("context", [[], ["a", "bé"]])
def test_a_chat_is_read_as_a_prompt_and_its_answer_are_in_training(context, tmp_path):
    """By the saved tokenizer, which is to read the special tokens of the template."""
    TOKENIZER.chat_template = CHAT_TEMPLATE
    TOKENIZER.save_pretrained(tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path, split_special_tokens=False)
    roles = ["user", "assistant"] * 2
    prompt = [{"role": role, "content": text} for role, text in zip(roles, [*context, "cd?"])]
    encoded = encode_prompts({"prompt": ["\n".join([*context, "cd?"])], "answer": ["é"]}, TOKENIZER, max_length=99)
    (ids,), (labels,) = encoded["input_ids"], encoded["labels"]
    answered = [*prompt, {"role": "assistant", "content": "é"}]
    assert tokenizer.apply_chat_template(answered).input_ids == ids
    for options in ({}, {"add_generation_prompt": True}):
        assert tokenizer.apply_chat_template(prompt, **options).input_ids == ids[: labels.count(-100)]


def test_row_that_is_too_long():
    rows = {"prompt": ["a", "abab"], "answer": ["b", "cc"]}
    assert encode_prompts(rows, TOKENIZER, max_length=9)
    with pytest.raises(ValueError, match=r"found 9 tokens in the prompt 'abab'.*--max_length 8"):
        encode_prompts(rows, TOKENIZER, max_length=8)
