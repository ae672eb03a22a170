from itertools import pairwise

import pytest
import torch

from atenta import AtentaEncoderForPreTraining, AtentaTokenizer
from atenta.recipes.samples.files import DATA
from atenta.recipes.tasks.documents import cut_to_length
from atenta.recipes.tasks.masking import MaskingCollator, make_sentence_pairs
from support.models import tiny_model

TOKENIZER = AtentaTokenizer.from_alphabet(family="encoder")
_LINES = (DATA / "machado" / "validation" / "casaVelha.txt").read_text(encoding="utf-8").splitlines()
# Numbered, so that all are different.
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


def test_half_of_the_pairs_follow_each_other(rows):
    followers = {
        pair
        for text in (NOVEL[:20_000], NOVEL[20_000:40_000])
        for pair in pairwise(cut_to_length(text, TOKENIZER, 62))
    }
    assert [row["next_sentence_label"] == 0 for row in rows] == [texts_of(row) in followers for row in rows]
    assert abs(sum(1 - 2 * row["next_sentence_label"] for row in rows)) <= 1
    assert {texts_of(row)[0] for row in rows} == {first for first, _ in followers}


def test_lengths_and_types_of_pairs(rows):
    assert sum(len(row["input_ids"]) for row in rows) / len(rows) > 0.5 * MAX_LENGTH
    assert all(len(row["input_ids"]) <= MAX_LENGTH for row in rows)
    for row in rows:
        end_of_first = row["input_ids"].index(TOKENIZER.eos_token_id) + 1
        assert row["token_type_ids"] == [0] * end_of_first + [1] * (len(row["input_ids"]) - end_of_first)


def test_segment_never_follows_itself():
    texts = ["\n".join(f"texto {name}, linha {n}" for n in range(count)) for name, count in zip("abc", (3, 1, 2))]
    for seed in range(20):
        rows = rows_of(texts, max_length=35, seed=seed)
        assert len(rows) == 4
        assert all(first != second for first, second in map(texts_of, rows))


