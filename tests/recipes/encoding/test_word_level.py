import pytest
from transformers import AutoTokenizer

from atenta.recipes.encoding.word_level import SPECIAL, make_word_tokenizer

TEXTS = ["O gato viu o rato.", "o rato fugiu!", "o ac\u0327o"]


def test_the_most_frequent_words_are_tokens_behind_the_special_ones():
    tokenizer = make_word_tokenizer(TEXTS, 6)
    assert tokenizer.convert_ids_to_tokens(range(6)) == [*SPECIAL, "o", "rato"]
    assert tokenizer("o rato, o cão").tokens() == ["<bos>", "o", "rato", "<unk>", "o", "<unk>"]


def test_punctuation_stands_alone_and_marks_are_composed():
    tokenizer = make_word_tokenizer(TEXTS, 100)
    assert tokenizer("rato!o aço").tokens() == ["<bos>", "rato", "!", "o", "a\u00e7o"]


def test_what_a_text_writes_is_no_special_token():
    tokenizer = make_word_tokenizer(TEXTS, 100)
    assert tokenizer("o <eos>").tokens() == ["<bos>", "o", "<unk>", "<unk>", "<unk>"]


def test_it_loads_again_and_pads_on_the_left(tmp_path):
    tokenizer = make_word_tokenizer(TEXTS, 100)
    tokenizer.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    batch = loaded(["o gato", "o"], padding=True)
    assert batch == tokenizer(["o gato", "o"], padding=True)
    assert batch.attention_mask == [[1, 1, 1], [0, 1, 1]]
    assert loaded.decode(batch.input_ids[0], skip_special_tokens=True) == "o gato"


def test_a_vocabulary_without_room_for_a_word_is_refused():
    with pytest.raises(ValueError, match="--vocab_size is 4; expected 5 or more"):
        make_word_tokenizer(TEXTS, 4)
