"""Splits of checked rows from files or from a Hub data set, cached on disk or streamed."""

import hashlib
import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, TypeAlias
from unicodedata import normalize

import datasets
import numpy as np
from accelerate import PartialState
from datasets.exceptions import DatasetGenerationError

from atenta.recipes.option_annotations import FROM_1, SHARE, Mark
from atenta.recipes.reading.file_formats import is_pipe, read_table
from atenta.recipes.reading.records import BadRow, Record, expect_texts, printable, tab_separated
from atenta.recipes.samples.files import SPLITS

Rows: TypeAlias = datasets.Dataset | datasets.IterableDataset
_Reader = Callable[[str], Iterator[Record | BadRow]]
_Source = Callable[[], Iterator[Record | BadRow]]
_Check = Callable[[Mapping[str, Any]], dict[str, Any]]

_ENCODERS = [
    *(f"atenta.restoration.{name}" for name in ("character_codes", "spans", "spellings")),
    *(f"atenta.tokenization.{name}" for name in ("base_letters", "character_table", "offsets")),
    "atenta.recipes.samples.portuguese_texts",
]
_PRINTED_BAD_ROWS = 10  # the file lists all of them, but those of a stream
_skipped: set[str] = set()  # rows of the stream, in this process, that were printed


@dataclass(frozen=True)
class RowFormat:
    """The format of a task's rows, and the way they are read.

    Attributes:
        features: The columns of a row.
        check: A function that makes a row from the values of a record, or raises ValueError.
        columns: Columns that a table must have.
        optional: Further columns that a table may have.
        readers: Readers of files, by suffix, that are not read as tables of these columns.
        key: A column that has another value in each row of a split, if any.
        together: The column whose rows with the same value are not split between training and validation; by default
            the first.
        order: What finds the order of the columns of a table without a header, as in `read_table`.
    """

    features: datasets.Features
    check: _Check
    columns: tuple[str, ...]
    optional: tuple[str, ...] = ()
    readers: Mapping[str, _Reader] = field(default_factory=dict)
    key: str | None = None
    together: str | None = None
    order: Callable[[Sequence[list[str]]], list[str] | None] | None = None

    def read(self, path: str) -> Iterator[Record | BadRow]:
        """Yield the records of a file: with the reader for its suffix, or of a pipe the first, or else as a table."""
        suffix = next(iter(self.readers), "") if is_pipe(path) else Path(path).suffix
        if reader := self.readers.get(suffix):
            return reader(path)
        return read_table(path, self.columns, self.optional, self.order)


def format_of_texts(*columns: str, **options: Any) -> RowFormat:
    """Return the format of rows whose columns are texts, unchanged; `options` are further attributes of it."""
    features = datasets.Features({name: datasets.Value("string") for name in columns})
    return RowFormat(features, partial(expect_texts, names=columns), columns, **options)


@dataclass
class DataArguments:
    """Options that name the data."""

    _argument_group_name = "data"

    # In a resumed run, the rows of files are compared, and not their names.
    train_file: Annotated[list[str] | None, Mark.AFTER_TRAINING, Mark.OFF_CARD, "files to train on"] = None
    validation_file: Annotated[
        list[str] | None, Mark.AFTER_TRAINING, Mark.OFF_CARD, "files on which the best checkpoint is chosen"
    ] = None
    test_file: Annotated[
        list[str] | None, Mark.AFTER_TRAINING, Mark.OFF_CARD, "files to score; None: validation_file"
    ] = None
    validation_split: Annotated[
        float, SHARE, "share of the training rows that is set apart for validation without a validation_file"
    ] = 0.1
    dataset_name: Annotated[str | None, "data set on the Hub, or in a local folder"] = None
    dataset_config_name: Annotated[str | None, "configuration of the data set"] = None
    sample: Annotated[str | None, "sample data, used if no other data are named"] = None
    streaming: Annotated[bool, "read the data while training on them: they may be larger than the disk"] = False
    preprocessing_num_workers: Annotated[
        int | None, FROM_1, Mark.AFTER_TRAINING, "processes that encode rows; None: the main process; not for streams"
    ] = None
    skip_bad_rows: Annotated[bool, "skip malformed rows and list them in bad_rows.tsv; of a stream, print ten"] = False

    def files(self) -> list[str]:
        """Return the files of all splits."""
        return [*(self.train_file or []), *(self.validation_file or []), *(self.test_file or [])]

    def named(self) -> bool:
        """Return whether files or a data set are named."""
        return bool(self.files() or self.dataset_name)


