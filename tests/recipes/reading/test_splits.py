"""Splits of files and of Hub data sets: cached or streamed, with bad rows refused or listed."""

import csv
import json
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unicodedata import normalize

import datasets
import pytest
from datasets.distributed import split_dataset_by_node

from atenta.recipes.reading import splits as splits_module
from atenta.recipes.reading.file_formats import read_table
from atenta.recipes.reading.records import BadRow
from atenta.recipes.reading.splits import DataArguments, code_digest, read_splits
from atenta.recipes.tasks.documents import DocumentTask
from atenta.recipes.tasks.questions import QUESTIONS
from atenta.recipes.tasks.tagging import TAGGED_SENTENCES
from atenta.recipes.tasks.transduction import PAIRS
from support.recipes import write_jsonl, write_lines

reads = []


def read_counted(path):
    reads.append(path)
    return read_table(path, PAIRS.columns, PAIRS.optional)


COUNTED_PAIRS = replace(PAIRS, readers={".tsv": read_counted})


@pytest.fixture(autouse=True)
def _separate_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    reads.clear()


@pytest.fixture
def write(tmp_path):
    return lambda name, *lines: [str(write_lines(tmp_path / name, *lines))]


@pytest.fixture
def files(write):
    return {"train_file": write("train.tsv", "a\tA", "b\tB"), "validation_file": write("dev.tsv", "c\tC")}


@pytest.fixture
def hub(tmp_path):
    """Return a function that writes sources as a folder that `load_dataset` reads like a data set on the Hub."""

    def hub(**splits):
        (tmp_path / "hub").mkdir()
        for name, sources in splits.items():
            pairs = [{"source": source, "target": source.upper(), "count": 3} for source in sources]
            write_jsonl(tmp_path / "hub" / f"{name}.jsonl", pairs)
        return str(tmp_path / "hub")

    return hub


@pytest.fixture
def splits_of(tmp_path):
    def splits_of(row_format=PAIRS, **options):
        return read_splits(DataArguments(**options), row_format, tmp_path / "output" / "bad_rows.tsv")

    return splits_of


@pytest.fixture
def listed(tmp_path):
    """Return a function that reads the list of bad rows."""

    def listed():
        with (tmp_path / "output" / "bad_rows.tsv").open(encoding="utf-8", newline="") as file:
            return list(csv.reader(file, delimiter="\t"))

    return listed


def rows(*sources):
    return [{"source": source, "target": source.upper(), "tags": []} for source in sources]


# Files


def test_splits_of_files(splits_of, files, write):
    splits = splits_of(**files)
    assert {name: split.to_list() for name, split in splits.items()} == {
        "train": rows("a", "b"),
        "validation": rows("c"),
        "test": rows("c"),
    }
    assert all(split.features == PAIRS.features for split in splits.values())
    assert list(splits) == ["train", "validation", "test"]  # the order in reports
    files["train_file"] += write("more.jsonl", json.dumps({"source": "e", "target": "E"}))
    splits = splits_of(**files, test_file=write("test.tsv", "d\tD"))
    assert (splits["train"].to_list(), splits["test"].to_list()) == (rows("a", "b", "e"), rows("d"))


def test_a_share_of_one_file_validates(splits_of, write, capsys):
    names = [f"{first}{second}" for first in "abcde" for second in "fghij"]
    pairs = [line for name in names for line in (f"{name}\t{name.upper()}", f"{name}\t{name}")]
    splits = splits_of(train_file=write("pairs.tsv", *pairs), validation_split=0.2)
    assert list(splits) == ["train", "validation", "test"]
    assert splits["test"] is splits["validation"]
    train, validation = splits["train"]["source"], splits["validation"]["source"]
    assert (len(train), len(validation)) == (40, 10)
    assert not {*train} & {*validation}  # both targets of a source are on one side
    assert "10 of 50 rows are set apart for validation (--validation_split 0.2)" in capsys.readouterr().out
    again = splits_of(train_file=write("other.tsv", *pairs[::-1]), test_file=write("test.tsv", "x\tX"))
    assert {*again["validation"]["source"]} < {*validation}
    assert again["test"].to_list() == rows("x")
    assert "--test_file" not in capsys.readouterr().out


