from itertools import pairwise
from pathlib import Path

import pytest
import torch

from atenta import AtentaEncoderForPreTraining, AtentaTokenizer
from atenta.recipes.encoding.masking import MaskingCollator, make_sentence_pairs
from atenta.recipes.encoding.segments import cut
from support.models import tiny_model

DATA = Path(__file__).parents[3] / "recipes" / "data"
TOKENIZER = AtentaTokenizer.from_alphabet(family="encoder")
_LINES = (DATA / "machado" / "validation" / "casaVelha.txt").read_text(encoding="utf-8").splitlines()
# Numbered, so that no two are alike.
NOVEL = "\n".join(f"{number} {line}" for number, line in enumerate(_LINES))
MAX_LENGTH = 128


def rows_of(texts, max_length=MAX_LENGTH, seed=0):
    columns = make_sentence_pairs({"text": texts}, TOKENIZER, max_length, seed)
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


@pytest.fixture(scope="module")
def rows():
    return rows_of([NOVEL[:20_000], NOVEL[20_000:40_000]])


@pytest.fixture(scope="module")
def collated(rows):
    return MaskingCollator(tokenizer=TOKENIZER, seed=0)(rows)


def texts_of(row):
    first, second, _ = TOKENIZER.decode(row["input_ids"]).removeprefix("<bos>").split("<eos>")
    return first, second


def test_half_of_the_pairs_follow_each_other_and_the_others_do_not(rows):
    followers = {
        pair for text in (NOVEL[:20_000], NOVEL[20_000:40_000]) for pair in pairwise(cut(text, TOKENIZER, 62))
    }
    assert [row["next_sentence_label"] == 0 for row in rows] == [texts_of(row) in followers for row in rows]
    assert abs(sum(1 - 2 * row["next_sentence_label"] for row in rows)) <= 1
    assert {texts_of(row)[0] for row in rows} == {first for first, _ in followers}


def test_no_pair_is_too_long_and_segments_have_their_types(rows):
    assert sum(len(row["input_ids"]) for row in rows) / len(rows) > 0.5 * MAX_LENGTH
    assert all(len(row["input_ids"]) <= MAX_LENGTH for row in rows)
    for row in rows:
        end_of_first = row["input_ids"].index(TOKENIZER.eos_token_id) + 1
        assert row["token_type_ids"] == [0] * end_of_first + [1] * (len(row["input_ids"]) - end_of_first)


def test_a_text_never_follows_itself():
    texts = ["\n".join(f"texto {name}, linha {n}" for n in range(count)) for name, count in zip("abc", (3, 1, 2))]
    for seed in range(20):
        rows = rows_of(texts, max_length=35, seed=seed)
        assert len(rows) == 3
        assert all(first != second for first, second in map(texts_of, rows))


def test_pairs_depend_on_seed_and_documents_alone():
    texts = [NOVEL[:3_000]]
    assert rows_of(texts, seed=1) == rows_of(texts, seed=1)
    assert rows_of(texts, seed=1) != rows_of(texts, seed=2)


@pytest.mark.parametrize("texts", [["uma linha", "outra linha", "mais uma"], ["uma\n" * 20], []])
def test_documents_of_one_segment_make_no_pairs(texts):
    with pytest.raises(ValueError, match=r"segments of at most 62 tokens .*expected a document of two or more"):
        rows_of(texts)


def test_marked_are_characters_and_labels_are_what_stood_there(rows, collated):
    for row, ids, labels, mask in zip(rows, collated["input_ids"], collated["labels"], collated["attention_mask"]):
        length = len(row["input_ids"])
        original = torch.tensor(row["input_ids"])
        picked = labels[:length] != -100
        assert torch.equal(labels[:length][picked], original[picked])
        assert torch.equal(ids[:length][~picked], original[~picked])
        assert not torch.isin(original[picked], torch.tensor(TOKENIZER.all_special_ids)).any()
        assert (labels[length:] == -100).all()
        assert mask.tolist() == [1] * length + [0] * (len(mask) - length)
    assert collated["next_sentence_label"].tolist() == [row["next_sentence_label"] for row in rows]


def test_15_percent_are_picked_of_which_80_10_10(rows, collated):
    picked = collated["labels"] != -100
    characters = sum(len(row["input_ids"]) - 3 for row in rows)
    assert picked.sum() / characters == pytest.approx(0.15, abs=0.01)
    now, before = collated["input_ids"][picked], collated["labels"][picked]
    masked = now == TOKENIZER.mask_token_id
    assert masked.float().mean() == pytest.approx(0.8, abs=0.02)
    assert (now == before).float().mean() == pytest.approx(0.1, abs=0.02)
    assert all(len(token) == 1 for token in TOKENIZER.convert_ids_to_tokens(now[~masked].tolist()))


@pytest.mark.parametrize(("whole_word_probability", "share"), [(0.0, 0.15), (1.0, 1.0)])
def test_words_are_picked_whole_or_by_character(rows, whole_word_probability, share):
    collator = MaskingCollator(tokenizer=TOKENIZER, seed=0, whole_word_probability=whole_word_probability)
    labels = collator(rows)["labels"]
    together = of = 0
    for row, picked in zip(rows, labels != -100):
        text = "".join(
            token if len(token) == 1 else " " for token in TOKENIZER.convert_ids_to_tokens(row["input_ids"])
        )
        for place, (one, other) in enumerate(pairwise(text)):
            if picked[place] and not one.isspace() and not other.isspace():
                together += bool(picked[place + 1])
                of += 1
    assert together / of == pytest.approx(share, abs=0.02)
    characters = sum(len(row["input_ids"]) - 3 for row in rows)
    assert (labels != -100).sum() / characters == pytest.approx(0.15, abs=0.015)


def test_masks_depend_on_seed_and_rows_alone(rows):
    def masked(rows, seed=0):
        return MaskingCollator(tokenizer=TOKENIZER, seed=seed)(rows)["input_ids"]

    collator = MaskingCollator(tokenizer=TOKENIZER, seed=0)
    collator(rows[:4])
    torch.manual_seed(123)
    assert torch.equal(collator(rows)["input_ids"], masked(rows))
    assert not torch.equal(masked(rows), masked(rows, seed=1))
    length = len(rows[0]["input_ids"])
    assert not torch.equal(masked([rows[0], rows[0]])[0, :length], masked([rows[0]])[0, :length])


def test_a_batch_has_a_masked_character_even_if_it_is_short():
    row = {"input_ids": TOKENIZER("a", "b").input_ids}
    for seed in range(20):
        labels = MaskingCollator(tokenizer=TOKENIZER, seed=seed)([row])["labels"]
        assert (labels != -100).any()


def test_a_model_learns_from_the_batch(rows):
    model = tiny_model(AtentaEncoderForPreTraining, vocab_size=len(TOKENIZER), max_position_embeddings=MAX_LENGTH)
    assert model(**MaskingCollator(tokenizer=TOKENIZER, seed=0)(rows[:3])).loss.isfinite()
