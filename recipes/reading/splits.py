"""Files, or a data set of the Hub, made checked rows: cached on disk, or streamed."""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import datasets
from accelerate import PartialState
from datasets.exceptions import DatasetGenerationError

from atenta.recipes.reading.records import BadRow, Record

Rows = datasets.Dataset | datasets.IterableDataset
Reader = Callable[[str], Iterator[Record | BadRow]]
Check = Callable[[Mapping[str, Any]], dict[str, Any]]

SPLITS = ("train", "validation", "test")
SHOWN = 10  # bad rows that are printed; the file lists all


@dataclass
class DataArguments:
    """Which data are read.

    Raises:
        ValueError: `preprocessing_num_workers` is below 1.
    """

    _argument_group_name = "data"

    train_file: list[str] | None = field(default=None, metadata={"help": "files to learn"})
    validation_file: list[str] | None = field(default=None, metadata={"help": "files to choose the best checkpoint"})
    test_file: list[str] | None = field(default=None, metadata={"help": "files to score; None: validation_file"})
    dataset_name: str | None = field(default=None, metadata={"help": "a data set of the Hub, or a folder of one"})
    dataset_config_name: str | None = field(default=None, metadata={"help": "its configuration"})
    sample: str | None = field(default=None, metadata={"help": "shipped data that are taken if none are named"})
    streaming: bool = field(
        default=False, metadata={"help": "read the training data while learning: they may be larger than the disk"}
    )
    preprocessing_num_workers: int | None = field(
        default=None, metadata={"help": "processes that turn rows into ids; None: this one; a stream has none"}
    )
    skip_bad_rows: bool = field(default=False, metadata={"help": "list malformed rows in bad_rows.tsv, and go on"})

    def __post_init__(self) -> None:
        if self.preprocessing_num_workers is not None and self.preprocessing_num_workers < 1:
            raise ValueError(f"--preprocessing_num_workers is {self.preprocessing_num_workers}; expected 1 or more.")

    def named(self) -> bool:
        """Tell whether any data are named."""
        return any((self.train_file, self.validation_file, self.test_file, self.dataset_name))


def read_splits(
    arguments: DataArguments,
    read: Reader,
    check: Check,
    features: datasets.Features,
    bad_rows_file: Path,
) -> dict[str, Rows]:
    """Return the checked rows of `train`, `validation` and `test`; only training rows are ever streamed.

    Rows are cached on disk and mapped into memory; the cache is made anew when a file or the code here changes. Where
    no test data are named, the validation rows are the test.

    Args:
        arguments: names the data.
        read: reads a file's records.
        check: makes a row of a record's values, or raises ValueError.
        features: columns of a row.
        bad_rows_file: where malformed rows are listed, with `skip_bad_rows`.

    Raises:
        BadRow: the first malformed row, without `skip_bad_rows`.
        ValueError: train or validation data are missing, files and a data set are named, or a split has no good row.
        OSError: a file cannot be read.
    """
    if arguments.dataset_name and (arguments.train_file or arguments.validation_file or arguments.test_file):
        raise ValueError(
            f"Give either --dataset_name {arguments.dataset_name} or files, such as --train_file, not both."
        )
    sources = _hub_sources(arguments) if arguments.dataset_name else _file_sources(arguments, read)
    splits, bad = {}, []
    for name, source in sources.items():
        options = {"check": check, "skip": arguments.skip_bad_rows}
        if name == "train" and arguments.streaming:
            streamed = {"sources": source, **options}  # a list: a shard a file
            splits[name] = datasets.IterableDataset.from_generator(_stream, features, gen_kwargs=streamed)
        else:
            splits[name], bad_of_split = _cache(name, {"sources": source, **options, "features": features})
            bad += bad_of_split
    if arguments.skip_bad_rows and PartialState().is_main_process:
        _report_bad_rows(bad, bad_rows_file)
    splits.setdefault("test", splits["validation"])
    return splits


def _file_sources(arguments: DataArguments, read: Reader) -> dict[str, list[Any]]:
    if not (arguments.train_file and arguments.validation_file):
        raise ValueError(
            "Give both --train_file and --validation_file (--test_file is the validation file unless given)."
        )
    files = {name: named for name in SPLITS if (named := getattr(arguments, f"{name}_file"))}
    # Size and time of change are part of what the cache is found by.
    stamps = {name: [(path, *_stamp(path)) for path in paths] for name, paths in files.items()}
    return {name: [FileSource(read, *stamp) for stamp in paths] for name, paths in stamps.items()}