def test_questions_about_a_context_stay_together(splits_of, tmp_path):
    found = [{"id": str(n), "question": "?", "context": "abc"[n % 3]} for n in range(9)]
    found = [{**row, "answers": {"text": [row["context"]], "answer_start": [0]}} for row in found]
    splits = splits_of(QUESTIONS, train_file=[str(write_jsonl(tmp_path / "questions.jsonl", found))])
    assert [len(splits[name]) for name in ("train", "validation")] == [6, 3]
    assert len({*splits["validation"]["context"]}) == 1


def test_the_share_is_of_rows_also_where_texts_have_many(splits_of, write):
    for one in "abcde":  # one of them comes first
        lines = [f"{letter}\t{number}" for letter in "abcde" for number in range(90 if letter == one else 1)]
        splits = splits_of(train_file=write(f"{one}.tsv", *lines), validation_split=0.1)
        assert len(splits["validation"]) < 5


def test_both_forms_of_a_text_are_on_one_side(splits_of, write):
    names = [f"é{number}" for number in range(20)]
    lines = [f"{normalize(form, name)}\tx" for name in names for form in ("NFC", "NFD")]
    splits = splits_of(train_file=write("forms.tsv", *lines))
    train, validation = ({normalize("NFC", row["source"]) for row in splits[name]} for name in ("train", "validation"))
    assert (len(train), len(validation)) == (18, 2)


def test_a_single_text_is_not_parted(splits_of, write):
    two = splits_of(train_file=write("two.tsv", "a\tA", "b\tB"), validation_split=0.9)
    assert [len(two[name]) for name in ("train", "validation")] == [1, 1]
    with pytest.raises(ValueError, match=r"a single source in train \(2 rows\).*--validation_file") as refused:
        splits_of(train_file=write("one.tsv", "a\tA", "a\tB"))
    assert "--sample_by" not in str(refused.value)
    with pytest.raises(
        ValueError, match=r"a single text in train \(1 row\).*--sample_by paragraph.*--validation_file"
    ):
        splits_of(DocumentTask().row_format, train_file=write("one.txt", "a", "", "b"))


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"train_file": None}, "--train_file"),
        ({"validation_file": None, "streaming": True}, "--streaming .*--validation_file"),
        ({"train_file": ["absent.tsv"]}, r"absent\.tsv"),
        ({"train_file": ["/dev/stdin"]}, "--train_file /dev/stdin: found a pipe"),
        ({"train_file": ["/dev/shm/absent.tsv"]}, r"shm/absent\.tsv"),  # no pipe
        ({"dataset_name": "someone/pairs"}, "--dataset_name someone/pairs .*--train_file"),
    ],
)
def test_options_that_name_no_data(splits_of, files, change, found):
    with pytest.raises((ValueError, FileNotFoundError), match=found):
        splits_of(**files | change)


def test_data_that_are_not_read_at_all(splits_of, hub, files, write):
    folder = hub(train="a", test="b")
    with pytest.raises(ValueError, match=r"train, test; expected validation .*without --streaming"):
        splits_of(dataset_name=folder, streaming=True)
    files["train_file"] = write("train.tsv", "Target\tSource", "A\ta")
    with pytest.raises(BadRow, match=r"train.tsv, line 1: found \['Target', 'Source'\]"):
        splits_of(**files, skip_bad_rows=True)


# The cache


def test_rows_are_cached_until_the_code_changes(splits_of, files, tmp_path, monkeypatch):
    first = splits_of(COUNTED_PAIRS, **files)["train"]
    assert all(str(tmp_path / "cache") in file["filename"] for file in first.cache_files)
    assert splits_of(COUNTED_PAIRS, **files)["train"].to_list() == first.to_list()
    assert sorted(reads) == sorted(files["train_file"] + files["validation_file"])
    monkeypatch.setattr(splits_module, "code_digest", lambda: "another digest")
    assert splits_of(COUNTED_PAIRS, **files)["train"].cache_files != first.cache_files