def read_splits(arguments: DataArguments, row_format: RowFormat, bad_rows_file: Path) -> dict[str, Rows]:
    """Return the checked rows of `train`, `validation` and `test`; only training rows are ever streamed.

    Rows are cached on disk and memory-mapped. The cache is rebuilt when a file or the code of `reading/` or `tasks/`
    changes. If there are no test data, the validation rows are also the test rows; without validation data, they are a
    share of the training rows. With `skip_bad_rows` a malformed row is listed in `bad_rows_file`, or printed if it is
    of a stream; otherwise it is raised as a `BadRow`.
    """
    if arguments.dataset_name and arguments.files():
        raise ValueError(
            f"Give either --dataset_name {arguments.dataset_name} or files, such as --train_file, not both."
        )
    of_hub = bool(arguments.dataset_name)
    sources = _hub_sources(arguments, row_format.columns) if of_hub else _file_sources(arguments, row_format.read)
    skip, is_main = arguments.skip_bad_rows, PartialState().is_main_process
    splits: dict[str, Rows] = {}
    bad: list[tuple[str, str]] = []
    for name, of_split in sources.items():
        if name == "train" and arguments.streaming:
            _skipped.clear()
            options = {"sources": of_split, "check": row_format.check, "skip": skip}  # a list: a shard for each file
            # In training, processes divide the shards among them, or else all read all rows.
            options["prints"] = is_main or len(of_split) % PartialState().num_processes == 0
            splits[name] = datasets.IterableDataset.from_generator(_stream, row_format.features, gen_kwargs=options)
        else:
            splits[name], bad_of_split = _cache(name, of_split, row_format, skip)
            bad += bad_of_split
    if skip and is_main:
        _report_bad_rows(bad, bad_rows_file)
    if "validation" not in splits:
        apart = set_apart(splits["train"], row_format.together or row_format.columns[0], arguments.validation_split)
        splits = {**dict(zip(SPLITS, apart)), **{name: rows for name, rows in splits.items() if name != "train"}}
        if is_main:
            validation, train = len(splits["validation"]), len(splits["train"])
            test = "a split test" if of_hub else "--test_file"
            scored = "" if "test" in splits else f", and are what is scored at the end without {test}"
            apart = f"{validation:,} of {validation + train:,} rows are set apart for validation"
            print(f"{apart} (--validation_split {arguments.validation_split:g}){scored}", flush=True)
    splits.setdefault("test", splits["validation"])  # the same object: `set_aside_validation` asks by identity
    return splits


def read_further(path: str, row_format: RowFormat, skip: bool, bad_rows_file: Path) -> datasets.Dataset:
    """Return the checked rows of one more file; malformed ones are as in [`read_splits`]."""
    rows, bad = _cache("further", [partial(_read_file, row_format.read, path, *_stamp(path))], row_format, skip)
    if skip and PartialState().is_main_process:
        _report_bad_rows(bad, bad_rows_file)
    return rows


def set_apart(rows: datasets.Dataset, column: str, share: float) -> tuple[datasets.Dataset, datasets.Dataset]:
    """Return rows without a share of them, and this share: always the same, whatever the order of the rows.

    Rows with the same value in a column, such as a word with two pronunciations, stay together, and so do those of a
    value in NFC and NFD. Values are added, in an order of their own, while the rows come nearer to the share.

    Raises:
        ValueError: If all rows have the same value.
    """
    values = [normalize("NFC", str(value)).encode(errors="surrogatepass") for value in rows[column]]
    counts = Counter(values)
    distinct = sorted(counts, key=lambda value: hashlib.sha256(value).digest())
    if len(distinct) == 1:
        cutting = " (--sample_by paragraph or line cuts a txt file)" if rows.column_names == ["text"] else ""
        raise ValueError(
            f"found a single {column} in train ({len(rows)} row{'s' * (len(rows) != 1)}); expected more{cutting}, or "
            "validation rows, such as --validation_file"
        )
    wanted, chosen = share * len(values), set()
    for value in distinct[:-1]:
        if counts[value] < 2 * wanted:
            wanted -= counts[value]
            chosen.add(value)
    chosen = chosen or {min(distinct, key=counts.__getitem__)}
    inside = np.array([value in chosen for value in values])
    return rows.select(np.flatnonzero(~inside)), rows.select(np.flatnonzero(inside))


