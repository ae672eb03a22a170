"""Documents: cut out of texts, cut to a length, encoded and packed."""

from functools import partial
from itertools import pairwise

import pytest
import torch
from datasets import Dataset, List, Value, load_dataset
from hypothesis import given, settings
from hypothesis import strategies as st

from atenta import AtentaDecoderForCausalLM, AtentaTokenizer
from atenta.recipes.reading.records import BadRow
from atenta.recipes.tasks.documents import (
    collate_packed,
    cut_documents,
    cut_sentences,
    cut_to_length,
    encode_documents,
    pack,
    read_documents,
)
from support.models import tiny_model

TEXT = "Capítulo I\nUma noite destas\n\nvindo da cidade\n\nencontrei um rapaz\nno trem"
every_unit = pytest.mark.parametrize("sample_by", ["document", "paragraph", "line", "sentence"])


@pytest.fixture
def write(tmp_path):
    def write(content):
        path = tmp_path / "novel.txt"
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    return write


def texts_of(path, sample_by):
    return [fields["text"] for _, fields in read_documents(path, sample_by)]


# Documents of texts


@pytest.mark.parametrize("sample_by", ["document", "paragraph", "line"])
def test_units_are_those_of_datasets(write, sample_by, tmp_path):
    path = write(TEXT)
    rows = load_dataset("text", data_files=str(path), sample_by=sample_by, split="train", cache_dir=str(tmp_path))
    assert texts_of(path, sample_by) == [text for text in rows["text"] if text]  # datasets keeps blank lines


@pytest.mark.parametrize(
    ("sample_by", "numbers"), [("document", [1]), ("paragraph", [3, 6, 8]), ("line", [3, 4, 6, 8, 9])]
)
def test_locations(write, sample_by, numbers):
    path = write(f"\n \n{TEXT}\n\n\n")
    assert [where for where, _ in read_documents(path, sample_by)] == [f"{path}, line {n}" for n in numbers]


def test_locations_of_sentences(write):
    path = write("Título\num. dois\ntrês. quatro\n\ncinco. Seis")
    found = [(where.rpartition(" ")[2], fields["text"]) for where, fields in read_documents(path, "sentence")]
    assert found == [("1", "Título\num."), ("2", "dois\ntrês."), ("3", "quatro"), ("5", "cinco."), ("5", "Seis")]


@every_unit
def test_texts_in_memory_are_cut_like_files(write, sample_by):
    of_file = texts_of(write(TEXT), sample_by)
    assert cut_documents({"text": [TEXT]}, sample_by) == {"text": of_file}
    assert cut_documents({"text": of_file}, sample_by) == {"text": of_file}
    assert cut_documents({"text": [TEXT.replace("\n", "\r\n")]}, sample_by) == {"text": of_file}


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Sim. Não! Será?… Talvez", ["Sim.", "Não!", "Será?…", "Talvez"]),
        ("Disse: “Vem.” E foi (à tarde.) — Só?", ["Disse: “Vem.”", "E foi (à tarde.)", "— Só?"]),
        ("  um texto\nque segue.\n\tOutro \n", ["um texto\nque segue.", "Outro"]),
        ("1.5 é 3.0/2... ponto.com", ["1.5 é 3.0/2...", "ponto.com"]),
        ("o Sr. Alves", ["o Sr.", "Alves"]),
        ("", []),
    ],
)
def test_sentences(text, sentences):
    assert [sentence for _, sentence in cut_sentences(text)] == sentences


@given(text=st.text(alphabet='ab.!?…”)"\n \u2028\u0301', max_size=40))
def test_sentences_keep_all_but_white_space(text):
    kept = "".join(sentence for _, sentence in cut_sentences(text))
    assert "".join(kept.split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("sample_by", "good"), [("document", []), ("paragraph", ["e"]), ("line", ["a", "d", "e"]), ("sentence", ["e"])]
)
def test_document_that_is_not_utf_8(write, sample_by, good):
    rows = list(read_documents(write(b"a\nb\xe3\nd\n\ne"), sample_by))
    assert [row[1]["text"] for row in rows if not isinstance(row, BadRow)] == good
    (bad,) = (row for row in rows if isinstance(row, BadRow))
    assert bad.where.endswith("line 2")
    assert "found byte 0xE3 after 'b'" in str(bad)


@every_unit
@pytest.mark.parametrize("content", ["", "\ufeff \n\r\n"])
def test_file_without_text(write, sample_by, content):
    with pytest.raises(ValueError, match=r"novel.txt: found no text"):
        texts_of(write(content), sample_by)


# Texts of a length

ENCODER = AtentaTokenizer.from_alphabet(family="encoder")


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
        ("<eos>" * 5, ["<eos><eos><eos><", "eos><eos>"]),
        (" \n\n ", []),
        ("", []),
    ],
)
def test_texts_end_at_the_best_place(document, texts):
    assert cut_to_length(document, ENCODER, 16) == texts


@given(st.text("ab .\n\u0301\u20acЖ𝄞"), st.integers(4, 12))
def test_texts_are_short_enough_and_keep_all_but_white_space(document, max_tokens):
    texts = cut_to_length(document, ENCODER, max_tokens)
    normalized = ENCODER.backend_tokenizer.normalizer.normalize_str(document)
    assert "".join("".join(texts).split()) == "".join(normalized.split())
    assert all(len(ENCODER(text, add_special_tokens=False).input_ids) <= max_tokens for text in texts)
    assert all(text == text.strip() != "" for text in texts)