@pytest.mark.parametrize("lines", [["f\tF", "g\tG", "h\tH"], ["f\tF", "g\tG"]])
def test_file_of_another_size_or_time_is_read_again(splits_of, files, write, lines):
    splits_of(COUNTED_PAIRS, **files)
    reads.clear()
    train = files["train_file"][0]
    changed = os.stat(train).st_mtime_ns
    write("train.tsv", *lines)
    os.utime(train, ns=(changed, changed + (len(lines) == 2)))
    assert splits_of(COUNTED_PAIRS, **files)["train"][0] == rows("f")[0]
    assert reads == [train]


def test_code_digest(tmp_path, monkeypatch):
    recipes = Path(splits_module.__file__).parents[1]
    for folder in ("reading", "tasks"):
        shutil.copytree(recipes / folder, tmp_path / folder)
    monkeypatch.setattr(splits_module, "__file__", str(tmp_path / "reading" / "splits.py"))
    digests = [code_digest(), code_digest.__wrapped__()]
    assert digests[0] == digests[1]
    for changed in ("reading/file_formats.py", "tasks/transduction.py"):
        with (tmp_path / changed).open("a") as file:
            file.write("\n")
        digests.append(code_digest.__wrapped__())
    assert len(set(digests)) == 3


# Bad rows


def test_skipped_rows_are_listed_again_from_the_cache(splits_of, files, write, listed, tmp_path, capsys):
    files["train_file"] = write("train.tsv", "a\tA", " \tB", "b\tB", *["c"] * 20)
    files["validation_file"] = write("dev.tsv", "c\tC", "d")  # whose good rows are also the test rows
    for _ in range(2):
        splits = splits_of(COUNTED_PAIRS, **files, skip_bad_rows=True)
        assert splits["train"].to_list() == rows("a", "b")
        assert splits["test"].to_list() == rows("c")
        header, *bad, last = listed()
        assert header == ["where", "problem"]
        assert [where for where, _ in bad] == [f"{files['train_file'][0]}, line {n}" for n in [2, *range(4, 24)]]
        assert last[0] == f"{files['validation_file'][0]}, line 2"
        assert bad[0][1].startswith("found an empty source")
        printed = capsys.readouterr().out
        assert "22 malformed rows" in printed
        assert printed.count(", line ") == 10
        (tmp_path / "output" / "bad_rows.tsv").unlink()
    assert reads.count(files["train_file"][0]) == 1


def test_bad_rows_cannot_command_the_terminal(splits_of, files, write, listed, capsys):
    files["train_file"] = write("train\x1b[2J.tsv", "a\tA", " \tB")
    list(splits_of(**files, skip_bad_rows=True, streaming=True)["train"])
    splits_of(**files, skip_bad_rows=True)
    printed = capsys.readouterr().out
    assert printed.count(r"train\x1b[2J.tsv, line 2: found an empty source") == 2
    assert "\x1b" not in printed
    assert listed()[1][0] == f"{files['train_file'][0]}, line 2"


@pytest.mark.parametrize("brackets", [50, 970, 100_000])
def test_a_row_with_many_brackets_is_a_bad_row(splits_of, files, tmp_path, listed, brackets):
    """Whether Python could read it or not: what it reads it cannot always show."""
    deep = "[" * brackets + "]" * brackets
    train = write_lines(tmp_path / "t.jsonl", '{"source": "a", "target": "A"}', f'{{"source": {deep}, "target": "B"}}')
    files["train_file"] = [str(train)]
    assert splits_of(**files, skip_bad_rows=True)["train"].to_list() == rows("a")
    ((where, problem),) = listed()[1:]
    assert where == f"{train}, line 2"
    assert "[[[" in problem