@cache
def code_digest() -> str:
    """Return the SHA-256 of the sources of `reading/`, `tasks/` and what encodes rows in the package.

    It is part of the key of every cache: `datasets` hashes imported functions by name only, not their code.
    """
    recipes = Path(__file__).parents[1]
    files = sorted(file for folder in ("reading", "tasks") for file in (recipes / folder).glob("*.py"))
    package = [import_module(name) for name in _ENCODERS]
    sources = [*(file.read_bytes() for file in files), *(inspect.getsource(module).encode() for module in package)]
    return hashlib.sha256(b"".join(sources)).hexdigest()


# Sources: functions that read a file, or a split of a Hub data set. Their arguments are in the key of the cache.


def _file_sources(arguments: DataArguments, read: _Reader) -> dict[str, list[_Source]]:
    if not arguments.train_file:
        raise ValueError("Give --train_file (a share of its rows is for validation without --validation_file).")
    if arguments.streaming and not arguments.validation_file:
        raise ValueError("--streaming reads no row twice, and sets none apart: give --validation_file.")
    files = {name: named for name in SPLITS if (named := getattr(arguments, f"{name}_file"))}
    for name, paths in files.items():
        if pipes := [path for path in paths if is_pipe(path)]:
            raise ValueError(f"--{name}_file {pipes[0]}: found a pipe; expected a file, because it is read twice")
    return {name: [partial(_read_file, read, path, *_stamp(path)) for path in paths] for name, paths in files.items()}


def _stamp(path: str) -> tuple[int, int]:
    status = Path(path).stat()
    return status.st_size, status.st_mtime_ns


def _read_file(read: _Reader, path: str, size: int, changed: int) -> Iterator[Record | BadRow]:
    """Yield the records of a file; its size and time of modification are only for the key of the cache."""
    return read(path)


def _hub_sources(arguments: DataArguments, columns: Sequence[str]) -> dict[str, list[_Source]]:
    name = arguments.dataset_name
    try:
        loaded = datasets.load_dataset(name, arguments.dataset_config_name, streaming=arguments.streaming)
    except (DatasetGenerationError, RuntimeError) as error:  # of malformed files, and of sets that are scripts
        raise ValueError(f"--dataset_name {name}: {' '.join(str(error.__cause__ or error).split())}") from None
    expected = ("train", "validation") if arguments.streaming else ("train",)
    if missing := [split for split in expected if split not in loaded]:
        advice = " (without --streaming a share of train is set apart)" if missing == ["validation"] else ""
        found = f"--dataset_name {name}: found the splits {', '.join(loaded)}"
        raise ValueError(f"{found}; expected {', '.join(missing)}{advice}")
    for split, rows in loaded.items():
        if split not in SPLITS:
            if PartialState().is_main_process:
                print(f"--dataset_name {name}: the split {split} is not read", flush=True)
        elif rows.column_names is not None and not {*columns} <= {*rows.column_names}:
            raise ValueError(
                f"--dataset_name {name}, split {split}: found the columns {', '.join(rows.column_names)}; expected "
                f"{', '.join(columns)}: rename them with rename_columns of datasets, write each split with "
                f"to_parquet('FOLDER/{split}.parquet'), and give --dataset_name FOLDER"
            )
    return {split: _hub_shards(f"{name}, split {split}", loaded[split]) for split in SPLITS if split in loaded}


def _hub_shards(where: str, rows: Rows) -> list[_Source]:
    if isinstance(rows, datasets.Dataset) or rows.num_shards == 1:
        return [partial(_read_hub_rows, where, rows)]
    count = rows.num_shards
    shards = (rows.shard(count, index) for index in range(count))
    return [partial(_read_hub_rows, f"{where}, shard {number}", shard) for number, shard in enumerate(shards, start=1)]


def _read_hub_rows(where: str, rows: Rows) -> Iterator[Record]:
    """Yield the rows, with the names of classes instead of their numbers."""
    features = rows.features or {}
    row: dict[str, Any]
    for number, row in enumerate(rows, start=1):
        fields = {column: _class_names(value, features.get(column)) for column, value in row.items()}
        yield f"{where}, row {number}", fields


