"""Decoding that keeps the letters of the source, and texts without their accents."""

import unicodedata

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import normalizers
from transformers import set_seed

from atenta import AtentaEncoderDecoderForConditionalGeneration, AtentaTokenizer
from atenta.modeling.letter_lock import KeepLettersLogitsProcessor
from atenta.recipes.samples.files import DATA, read_samples
from atenta.tokenization.base_letters import strip_accents
from support.models import tiny_model

TOKENIZER = AtentaTokenizer.from_texts(["abceo çãáàâéêíóõÃÉ.,\u0303"], family="encoder-decoder", tags=["<PL>"])
SOURCES = ["a cao", "Nao e b\u0303!", "ÉÃ 日 é"]
SEARCHES = {
    "greedy": {},
    "beams": {"num_beams": 4},
    "several outputs of a sampler": {"do_sample": True, "top_k": 0, "num_return_sequences": 3},
    "top-k": {"do_sample": True, "top_k": 1},
    "without a cache": {"use_cache": False},
    "beams in a sampler": {"do_sample": True, "num_beams": 2},
}


@given(st.text())
def test_strip_accents_leaves_no_mark(text):
    stripped = strip_accents(text)
    assert unicodedata.is_normalized("NFC", stripped)
    assert not any(unicodedata.combining(character) for character in unicodedata.normalize("NFD", stripped))


def test_strip_accents_equals_the_normalizer_of_tokenizers():
    theirs = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.NFC()])
    for text in ("a\u0303 c\u0327", "1º, 1ª, 6.° Ø ß", *read_samples(DATA / "machado", "*/*.txt")):
        stripped = strip_accents(text)
        assert stripped == theirs.normalize_str(text)
        assert len(stripped) == len(unicodedata.normalize("NFC", text))
    assert strip_accents("pingüim, El Niño, “ÀS TRÊS!” 1º Ø ß") == "pinguim, El Nino, “AS TRES!” 1º Ø ß"


@pytest.fixture(scope="module")
def model():
    return tiny_model(AtentaEncoderDecoderForConditionalGeneration, vocab_size=len(TOKENIZER))


def encode(sources):
    return TOKENIZER(sources, padding=True, return_tensors="pt")


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
def test_every_output_has_the_letters_of_its_source(model, search):
    set_seed(0)
    batch = encode(SOURCES)
    lock = model.letter_lock(TOKENIZER, batch.input_ids)
    ids = model.generate(**batch, logits_processor=lock, max_length=30, **search)
    outputs = TOKENIZER.batch_decode(ids, skip_special_tokens=True)
    each = len(outputs) // len(SOURCES)
    assert [strip_accents(output) for output in outputs] == [strip_accents(s) for s in SOURCES for _ in range(each)]
    free = TOKENIZER.batch_decode(model.generate(**batch, max_length=30, **search), skip_special_tokens=True)
    assert [strip_accents(output) for output in free] != [strip_accents(output) for output in outputs]


@given(st.lists(st.text("aáãbcçoõe .B\U0001f600日\u0303", min_size=1), min_size=1, max_size=3), st.integers(0, 99))
def test_letters_are_kept_in_any_text(sources, seed):
    set_seed(seed)
    batch = encode(sources)
    lock = KeepLettersLogitsProcessor(TOKENIZER, batch.input_ids)
    target = torch.full((len(sources), 1), TOKENIZER.bos_token_id)
    for _ in range(batch.input_ids.shape[1]):
        scores = lock(target, torch.randn(len(sources), len(TOKENIZER)))
        target = torch.cat([target, scores.argmax(-1, keepdim=True)], dim=1)
    assert (target[:, 1:] == TOKENIZER.eos_token_id).any(-1).all()
    for row, source in zip(target[:, 1:].tolist(), sources):
        output = TOKENIZER.decode(row[: row.index(TOKENIZER.eos_token_id)])
        assert strip_accents(output) == strip_accents(source)


def test_the_model_still_chooses_the_accents():
    ids = encode(["cao"]).input_ids
    lock = KeepLettersLogitsProcessor(TOKENIZER, ids)
    start = torch.tensor([[TOKENIZER.bos_token_id]])
    kept = lock(start, torch.zeros(1, len(TOKENIZER))).isfinite()[0].nonzero().flatten().tolist()
    assert sorted(TOKENIZER.convert_ids_to_tokens(kept)) == ["c", "ç"]
    wider = lock(start, torch.zeros(1, 2 * len(TOKENIZER)))  # as `resize_token_embeddings` pads it
    assert wider.isfinite()[0].nonzero().flatten().tolist() == kept


def test_tags_and_padding_are_not_letters_and_rows_of_other_sources_are_refused():
    ids = encode(["a", "cao"]).input_ids
    tag = torch.full((2, 1), TOKENIZER.convert_tokens_to_ids("<PL>"))
    left = torch.cat([torch.full((2, 2), TOKENIZER.pad_token_id), tag, ids], dim=1)
    plain, with_tags = (KeepLettersLogitsProcessor(TOKENIZER, each) for each in (ids, left))
    assert torch.equal(plain.bases, with_tags.bases)
    with pytest.raises(ValueError, match="3 rows; expected a multiple of the 2 sources"):
        plain(torch.ones(3, 1, dtype=torch.long), torch.zeros(3, len(TOKENIZER)))