def test_rows_with_the_key_of_another(splits_of, write, listed):
    def line(identifier):
        answers = {"text": ["Sim"], "answer_start": [0]}
        return json.dumps({"id": identifier, "context": "Sim", "question": "É?", "answers": answers})

    questions = [{"id": key, "question": "É?", "answers": [{"text": "Sim", "answer_start": 0}]} for key in (3, "3")]
    squad = {"context": "Sim", "qas": questions}
    files = {"train_file": write("train.jsonl", line("q1")) + write("more.jsonl", line("q2"), line("q1"))}
    files["train_file"] += write("squad.json", json.dumps({"data": [{"paragraphs": [squad]}]}))
    files["validation_file"] = write("dev.jsonl", line("q1"))
    with pytest.raises(BadRow, match=r"more.jsonl, line 2: found the id 'q1', as at .*train.jsonl, line 1; expected"):
        splits_of(QUESTIONS, **files)
    assert splits_of(QUESTIONS, **files, skip_bad_rows=True)["train"]["id"][:] == ["q1", "q2", "3"]
    assert [where.rpartition("/")[2] for where, _ in listed()[1:]] == ["more.jsonl, line 2", "squad.json, question 3"]


def test_no_list_of_bad_rows_stays_once_there_are_none(splits_of, files, write, listed, capsys, tmp_path):
    files["train_file"] = write("train.tsv", "a\tA", "b")
    splits_of(**files, skip_bad_rows=True)
    assert len(listed()) == 2
    assert "malformed" in capsys.readouterr().out
    write("train.tsv", "a\tA", "b\tB")
    splits_of(**files, skip_bad_rows=True)
    assert "malformed" not in capsys.readouterr().out
    assert not list(tmp_path.rglob("bad_rows.tsv"))


def test_split_without_good_rows(splits_of, files, write):
    files["validation_file"] = write("dev.tsv", "\tC", "\tD")
    message = r"found no good row among 2 rows for validation \(.*dev.tsv, line 1: found an empty source; expected"
    with pytest.raises(ValueError, match=message):
        splits_of(**files, skip_bad_rows=True)


# Streams


def test_only_training_rows_are_streamed_a_shard_per_file(splits_of, files, write, capsys):
    files["train_file"] += write("more.tsv", "e\tE", "f")
    splits = splits_of(COUNTED_PAIRS, **files, streaming=True, skip_bad_rows=True)
    assert isinstance(splits["validation"], datasets.Dataset)
    train = splits["train"]
    assert (train.num_shards, train.features) == (2, PAIRS.features)
    assert next(iter(train)) == rows("a")[0]
    assert files["train_file"][1] not in reads
    shares = [list(split_dataset_by_node(train, rank, world_size=2)) for rank in range(2)]
    assert shares == [rows("a", "b"), rows("e")]
    assert "more.tsv, line 2: found 1 column" in capsys.readouterr().out


def test_a_skipped_row_of_a_stream_is_printed_once_and_of_many_some_are(splits_of, files, write, capsys):
    files["train_file"] = write("train.tsv", "a\tA", *["b"] * 12)
    train = splits_of(**files, streaming=True, skip_bad_rows=True)["train"]
    assert list(train) == list(train) == rows("a")
    numbers = [int(re.search(r"line (\d+)", line)[1]) for line in capsys.readouterr().out.splitlines()]
    assert numbers == list(range(2, 12))


@pytest.mark.parametrize(("processes", "printed"), [(2, 2), (3, 0)])
def test_a_process_prints_the_skipped_rows_that_it_reads_alone(
    splits_of, files, write, capsys, monkeypatch, processes, printed
):
    """If the files cannot be divided among the processes, each reads all, and the main one prints."""
    state = SimpleNamespace(is_main_process=False, num_processes=processes)
    monkeypatch.setattr(splits_module, "PartialState", lambda: state)
    files["train_file"] += write("more.tsv", "e\tE", "f", "g")
    train = splits_of(**files, streaming=True, skip_bad_rows=True)["train"]
    list(split_dataset_by_node(train, 1, processes))
    assert capsys.readouterr().out.count("more.tsv, line ") == printed


