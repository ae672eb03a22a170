"""From options or samples to rows, to the report, to ids: what is printed, cached, and refused in a line."""

import sys
from functools import partial
from pathlib import Path

import datasets
import pytest
from transformers import TrainingArguments

from atenta import AtentaTokenizer
from atenta.recipes.encoding.pairs import encode_pairs
from atenta.recipes.reading import (
    DataArguments,
    DocumentArguments,
    about,
    documents,
    encode,
    inspect,
    load,
    load_documents,
    pairs,
)
from atenta.recipes.samples import SAMPLES, Sample
from support.recipes import write_jsonl, write_lines

COLUMNS = ["source", "target"]
calls = []


@pytest.fixture(autouse=True)
def _cache_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    calls.clear()


@pytest.fixture
def training(tmp_path):
    return TrainingArguments(tmp_path / "output", use_cpu=True, report_to="none")


@pytest.fixture
def load_pairs(training):
    return partial(
        load, training=training, check=pairs.check, features=pairs.FEATURES, columns=COLUMNS, optional=["tags"]
    )


@pytest.fixture
def files(tmp_path):
    train = write_lines(tmp_path / "train.tsv", "ser\tsou", "ver\tvês")
    return {"train_file": [str(train)], "validation_file": [str(write_lines(tmp_path / "dev.tsv", "ir\tvou"))]}


@pytest.fixture
def tokenizer():
    return AtentaTokenizer.from_texts(["abcdefghijklmnoprstuvê"], family="encoder-decoder")


def counted(batch, tokenizer):
    """As `encode_pairs`, and tells that it was called."""
    calls.append(len(batch["source"]))
    return encode_pairs(batch, tokenizer)


def test_files_become_rows(load_pairs, files):
    splits = load_pairs(DataArguments(**files))
    assert splits["train"].to_list() == [
        {"source": "ser", "target": "sou", "tags": []},
        {"source": "ver", "target": "vês", "tags": []},
    ]
    assert splits["test"].to_list() == splits["validation"].to_list()


def test_a_suffix_may_have_a_reader_of_its_own(training, tmp_path):
    text = [str(write_lines(tmp_path / "text.txt", "um", "dois"))]
    splits = load(
        DataArguments(train_file=text, validation_file=text),
        training,
        check=documents.check,
        features=documents.FEATURES,
        columns=["text"],
        readers={".txt": partial(documents.read_documents, sample_by="line")},
    )
    assert splits["train"]["text"][:] == ["um", "dois"]


@pytest.mark.parametrize("streaming", [False, True])
def test_texts_of_any_kind_of_file_are_cut(training, tmp_path, streaming):
    text = [str(write_lines(tmp_path / "text.txt", "Um. Dois.", "", "Três"))]
    table = [str(write_jsonl(tmp_path / "text.jsonl", [{"text": "Um. Dois.\n\nTrês"}]))]
    data = DocumentArguments(train_file=table, validation_file=text, sample_by="sentence", streaming=streaming)
    splits = load_documents(data, training)
    assert splits.keys() == {"train", "validation", "test"}
    for rows in splits.values():
        assert [row["text"] for row in rows] == ["Um.", "Dois.", "Três"]
    assert splits["train"].features == documents.FEATURES


def test_a_sample_made_of_rows_has_the_features_of_the_task(load_pairs, monkeypatch):
    made = {name: [{"source": name, "target": name, "tags": []}] for name in ("train", "validation", "test")}
    sample = Sample({"data": "mine", "language": "pt", "licence": "mit"}, rows=lambda: made)
    monkeypatch.setitem(SAMPLES, "mine", sample)
    splits = load_pairs(DataArguments(sample="mine"))
    assert {name: rows.to_list() for name, rows in splits.items()} == made
    assert splits["train"].features == pairs.FEATURES
    assert about(DataArguments(sample="mine")) == sample.about


def test_a_sample_made_of_files_is_read_like_a_user_s_own(load_pairs, monkeypatch, files):
    sample = Sample({}, files=[files["train_file"][0], files["validation_file"][0]])
    monkeypatch.setitem(SAMPLES, "mine", sample)
    named, sampled = load_pairs(DataArguments(**files)), load_pairs(DataArguments(sample="mine"))
    assert {name: rows.to_list() for name, rows in sampled.items()} == {
        name: rows.to_list() for name, rows in named.items()
    }


@pytest.mark.parametrize("sample", [None, "nothing"])
def test_without_data_the_flags_and_the_samples_are_named(load_pairs, sample):
    with pytest.raises(SystemExit, match=r"--train_file and --validation_file, or --dataset_name, .*accents.*faquad"):
        load_pairs(DataArguments(sample=sample))


def test_a_malformed_row_ends_it_with_file_and_line(load_pairs, files, tmp_path):
    files["train_file"] = [str(write_lines(tmp_path / "bad.tsv", "ser\tsou", " \tvês"))]
    with pytest.raises(SystemExit, match=r"bad\.tsv, line 2: found an empty source"):
        load_pairs(DataArguments(**files))


