import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import DataCollatorForSeq2Seq

from atenta import AtentaDecoderForCausalLM, AtentaTokenizer
from atenta.recipes.tasks.prompts import check_prompt, encode_prompts
from support.models import tiny_model

TOKENIZER = AtentaTokenizer.from_alphabet("abcdé?\n ", family="decoder")
texts = st.text("abé Ж\u0301", min_size=1, max_size=9)


def test_prompt_and_answer_are_unchanged():
    row = {"prompt": "BENTO: Aonde vais?\n", "answer": " À missa."}
    assert check_prompt({**row, "play": "x"}) == row


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=4))
def test_only_answers_are_predicted(pairs):
    prompts, answers = map(list, zip(*pairs))
    encoded = encode_prompts({"prompt": prompts, "answer": answers}, TOKENIZER, max_length=100)
    for prompt, answer, ids, labels in zip(prompts, answers, encoded["input_ids"], encoded["labels"]):
        assert ids == [*TOKENIZER(f"{prompt}\n{answer}").input_ids, TOKENIZER.eos_token_id]
        start = len(TOKENIZER(f"{prompt}\n").input_ids)
        assert labels == [-100] * start + ids[start:]


def test_loss_is_that_of_the_answers():
    encoded = encode_prompts({"prompt": ["ab?", "d"], "answer": ["cé", "bb"]}, TOKENIZER, max_length=20)
    batch = DataCollatorForSeq2Seq(TOKENIZER)([dict(zip(encoded, row)) for row in zip(*encoded.values())])
    model = tiny_model(AtentaDecoderForCausalLM, vocab_size=len(TOKENIZER))
    losses = []
    for ids, labels in zip(*encoded.values()):
        scores = model(torch.tensor([ids])).logits[0].log_softmax(-1)
        losses += [-scores[place - 1, label] for place, label in enumerate(labels) if label != -100]
    assert len(losses) == 6
    torch.testing.assert_close(model(**batch).loss, torch.stack(losses).mean())


def test_row_that_is_too_long():
    rows = {"prompt": ["a", "abab"], "answer": ["b", "cc"]}
    assert encode_prompts(rows, TOKENIZER, max_length=9)
    with pytest.raises(ValueError, match=r"found 9 tokens in the prompt 'abab'.*--max_length 8"):
        encode_prompts(rows, TOKENIZER, max_length=8)
