import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from atenta import AtentaTokenizer
from atenta.recipes.samples.files import DATA
from atenta.recipes.tasks.denoising import DenoisingCollator, encode_texts, mask_once

TOKENIZER = AtentaTokenizer.from_alphabet(family="encoder-decoder")
MASK, EOS = TOKENIZER.mask_token_id, TOKENIZER.eos_token_id
NOVEL = (DATA / "machado" / "validation" / "casaVelha.txt").read_text(encoding="utf-8")


def rows_of(texts, max_length=200):
    return [{"labels": labels} for labels in encode_texts({"text": texts}, TOKENIZER, max_length)["labels"]]


def source_of(labels, **options):
    collator = DenoisingCollator(TOKENIZER, **({"seed": 0} | options))
    return collator([{"labels": labels}])["input_ids"][0].tolist()


def spans_of(source, labels):
    """The lengths of the spans that the masks of a source replace.

    The labels are distinct, so that each token of the source has one position in them.
    """
    place, spans, masked = 0, [], False
    for token in source:
        if token == MASK:
            assert not masked, "two masks touch"
            masked = True
            continue
        found = labels.index(token)
        if masked:
            spans.append(found - place)
        else:
            assert found == place
        place, masked = found + 1, False
    assert place == len(labels)
    return spans


def test_documents_are_cut_to_length():
    rows = rows_of([NOVEL[:5_000], "uma linha"])
    assert all(len(row["labels"]) <= 200 and row["labels"][-1] == EOS for row in rows)
    assert TOKENIZER.decode(rows[-1]["labels"]) == "uma linha<eos>"
    texts = [TOKENIZER.decode(row["labels"], skip_special_tokens=True) for row in rows]
    assert "".join("".join(texts).split()) == "".join((NOVEL[:5_000] + "uma linha").split())
    assert encode_texts({"text": [" "]}, TOKENIZER, 200) == {"labels": []}


@given(st.integers(1, 120), st.floats(0.05, 0.9), st.floats(1, 12), st.integers(0, 2**32 - 1))
def test_spans_become_one_mask_each(length, noise_density, mean_span_length, seed):
    labels = [*range(3, 3 + length), EOS]
    source = source_of(labels, seed=seed, noise_density=noise_density, mean_span_length=mean_span_length)
    assert source[-1] == EOS
    spans = spans_of(source, labels)
    assert all(span >= 1 for span in spans)
    masked = max(1, round(length * noise_density))
    assert sum(spans) == masked
    assert len(spans) == min(max(1, round(masked / mean_span_length)), length - masked + 1)


def test_positions_and_lengths_of_spans():
    labels = [*range(3, 103), EOS]
    sources = [source_of(labels, seed=seed) for seed in range(300)]
    removed = np.array([[label not in source for label in labels[:-1]] for source in sources])
    assert removed.mean() == pytest.approx(0.3)
    assert removed.mean(axis=0)[10:-10] == pytest.approx(0.3, abs=0.1)
    assert removed[:, 0].any()
    assert removed[:, -1].any()
    lengths = [span for source in sources for span in spans_of(source, labels)]
    assert np.mean(lengths) == pytest.approx(6)
    assert {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15} <= set(lengths)


def test_masks_depend_only_on_seed_and_batch_and_those_that_stay_on_the_seed_alone():
    rows = rows_of([NOVEL[:3_000]])
    collator = DenoisingCollator(TOKENIZER, seed=0)
    collator(rows[:2])
    first = collator(rows)["input_ids"]
    assert torch.equal(first, DenoisingCollator(TOKENIZER, seed=0)(rows)["input_ids"])
    assert first.tolist() != DenoisingCollator(TOKENIZER, seed=1)(rows)["input_ids"].tolist()
    labels = [row["labels"] for row in rows]
    options = {"tokenizer": TOKENIZER, "noise_density": 0.3, "mean_span_length": 6.0}
    masked = mask_once({"labels": labels}, seed=0, **options)
    assert masked["labels"] == labels
    assert mask_once({"labels": labels[3:5]}, seed=0, **options)["input_ids"] == masked["input_ids"][3:5]
    assert mask_once({"labels": labels}, seed=1, **options)["input_ids"] != masked["input_ids"]
    assert all(MASK in source and source[-1] == EOS for source in masked["input_ids"])