def test_segments_that_are_documents_are_read_and_labels_are_balanced_while_they_can_be():
    long = ["\n".join(f"texto {name}, linha {n}" for n in range(9)) for name in "abcd"]
    for count in (0, 10, 100):
        short = [f"frase {number}" for number in range(count)]
        rows = rows_of([*short, *long], max_length=35)
        read = {text for row in rows for text in texts_of(row)}
        segments = {*short, *(line for text in long for line in text.splitlines())}
        assert sum(row["unread"] for row in rows) == len(segments - read)
        assert segments - read <= {text.splitlines()[-1] for text in long}
        follow = sum(row["next_sentence_label"] == 0 for row in rows)
        assert follow == min(32, (32 + count) // 2)
        for row in rows:
            first, second = texts_of(row)
            follows = any(f"{first}\n{second}" in text for text in long)
            assert row["next_sentence_label"] == 1 - follows


@pytest.mark.parametrize("texts", [["uma linha", "outra linha", "mais uma"], ["uma linha", "outra linha"], ["uma"]])
def test_pairs_of_few_documents_of_one_segment_do_not_follow(texts):
    rows = rows_of(texts)
    assert [texts_of(row)[0] for row in rows] == texts
    assert {row["next_sentence_label"] for row in rows} == {1}
    assert all(len({*texts_of(row)}) == min(2, len(texts)) for row in rows)


def test_no_documents_have_no_pairs():
    assert rows_of([]) == []


def test_only_characters_are_masked_and_labels_are_the_originals(rows, collated):
    for row, ids, labels, mask in zip(rows, collated["input_ids"], collated["labels"], collated["attention_mask"]):
        length = len(row["input_ids"])
        original = torch.tensor(row["input_ids"])
        selected = labels[:length] != -100
        assert torch.equal(labels[:length][selected], original[selected])
        assert torch.equal(ids[:length][~selected], original[~selected])
        assert not torch.isin(original[selected], torch.tensor(TOKENIZER.all_special_ids)).any()
        assert (labels[length:] == -100).all()
        assert mask.tolist() == [1] * length + [0] * (len(mask) - length)
    assert collated["next_sentence_label"].tolist() == [row["next_sentence_label"] for row in rows]


def test_shares_of_masked_characters(rows, collated):
    selected = collated["labels"] != -100
    characters = sum(len(row["input_ids"]) - 3 for row in rows)
    assert selected.sum() / characters == pytest.approx(0.15, abs=0.01)
    now, before = collated["input_ids"][selected], collated["labels"][selected]
    masked = now == TOKENIZER.mask_token_id
    assert masked.float().mean() == pytest.approx(0.8, abs=0.02)
    assert (now == before).float().mean() == pytest.approx(0.1, abs=0.02)
    assert all(len(token) == 1 for token in TOKENIZER.convert_ids_to_tokens(now[~masked].tolist()))


@pytest.mark.parametrize(("whole_word_probability", "share"), [(0.0, 0.15), (1.0, 1.0)])
def test_whole_words_or_single_characters(rows, whole_word_probability, share):
    collator = MaskingCollator(tokenizer=TOKENIZER, seed=0, whole_word_probability=whole_word_probability)
    labels = collator(rows)["labels"]
    together = neighbours = 0
    for row, selected in zip(rows, labels != -100):
        text = "".join(
            token if len(token) == 1 else " " for token in TOKENIZER.convert_ids_to_tokens(row["input_ids"])
        )
        for place, (one, other) in enumerate(pairwise(text)):
            if selected[place] and one.isalnum() and other.isalnum():
                together += bool(selected[place + 1])
                neighbours += 1
    assert together / neighbours == pytest.approx(share, abs=0.02)
    characters = sum(len(row["input_ids"]) - 3 for row in rows)
    assert (labels != -100).sum() / characters == pytest.approx(0.15, abs=0.015)


def test_pairs_and_masks_depend_only_on_seed_and_batch(rows):
    assert rows_of([NOVEL[:3_000]], seed=1) == rows_of([NOVEL[:3_000]], seed=1) != rows_of([NOVEL[:3_000]], seed=2)

    def masked(rows, seed=0):
        return MaskingCollator(tokenizer=TOKENIZER, seed=seed)(rows)["input_ids"]

    collator = MaskingCollator(tokenizer=TOKENIZER, seed=0)
    collator(rows[:4])
    torch.manual_seed(123)
    assert torch.equal(collator(rows)["input_ids"], masked(rows))
    assert not torch.equal(masked(rows), masked(rows, seed=1))
    length = len(rows[0]["input_ids"])
    assert not torch.equal(masked([rows[0], rows[0]])[0, :length], masked([rows[0]])[0, :length])


def test_short_batch_has_a_masked_character():
    row = {"input_ids": TOKENIZER("a", "b").input_ids}
    for seed in range(20):
        labels = MaskingCollator(tokenizer=TOKENIZER, seed=seed)([row])["labels"]
        assert (labels != -100).any()


def test_runs_of_words_are_masked_together(rows):
    """The mean number of neighbouring words that are masked together grows, and the share of characters does not."""
    runs = {}
    for mean in (1.0, 3.0):
        collator = MaskingCollator(tokenizer=TOKENIZER, seed=0, whole_word_probability=1.0, mean_span_words=mean)
        selected = collator(rows)["labels"] != -100
        words = collator._number_words(collator.tokenizer.pad(rows, return_tensors="pt").input_ids)
        of_words = torch.zeros(int(words.max()) + 1, dtype=torch.bool)
        of_words[words[selected]] = True
        starts = of_words & ~of_words.roll(1)
        runs[mean] = of_words.sum() / starts.sum()
        characters = sum(len(row["input_ids"]) - 3 for row in rows)
        assert selected.sum() / characters == pytest.approx(0.15, abs=0.03)
    assert runs[1.0] == pytest.approx(1 / (1 - 0.15), abs=0.08)  # neighbours that are drawn one by one
    assert runs[3.0] > 2.5


def test_a_whole_word_is_labelled_at_its_first_character(rows):
    words = ["de", "que", "casa", "não"]
    collator = MaskingCollator(tokenizer=TOKENIZER, seed=0, whole_word_probability=1.0, words=words)
    batch = collator(rows)
    labelled = (batch["word_labels"] != -100).nonzero().tolist()
    assert {batch["word_labels"][row, place].item() for row, place in labelled} >= {0, 1}
    for row, place in labelled:
        word = words[batch["word_labels"][row, place]]
        original = batch["labels"][row, place : place + len(word)]
        assert TOKENIZER.decode(original) == word
        neighbours = TOKENIZER.convert_ids_to_tokens(
            [rows[row]["input_ids"][place + side] for side in (-1, len(word))]
        )
        assert not any(len(token) == 1 and token.isalnum() for token in neighbours)
    assert "word_labels" not in MaskingCollator(tokenizer=TOKENIZER, seed=0)(rows)


def test_a_whole_word_is_masked_as_a_whole(rows):
    batch = MaskingCollator(tokenizer=TOKENIZER, seed=0, whole_word_probability=1.0)(rows)
    masked = batch["input_ids"] == TOKENIZER.mask_token_id
    letters = [token.isalnum() and len(token) == 1 for token in TOKENIZER.convert_ids_to_tokens(range(len(TOKENIZER)))]
    of_word = torch.tensor(letters)[batch["labels"].clamp(min=0)] & (batch["labels"] != -100)
    pairs = of_word[:, 1:] & of_word[:, :-1]
    assert torch.equal(masked[:, 1:][pairs], masked[:, :-1][pairs])


def test_loss_of_a_model_that_predicts_words(rows):
    options = {"vocab_size": len(TOKENIZER), "max_position_embeddings": MAX_LENGTH}
    model = tiny_model(AtentaEncoderForPreTraining, **options, num_words=3)
    collator = MaskingCollator(tokenizer=TOKENIZER, seed=0, whole_word_probability=1.0, words=["de", "que", "o"])
    batch = collator(rows[:40])
    with torch.no_grad():
        loss = model(**batch).loss
        labels = batch.pop("word_labels")
        known = labels != -100
        logits = model.word_head(model.model(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"])[0])
        words = torch.nn.functional.cross_entropy(logits[known], labels[known])
        torch.testing.assert_close(loss, model(**batch).loss + words)
        batch["word_labels"] = torch.full_like(labels, -100)  # no masked word is known
        torch.testing.assert_close(model(**batch).loss, loss - words)