# Encoding and packing

DECODER = AtentaTokenizer.from_alphabet("abcdefgh <>opst", family="decoder")
PAD, BOS, EOS = DECODER.pad_token_id, DECODER.bos_token_id, DECODER.eos_token_id

documents = st.lists(st.text("abcdé 𝄞"), min_size=1, max_size=6)
block_sizes = st.integers(2, 12)
collate = partial(collate_packed, pad_token_id=PAD, eos_token_id=EOS)


def packed(texts, block_size):
    columns = pack({"text": texts}, DECODER, block_size)
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


def rows_of(texts, block_size):
    """The inputs of a decoder for each packed row."""
    batches = [collate([row]) for row in packed(texts, block_size)]
    return [{name: values.tolist()[0] for name, values in batch.items()} for batch in batches]


def pieces_of(row):
    """The pieces of a packed row, separated where positions restart."""
    starts = [place for place, position in enumerate(row["position_ids"]) if position == 0]
    return [row["input_ids"][start:end] for start, end in zip(starts, [*starts[1:], len(row["input_ids"])])]


@pytest.mark.parametrize("text", ["ab c", "a<eos><bos><pad>b"])
def test_document_is_encoded_from_bos_to_eos(text):
    expected = [BOS, *DECODER.convert_tokens_to_ids(list(text)), EOS]
    assert encode_documents({"text": [text]}, DECODER) == {"text": [text], "input_ids": [expected]}
    (row,) = packed([text], 99)
    assert row["input_ids"].tolist() == expected


@given(documents, block_sizes)
def test_each_token_is_predicted_once_from_the_one_before(texts, block_size):
    rows = rows_of(texts, block_size)
    complete = [[*DECODER(text).input_ids, EOS] for text in texts]
    predicted = [label for row in rows for label in row["labels"] if label != -100]
    assert predicted == [label for document in complete for label in document[1:]]
    pieces = [piece for row in rows for piece in pieces_of(row)]
    assert [pair for piece in pieces for pair in pairwise(piece)] == [
        pair for document in complete for pair in pairwise(document)
    ]
    lengths = [len(row["input_ids"]) for row in rows]
    assert set(lengths[:-1]) <= {block_size}
    assert 2 <= lengths[-1] <= block_size


def test_padding_is_a_separate_piece():
    batch = collate(packed(["abc", "de"], 6))
    d, e = DECODER.convert_tokens_to_ids(["d", "e"])
    assert batch.keys() == {"input_ids", "position_ids", "labels"}
    assert batch["input_ids"][1].tolist() == [BOS, d, e, EOS, PAD, PAD]
    assert batch["position_ids"][1].tolist() == [0, 1, 2, 3, 0, 1]
    assert batch["labels"][1].tolist() == [-100, d, e, EOS, -100, -100]
    assert {tensor.dtype for tensor in batch.values()} == {torch.long}


@given(st.lists(st.text("abcdefgh ", max_size=9), min_size=1, max_size=5), st.integers(2, 9))
@settings(max_examples=15)
def test_loss_of_a_batch_is_that_of_its_pieces(texts, block_size):
    model = tiny_model(AtentaDecoderForCausalLM, vocab_size=len(DECODER))
    rows = rows_of(texts, block_size)
    with torch.no_grad():
        together = model(**collate(packed(texts, block_size)), use_cache=False, num_items_in_batch=1).loss
        pieces = [torch.tensor([piece]) for row in rows for piece in pieces_of(row) if len(piece) > 1]
        alone = sum(model(piece, labels=piece, num_items_in_batch=1).loss for piece in pieces)
    torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-5)


def test_options_out_of_range_are_named():
    with pytest.raises(ValueError, match="--sample_by page: expected one of document, paragraph, line, sentence"):
        cut_documents({"text": [TEXT]}, "page")
    with pytest.raises(ValueError, match="--max_length leaves 3 tokens"):
        cut_to_length("a", ENCODER, 3)
    with pytest.raises(ValueError, match="--max_length 1: expected 2 or more"):
        pack({"text": ["a"]}, DECODER, 1)


def test_packing_of_datasets_and_streams():
    rows = Dataset.from_dict({"text": ["abc", "d", "efgh" * 5]})
    options = {"batched": True, "remove_columns": ["text"], "fn_kwargs": {"tokenizer": DECODER, "block_size": 8}}
    expected = collate(packed(rows["text"][:], 8))
    mapped, streamed = rows.map(pack, **options), rows.to_iterable_dataset().map(pack, **options)
    assert mapped.features == {"input_ids": List(Value("uint16"))}
    for packed_rows in (mapped, mapped.with_format("numpy"), streamed, streamed.with_format("numpy")):
        batch = collate(packed_rows)
        assert all(torch.equal(batch[name], expected[name]) for name in expected)


def test_cache_key_of_packing():
    rows = Dataset.from_dict({"text": ["abc"]})

    def fingerprint(tokenizer):
        function = partial(pack, tokenizer=tokenizer, block_size=8)
        return rows.map(function, batched=True, remove_columns="text")._fingerprint

    before = fingerprint(DECODER)
    DECODER(["a", "abc"], padding=True, truncation=True, max_length=2)  # changes the state of the tokenizer
    assert fingerprint(DECODER) == before
    assert fingerprint(AtentaTokenizer.from_alphabet("abcdefgh <>opst", family="decoder")) == before
    assert fingerprint(AtentaTokenizer.from_alphabet("abcdefg <>opst", family="decoder")) != before
