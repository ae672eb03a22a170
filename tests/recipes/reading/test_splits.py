import csv
import json
import os
from functools import partial

import datasets
import pytest
from datasets.distributed import split_dataset_by_node

from atenta.recipes.reading import pairs, tagged
from atenta.recipes.reading import splits as splits_module
from atenta.recipes.reading.records import BadRow
from atenta.recipes.reading.splits import DataArguments, read_splits
from atenta.recipes.reading.tables import read_table
from atenta.recipes.training.command_line import parse_arguments

read_pairs = partial(read_table, columns=["source", "target"], optional=["tags"])
reads, stamp = [], splits_module._stamp


def read_counted(path):
    """As `read_pairs`, and tells that it was called."""
    reads.append(path)
    return read_pairs(path)


@pytest.fixture(autouse=True)
def _cache_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    reads.clear()


@pytest.fixture
def write(tmp_path):
    def write(name, *lines):
        path = tmp_path / name
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return [str(path)]

    return write


@pytest.fixture
def files(write):
    return {"train_file": write("train.tsv", "a\tA", "b\tB"), "validation_file": write("dev.tsv", "c\tC")}


@pytest.fixture
def splits_of(tmp_path):
    def splits_of(read=read_pairs, **options):
        bad_rows = tmp_path / "output" / "bad_rows.tsv"
        return read_splits(DataArguments(**options), read, pairs.check, pairs.FEATURES, bad_rows)

    return splits_of


def rows(*sources):
    return [{"source": source, "target": source.upper(), "tags": []} for source in sources]