def _class_names(value: Any, feature: Any) -> Any:
    if isinstance(feature, datasets.ClassLabel) and isinstance(value, int):
        return feature.int2str(value) if value >= 0 else None  # -1 means no label
    if isinstance(feature, datasets.List) and isinstance(value, list):
        return [_class_names(inner, feature.feature) for inner in value]
    return value


# Rows of the sources: checked, then streamed or cached


def _checked(
    sources: Sequence[_Source], check: _Check, skip: bool, key: str | None = None
) -> Iterator[dict[str, Any] | BadRow]:
    places: dict[Any, str] = {}  # of the rows by their key
    for record in chain.from_iterable(source() for source in sources):
        try:
            if isinstance(record, BadRow):
                raise record
            where, fields = record
            row = check(fields)
            if key and row[key] in places:
                first = places[row[key]]
                raise BadRow(where, f"found the {key} {row[key]!r:.80}, as at {first}; expected another one")
            if key:
                places[row[key]] = where
        except ValueError as error:
            bad = error if isinstance(error, BadRow) else BadRow(where, str(error))
            if not skip:
                raise BadRow(bad.where, f"{bad.problem} (--skip_bad_rows leaves such rows out)") from None
            yield bad
        else:
            yield row


def _stream(sources: Sequence[_Source], check: _Check, skip: bool, prints: bool) -> Iterator[dict[str, Any]]:
    for row in _checked(sources, check, skip):
        if not isinstance(row, BadRow):
            yield row
        elif prints:
            _print_skipped(str(row))


def _print_skipped(text: str) -> None:
    """Print a skipped row of a stream, which is read again and again, once; and some of them only."""
    if text not in _skipped and len(_skipped) < _PRINTED_BAD_ROWS:
        _skipped.add(text)
        last = "; no others of the stream are printed" if len(_skipped) == _PRINTED_BAD_ROWS else ""
        print(printable(f"skipped {text}{last}"), flush=True)


def _cache(
    name: str, sources: Sequence[_Source], row_format: RowFormat, skip: bool
) -> tuple[datasets.Dataset, list[tuple[str, str]]]:
    """Return the good rows of a split, and the locations and problems of the bad ones.

    Both are cached, so that a split that is read again still reports its bad rows. The key of the cache is a hash of
    the options, in which functions are hashed by name only; hence `code`.
    """
    text = datasets.Value("string")
    features = datasets.Features({**row_format.features, "where": text, "problem": text})
    # The sources are a tuple, not a list of shards, each of which `datasets` would give to another call.
    options = {"sources": tuple(sources), "row_format": row_format, "skip": skip, "code": code_digest()}
    try:
        rows = datasets.Dataset.from_generator(_generate, features, gen_kwargs=options, split=name)
    except DatasetGenerationError as error:
        raise error.__cause__ or error from None
    bad = []
    if rows.data.column("problem").null_count < len(rows):
        listed = rows.filter(lambda problem: problem is not None, input_columns="problem")
        bad = list(zip(listed["where"], listed["problem"]))
        rows = rows.filter(lambda problem: problem is None, input_columns="problem")
    if not len(rows):
        first = f" ({': '.join(bad[0])})" if bad else ""
        raise ValueError(f"found no good row among {len(bad)} rows for {name}{first}; expected at least one")
    return rows.remove_columns(["where", "problem"]), bad


def _generate(sources: Sequence[_Source], row_format: RowFormat, skip: bool, code: str) -> Iterator[dict[str, Any]]:
    for row in _checked(sources, row_format.check, skip, row_format.key):
        if isinstance(row, BadRow):
            yield {**dict.fromkeys(row_format.features), "where": row.where, "problem": row.problem}
        else:
            yield {**row, "where": None, "problem": None}


def _report_bad_rows(bad: Sequence[tuple[str, str]], path: Path) -> None:
    if not bad:
        path.unlink(missing_ok=True)  # of an earlier run
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(map(tab_separated, [("where", "problem"), *bad]))
    print(f"{len(bad):,} malformed rows are left out, listed in {path}", flush=True)
    for where, problem in bad[:_PRINTED_BAD_ROWS]:
        print(printable(f"  {where}: {problem}"))