def test_skipped_rows_are_listed_in_the_output_folder(load_pairs, files, training, tmp_path):
    files["train_file"] = [str(write_lines(tmp_path / "bad.tsv", "ser\tsou", " \tvês"))]
    assert len(load_pairs(DataArguments(**files, skip_bad_rows=True))["train"]) == 1
    assert "line 2" in Path(training.output_dir, "bad_rows.tsv").read_text(encoding="utf-8")


def test_what_is_said_of_files_and_data_sets_tells_nothing_of_the_machine(files):
    assert about(DataArguments(**files)) == {"data": "train.tsv"}
    assert about(DataArguments(dataset_name="someone/pairs")) == {"data": "someone/pairs"}


def test_the_report_is_printed_and_a_long_row_ends_it(load_pairs, files, training, tokenizer, capsys):
    splits = load_pairs(DataArguments(**files))
    inspect(splits, training, COLUMNS, tokenizer, max_length=4)
    assert "longer than 4 tokens" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="train, row 0: found 4 tokens in an input; expected at most 3"):
        inspect(splits, training, COLUMNS, tokenizer, max_length=3)
    assert "longer than 3 tokens" in capsys.readouterr().out  # the report comes first


def test_rows_are_encoded_once_and_only_ids_are_left(load_pairs, files, training, tokenizer):
    for _ in range(2):
        encoded = encode(load_pairs(DataArguments(**files)), training, partial(counted, tokenizer=tokenizer))
    assert encoded["train"].column_names == ["input_ids", "labels"]
    assert encoded["train"]["input_ids"][:] == tokenizer(["ser", "ver"]).input_ids
    assert calls == [2, 1]  # train, and validation, which is the test too


def test_rows_are_encoded_anew_when_the_code_that_encodes_changes(load_pairs, files, training, tokenizer, monkeypatch):
    splits = load_pairs(DataArguments(**files))
    encode(splits, training, partial(counted, tokenizer=tokenizer))
    calls.clear()
    monkeypatch.setattr(sys.modules[load.__module__], "code_stamp", lambda folder: ((1, 2),))
    encode(splits, training, partial(counted, tokenizer=tokenizer))
    assert calls == [2, 1]


def test_another_tokenizer_encodes_anew(load_pairs, files, training, tokenizer):
    splits = load_pairs(DataArguments(**files))
    encode(splits, training, partial(counted, tokenizer=tokenizer))
    other = AtentaTokenizer.from_texts(["sevrouêi"], family="encoder-decoder")
    encoded = encode(splits, training, partial(counted, tokenizer=other))
    assert encoded["train"]["input_ids"][:] == other(["ser", "ver"]).input_ids


def test_other_processes_encode_the_same_rows_in_the_same_order(load_pairs, files, training, tokenizer):
    splits = load_pairs(DataArguments(**files))
    function = partial(counted, tokenizer=tokenizer)
    shared = encode(splits, training, function, num_proc=2)
    assert calls == []
    own = encode(splits, training, function)
    assert calls == [2, 1]  # it does not find what batches of other rows became
    assert {name: rows.to_list() for name, rows in shared.items()} == {
        name: rows.to_list() for name, rows in own.items()
    }


def test_a_row_that_another_process_cannot_encode_ends_it_in_a_line(load_pairs, training, files, tokenizer, tmp_path):
    files["train_file"] = [str(write_lines(tmp_path / "tags.tsv", "ser\tsou\tV", "ver\tvês\tV"))]
    with pytest.raises(SystemExit, match="no tag <V>"):
        encode(load_pairs(DataArguments(**files)), training, partial(encode_pairs, tokenizer=tokenizer), num_proc=2)


@pytest.mark.parametrize("number", [0, -1])
def test_one_process_has_to_encode(number):
    with pytest.raises(ValueError, match=f"--preprocessing_num_workers is {number}; expected 1 or more"):
        DataArguments(preprocessing_num_workers=number)


def test_a_stream_is_encoded_as_it_is_read(load_pairs, files, training, tokenizer):
    splits = load_pairs(DataArguments(**files, streaming=True))
    encoded = encode({"train": splits["train"]}, training, partial(counted, tokenizer=tokenizer))
    assert calls == []
    assert [row["input_ids"] for row in encoded["train"]] == tokenizer(["ser", "ver"]).input_ids


def test_a_row_that_cannot_be_encoded_ends_it_in_a_line(load_pairs, files, training, tokenizer, tmp_path):
    files["train_file"] = [str(write_lines(tmp_path / "tags.tsv", "ser\tsou\tV"))]
    with pytest.raises(SystemExit, match="no tag <V>"):
        encode(load_pairs(DataArguments(**files)), training, partial(counted, tokenizer=tokenizer))