def _hub_sources(arguments: DataArguments) -> dict[str, list[Any]]:
    name = arguments.dataset_name
    loaded = datasets.load_dataset(name, arguments.dataset_config_name, streaming=arguments.streaming)
    if missing := {"train", "validation"} - set(loaded):
        raise ValueError(f"--dataset_name {name}: found the splits {', '.join(loaded)}; expected {', '.join(missing)}")
    return {split: _hub_shards(f"{name}, split {split}", loaded[split]) for split in SPLITS if split in loaded}


def _hub_shards(where: str, rows: Rows) -> list[Any]:
    if isinstance(rows, datasets.Dataset) or rows.num_shards == 1:
        return [HubSource(where, rows)]
    count = rows.num_shards
    return [HubSource(f"{where}, shard {index + 1}", rows.shard(count, index)) for index in range(count)]


@dataclass(frozen=True)
class FileSource:
    """A file, as it was when its rows were asked for."""

    read: Reader
    path: str
    size: int
    changed: int

    def records(self) -> Iterator[Record | BadRow]:
        """Yield what the file holds."""
        return self.read(self.path)


@dataclass(frozen=True)
class HubSource:
    """A split of a data set of the Hub, or a shard of one that is streamed."""

    name: str
    rows: Rows

    def records(self) -> Iterator[Record]:
        """Yield the rows, numbers of classes as their names."""
        for number, row in enumerate(self.rows, start=1):
            yield (
                f"{self.name}, row {number}",
                {column: _class_names(value, (self.rows.features or {}).get(column)) for column, value in row.items()},
            )


def _class_names(value: Any, feature: Any) -> Any:
    if isinstance(feature, datasets.ClassLabel) and isinstance(value, int):
        return feature.int2str(value) if value >= 0 else None  # -1 stands for no label
    if isinstance(feature, datasets.List) and isinstance(value, list):
        return [_class_names(inner, feature.feature) for inner in value]
    return value


def code_stamp(folder: Path) -> tuple[tuple[int, int], ...]:
    """Return what changes when a module in a folder does: `datasets` finds its caches by the names of functions."""
    return tuple(_stamp(file) for file in sorted(folder.glob("*.py")))


def _stamp(path: str | Path) -> tuple[int, int]:
    status = Path(path).stat()
    return status.st_size, status.st_mtime_ns


def _checked(sources: Sequence[Any], check: Check, skip: bool) -> Iterator[dict[str, Any] | BadRow]:
    for source in sources:
        for record in source.records():
            if not isinstance(record, BadRow):
                where, fields = record
                try:
                    yield check(fields)
                    continue
                except ValueError as error:
                    record = BadRow(where, str(error))
            if not skip:
                raise record
            yield record


def _stream(sources: Sequence[Any], check: Check, skip: bool) -> Iterator[dict[str, Any]]:
    for row in _checked(sources, check, skip):
        if isinstance(row, BadRow):
            print(f"skipped {row}", flush=True)
        else:
            yield row


def _generate(
    sources: Sequence[Any], check: Check, skip: bool, features: datasets.Features, code: tuple[Any, ...]
) -> Iterator[dict[str, Any]]:
    """Yield rows, and bad ones too: what is cached must tell of them when it is read again.

    The cache is found by all that stands in the arguments; of functions that is their name, so `code` is added.
    """
    for row in _checked(sources, check, skip):
        if isinstance(row, BadRow):
            yield {**dict.fromkeys(features), "where": row.where, "problem": row.problem}
        else:
            yield {**row, "where": None, "problem": None}


def _cache(name: str, options: dict[str, Any]) -> tuple[datasets.Dataset, list[tuple[str, str]]]:
    text = datasets.Value("string")
    features = datasets.Features({**options["features"], "where": text, "problem": text})
    try:
        options = {**options, "code": code_stamp(Path(__file__).parent)}
        rows = datasets.Dataset.from_generator(_generate, features, gen_kwargs=options, split=name)
    except DatasetGenerationError as error:
        raise error.__cause__ or error from None
    bad = []
    if rows.data.column("problem").null_count < len(rows):
        listed = rows.filter(lambda problem: problem is not None, input_columns="problem")
        bad = list(zip(listed["where"], listed["problem"]))
        rows = rows.filter(lambda problem: problem is None, input_columns="problem")
    if not len(rows):
        raise ValueError(f"found no good row of {len(bad)} for {name}; expected at least one")
    return rows.remove_columns(["where", "problem"]), bad


def _report_bad_rows(bad: Sequence[tuple[str, str]], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(["where", "problem"])
        writer.writerows(bad)
    print(f"{len(bad):,} malformed rows are left out, listed in {path}", flush=True)
    for where, problem in bad[:SHOWN]:
        print(f"  {where}: {problem}")