def listed(tmp_path):
    with (tmp_path / "output" / "bad_rows.tsv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter="\t"))


def test_files_become_splits_and_validation_is_the_test_where_none_is_given(splits_of, files, write):
    splits = splits_of(**files)
    assert {name: split.to_list() for name, split in splits.items()} == {
        "train": rows("a", "b"),
        "validation": rows("c"),
        "test": rows("c"),
    }
    assert all(split.features == pairs.FEATURES for split in splits.values())
    assert list(splits) == ["train", "validation", "test"]  # the order in which reports show them
    assert splits_of(**files, test_file=write("test.tsv", "d\tD"))["test"].to_list() == rows("d")


def test_a_split_may_have_several_files(splits_of, files, write):
    files["train_file"] += write("more.jsonl", json.dumps({"source": "e", "target": "E"}))
    assert splits_of(**files)["train"].to_list() == rows("a", "b", "e")


def test_rows_lie_on_disk_and_are_read_once(splits_of, files, tmp_path):
    first = splits_of(read_counted, **files)["train"]
    assert first.cache_files
    assert all(str(tmp_path / "cache") in file["filename"] for file in first.cache_files)
    assert reads
    reads.clear()
    assert splits_of(read_counted, **files)["train"].to_list() == first.to_list()
    assert reads == []


@pytest.mark.parametrize("change", ["content", "time alone"])
def test_a_file_that_changes_is_read_anew(splits_of, files, write, change):
    splits_of(read_counted, **files)
    reads.clear()
    train = files["train_file"][0]
    if change == "content":
        write("train.tsv", "f\tF", "g\tG", "h\tH")
    else:
        changed = os.stat(train).st_mtime_ns
        write("train.tsv", "f\tF", "g\tG")
        os.utime(train, ns=(changed, changed + 1))
    assert splits_of(read_counted, **files)["train"][0] == rows("f")[0]
    assert reads == [train]


@pytest.mark.parametrize("streaming", [False, True])
def test_the_first_bad_row_stops_everything(splits_of, files, write, streaming):
    files["train_file"] = write("train.tsv", "a\tA", " \tB", "c")
    with pytest.raises(BadRow, match=r"train.tsv, line 2: found an empty source; expected") as error:
        list(splits_of(**files, streaming=streaming)["train"])
    assert error.value.where == f"{files['train_file'][0]}, line 2"


def test_bad_rows_are_left_out_and_listed_also_when_the_good_ones_are_cached(
    splits_of, files, write, tmp_path, capsys
):
    files["train_file"] = write("train.tsv", "a\tA", " \tB", "b\tB", *["c"] * 20)
    for _ in range(2):
        splits = splits_of(read_counted, **files, skip_bad_rows=True)
        assert splits["train"].to_list() == rows("a", "b")
        header, *bad = listed(tmp_path)
        assert header == ["where", "problem"]
        assert [where for where, _ in bad] == [f"{files['train_file'][0]}, line {n}" for n in [2, *range(4, 24)]]
        assert bad[0][1].startswith("found an empty source")
        printed = capsys.readouterr().out
        assert "21 malformed rows" in printed
        assert printed.count(", line ") == 10
        (tmp_path / "output" / "bad_rows.tsv").unlink()
    assert reads.count(files["train_file"][0]) == 1


def test_a_bad_row_of_validation_is_listed_once_though_validation_is_the_test(splits_of, files, write, tmp_path):
    files["validation_file"] = write("dev.tsv", "c\tC", "d")
    assert splits_of(**files, skip_bad_rows=True)["test"].to_list() == rows("c")
    assert len(listed(tmp_path)) == 2


def test_the_list_of_a_file_since_mended_is_emptied(splits_of, files, write, tmp_path):
    files["train_file"] = write("train.tsv", "a\tA", "b")
    splits_of(**files, skip_bad_rows=True)
    assert len(listed(tmp_path)) == 2
    write("train.tsv", "a\tA", "b\tB")
    splits_of(**files, skip_bad_rows=True)
    assert listed(tmp_path) == [["where", "problem"]]


def test_a_split_without_a_good_row_is_refused(splits_of, files, write):
    files["validation_file"] = write("dev.tsv", "c", "d")
    with pytest.raises(ValueError, match="found no good row of 2 for validation"):
        splits_of(**files, skip_bad_rows=True)


@pytest.mark.parametrize("missing", ["train_file", "validation_file"])
def test_missing_data_are_asked_for_by_their_flag(splits_of, files, missing):
    del files[missing]
    with pytest.raises(ValueError, match=f"--{missing}"):
        splits_of(**files)


def test_files_that_cannot_be_read_are_named(splits_of, files, write):
    with pytest.raises(FileNotFoundError, match=r"absent\.tsv"):
        splits_of(**{**files, "train_file": ["absent.tsv"]})
    with pytest.raises(ValueError, match=r"train\.xlsx: found the suffix '.xlsx'"):
        splits_of(**{**files, "train_file": write("train.xlsx", "a\tA")})
    with pytest.raises(ValueError, match=r"empty\.tsv: found no rows"):
        splits_of(**{**files, "train_file": write("empty.tsv")})


def test_only_training_rows_are_streamed_and_are_those_of_the_cache(splits_of, files, write):
    files["train_file"] += write("more.tsv", "e\tE")
    cached, streamed = splits_of(**files), splits_of(**files, streaming=True)
    assert isinstance(streamed["train"], datasets.IterableDataset)
    assert isinstance(streamed["validation"], datasets.Dataset)
    assert list(streamed["train"]) == cached["train"].to_list()
    assert streamed["train"].features == pairs.FEATURES


def test_a_stream_is_a_shard_a_file_and_leaves_out_bad_rows_as_they_come(splits_of, files, write, capsys):
    files["train_file"] += write("more.tsv", "e\tE", "f")
    train = splits_of(**files, streaming=True, skip_bad_rows=True)["train"]
    assert train.num_shards == 2
    shares = [list(split_dataset_by_node(train, rank, world_size=2)) for rank in range(2)]
    assert shares == [rows("a", "b"), rows("e")]
    assert "more.tsv, line 2: found 1 column" in capsys.readouterr().out


def test_a_stream_is_read_as_it_is_asked_for(splits_of, files, write):
    files["train_file"] += write("more.tsv", "e\tE")
    assert next(iter(splits_of(read_counted, **files, streaming=True)["train"])) == rows("a")[0]
    assert files["train_file"][1] not in reads


@pytest.fixture
def hub(tmp_path):
    """A folder that load_dataset reads like a data set of the Hub."""

    def hub(**splits):
        folder = tmp_path / "hub"
        folder.mkdir()
        for name, rows in splits.items():
            lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
        return str(folder)

    return hub


@pytest.mark.parametrize("streaming", [False, True])
def test_a_data_set_of_the_hub_becomes_splits(splits_of, hub, streaming):
    given = {name: [{"source": name, "target": name.upper(), "count": 3}] for name in ("train", "validation", "test")}
    splits = splits_of(dataset_name=hub(**given), streaming=streaming)
    assert {name: list(split) for name, split in splits.items()} == {name: rows(name) for name in given}
    assert isinstance(splits["train"], datasets.IterableDataset) is streaming


def test_a_data_set_of_the_hub_is_read_once(splits_of, hub, tmp_path):
    folder = hub(train=[{"source": "a", "target": "A"}], validation=[{"source": "c", "target": "C"}])
    first, again = (splits_of(dataset_name=folder)["train"].cache_files for _ in range(2))
    assert first == again
    assert len(list((tmp_path / "cache").glob("generator/*/*/generator-train.arrow"))) == 1


def test_a_stream_of_the_hub_keeps_its_shards(splits_of, hub):
    shards = {f"train-0000{n}-of-00002": [{"source": "ab"[n], "target": "AB"[n]}] for n in range(2)}
    train = splits_of(dataset_name=hub(**shards, validation=[{"source": "c", "target": "C"}]), streaming=True)["train"]
    assert train.num_shards == 2
    assert [list(split_dataset_by_node(train, rank, world_size=2)) for rank in range(2)] == [rows("a"), rows("b")]


def test_the_cache_is_made_anew_when_the_code_that_checks_changes(splits_of, files, tmp_path, monkeypatch):
    first = splits_of(read_counted, **files)["train"].cache_files
    monkeypatch.setattr(
        splits_module, "_stamp", lambda path: (1, 2) if str(path).endswith("pairs.py") else stamp(path)
    )
    assert splits_of(read_counted, **files)["train"].cache_files != first


@pytest.mark.parametrize("streaming", [False, True])
def test_a_bad_row_of_the_hub_is_named(splits_of, hub, streaming):
    folder = hub(
        train=[{"source": "a", "target": "A"}, {"source": " ", "target": "B"}],
        validation=[{"source": "c", "target": "C"}],
    )
    with pytest.raises(BadRow, match="found an empty source") as error:
        list(splits_of(dataset_name=folder, streaming=streaming)["train"])
    assert error.value.where == f"{folder}, split train, row 2"


def test_a_data_set_without_a_split_is_refused(splits_of, hub):
    with pytest.raises(ValueError, match="found the splits train, test; expected validation"):
        splits_of(dataset_name=hub(train=rows("a"), test=rows("b")))


def test_files_and_a_data_set_exclude_each_other(splits_of, hub, files):
    with pytest.raises(ValueError, match=r"either --dataset_name .* or files"):
        splits_of(dataset_name=hub(train=rows("a"), validation=rows("b")), train_file=files["train_file"])


def test_numbers_of_classes_become_their_names(tmp_path):
    tags = datasets.List(datasets.ClassLabel(names=["O", "B-PER"]))
    features = datasets.Features({"words": datasets.List(datasets.Value("string")), "tags": tags})
    rows = datasets.Dataset.from_list([{"words": ["de", "Assis"], "tags": [0, 1]}], features)
    for name in ("train", "validation"):
        rows.to_parquet(tmp_path / f"hub/{name}.parquet")
    arguments = DataArguments(dataset_name=str(tmp_path / "hub"))
    splits = read_splits(arguments, read_pairs, tagged.check, tagged.FEATURES, tmp_path / "bad_rows.tsv")
    assert splits["train"].to_list() == [{"words": ["de", "Assis"], "tags": ["O", "B-PER"]}]


def test_lists_of_files_come_from_flags_and_from_a_configuration(tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text("train_file: [a.tsv, b.tsv]\nvalidation_file: [c.tsv]\n", encoding="utf-8")
    parse = partial(parse_arguments, DataArguments, description="", default_config="accents.yaml")
    (arguments,) = parse(arguments=["--config", str(config)])
    assert (arguments.train_file, arguments.validation_file) == (["a.tsv", "b.tsv"], ["c.tsv"])
    (arguments,) = parse(arguments=["--config", str(config), "--train_file", "d.tsv", "e.tsv", "--streaming"])
    assert (arguments.train_file, arguments.streaming) == (["d.tsv", "e.tsv"], True)