# Data sets of the Hub


@pytest.mark.parametrize("streaming", [False, True])
def test_splits_of_the_hub(splits_of, hub, streaming):
    folder = hub(train="ab", validation="c", test="d")
    splits, again = (splits_of(dataset_name=folder, streaming=streaming) for _ in range(2))
    assert [list(split) for split in splits.values()] == [rows("a", "b"), rows("c"), rows("d")]
    assert isinstance(splits["train"], datasets.IterableDataset) is streaming
    assert splits["test"].cache_files == again["test"].cache_files


def test_hub_stream_keeps_its_shards(splits_of, hub):
    shards = {"train-00000-of-00002": "a", "train-00001-of-00002": "b"}
    train = splits_of(dataset_name=hub(**shards, validation="c"), streaming=True)["train"]
    assert train.num_shards == 2
    assert [list(split_dataset_by_node(train, rank, world_size=2)) for rank in range(2)] == [rows("a"), rows("b")]


def test_a_share_of_a_set_without_validation_validates(splits_of, hub, capsys):
    folder = hub(train="abcdefghij", test="x", unsupervised="y")
    listed = "".join(f"  - split: {name}\n    path: {name}.jsonl\n" for name in ("train", "test", "unsupervised"))
    Path(folder, "README.md").write_text(f"---\nconfigs:\n- config_name: default\n  data_files:\n{listed}---\n")
    splits = splits_of(dataset_name=folder)
    assert [len(splits[name]) for name in ("train", "validation")] == [9, 1]
    assert sorted([*splits["train"]["source"], *splits["validation"]["source"]]) == [*"abcdefghij"]
    assert splits["test"].to_list() == rows("x")
    printed = capsys.readouterr().out
    assert "1 of 10 rows are set apart for validation" in printed
    assert "scored" not in printed
    assert "the split unsupervised is not read" in printed


def test_the_columns_of_a_set_are_named(splits_of, hub):
    folder = hub(train="a", validation="c")
    named = f"--dataset_name {folder}, split train: found the columns source, target, count; expected words, tags: "
    with pytest.raises(ValueError, match=f"^{re.escape(named)}.*rename_columns.*--dataset_name FOLDER"):
        splits_of(TAGGED_SENTENCES, dataset_name=folder)


def test_a_set_that_datasets_cannot_read_is_named(splits_of, hub, tmp_path):
    folder = hub(train="a", validation="c")
    (tmp_path / "hub" / "train.jsonl").write_text('{"source": "a"}\n{"source"', encoding="utf-8")
    with pytest.raises(ValueError, match=f"--dataset_name {folder}: "):
        splits_of(dataset_name=folder)


@pytest.mark.parametrize("streaming", [False, True])
def test_bad_hub_row(splits_of, hub, streaming):
    folder = hub(train="a ", validation="c")
    with pytest.raises(BadRow, match="found an empty source") as error:
        list(splits_of(dataset_name=folder, streaming=streaming)["train"])
    assert error.value.where == f"{folder}, split train, row 2"


def test_class_numbers_become_names(tmp_path, splits_of):
    tags = datasets.List(datasets.ClassLabel(names=["O", "B-PER"]))
    features = datasets.Features({"words": datasets.List(datasets.Value("string")), "tags": tags})
    numbered = datasets.Dataset.from_list([{"words": ["de", "Assis"], "tags": [0, 1]}], features)
    for name in ("train", "validation"):
        numbered.to_parquet(tmp_path / f"hub/{name}.parquet")
    splits = splits_of(TAGGED_SENTENCES, dataset_name=str(tmp_path / "hub"))
    assert splits["train"].to_list() == [{"words": ["de", "Assis"], "tags": ["O", "B-PER"]}]
