"""From what the options name, or the sample data, to rows, and from rows to ids: once, by the main process."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path

import datasets
from datasets.fingerprint import Hasher
from transformers import PreTrainedTokenizerBase, TrainingArguments

from atenta.recipes.reading import documents
from atenta.recipes.reading.records import BadRow, Record
from atenta.recipes.reading.report import report
from atenta.recipes.reading.splits import Check, DataArguments, Reader, Rows, code_stamp, read_splits
from atenta.recipes.reading.tables import lacks_header, read_table
from atenta.recipes.samples import SAMPLES, Sample


@dataclass
class DocumentArguments(DataArguments):
    """Which texts are read, and how they are cut.

    Raises:
        ValueError: an unknown `sample_by`.
    """

    sample_by: str = field(
        default="document",
        metadata={"help": "what of a text is a document: document (all of it), paragraph, line or sentence"},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        documents.expect_way_to_cut(self.sample_by)


def load(
    data: DataArguments,
    training: TrainingArguments,
    *,
    check: Check,
    features: datasets.Features,
    columns: Sequence[str],
    optional: Sequence[str] = (),
    readers: Mapping[str, Reader] | None = None,
) -> dict[str, Rows]:
    """Return the rows of `train`, `validation` and `test`.

    Args:
        data: names files or a data set; where it names nothing, the sample data are taken.
        training: tells the main process, which reads first; the others find its cache.
        check: makes a task's row of a record's values.
        features: columns of such a row.
        columns: that a table must have.
        optional: that a table may have besides.
        readers: by suffix, for files that are no tables.

    Raises:
        SystemExit: what is missing or malformed, in a line.
    """

    def read(path: str) -> Iterator[Record | BadRow]:
        reader = (readers or {}).get(Path(path).suffix) or partial(read_table, columns=columns, optional=optional)
        return reader(path)

    try:
        with training.main_process_first():
            if not data.named():
                sample = _sample(data)
                if sample.rows:
                    made = sample.rows()
                    return {name: datasets.Dataset.from_list(list(rows), features) for name, rows in made.items()}
                files = {f"{name}_file": [file] for name, file in sample.split_files().items()}
                data = replace(data, skip_bad_rows=True, **files)  # FaQuAD has some, which are listed
            if training.process_index == 0:
                _tell_of_missing_headers(data, columns)
            return read_splits(data, read, check, features, Path(training.output_dir) / "bad_rows.tsv")
    except (ValueError, OSError) as error:
        raise SystemExit(str(error)) from None


def load_documents(data: DocumentArguments, training: TrainingArguments) -> dict[str, Rows]:
    """Return the documents of `train`, `validation` and `test`, texts cut by `sample_by`: see `load`."""
    readers = {".txt": partial(documents.read_documents, sample_by=data.sample_by)}
    options = {"check": documents.check, "features": documents.FEATURES, "columns": ["text"], "readers": readers}
    splits = load(data, training, **options)
    if data.sample_by == "document":
        return splits
    # Those of txt files, cut as they are read, stay as they are.
    cut = partial(documents.cut_documents, sample_by=data.sample_by)
    return encode(splits, training, cut, data.preprocessing_num_workers, features=documents.FEATURES)


def about(data: DataArguments) -> Mapping[str, str]:
    """Return what a model's card says of the data."""
    if not data.named():
        return _sample(data).about
    return {"data": data.dataset_name or ", ".join(Path(file).name for file in data.train_file or [])}


def inspect(
    splits: Mapping[str, Rows],
    training: TrainingArguments,
    columns: Sequence[str],
    tokenizer: PreTrainedTokenizerBase,
    *,
    max_length: int | None = None,
    inputs: Sequence[Sequence[str]] | None = None,
) -> None:
    """Print the report on the rows, before any training. Arguments: see `report`.

    Raises:
        SystemExit: an input is longer than `max_length` tokens.
    """
    if training.process_index == 0:
        found = report(splits, columns, tokenizer, max_length, inputs=inputs)
        print(f"{found}\n", flush=True)
        try:
            found.check_lengths()
        except ValueError as error:
            raise SystemExit(str(error)) from None


def encode(
    splits: Mapping[str, Rows],
    training: TrainingArguments,
    function: Callable[..., dict[str, list]],
    num_proc: int | None = None,
    *,
    features: datasets.Features | None = None,
) -> dict[str, Rows]:
    """Map rows to ids in batches, all columns replaced; what is not streamed is cached on disk.

    Args:
        splits: rows.
        training: tells the main process, which encodes; the others find its cache.
        function: makes a batch of ids of a batch of rows.
        num_proc: processes that share the rows out among them, each a stretch of them, where they are not streamed;
            None: this one encodes.
        features: columns of the new rows; found out from them unless given, but not of a stream.

    Raises:
        SystemExit: a row that cannot be encoded, such as one that is too long, in a line.
    """
    try:
        with training.main_process_first():
            return {name: _encode(rows, function, num_proc, features) for name, rows in splits.items()}
    except ValueError as error:
        raise SystemExit(str(error)) from None


def _encode(
    rows: Rows, function: Callable[..., dict[str, list]], num_proc: int | None, features: datasets.Features | None
) -> Rows:
    options = {"batched": True, "remove_columns": list(rows.features), "features": features}
    if isinstance(rows, datasets.Dataset):
        code = [code_stamp(Path(__file__).parents[1] / folder) for folder in ("encoding", "reading")]
        # Which rows come together in a batch depends on the number of processes.
        options["new_fingerprint"] = Hasher.hash((rows._fingerprint, function, code, num_proc))
        options["num_proc"] = num_proc
    return rows.map(function, **options)


def _tell_of_missing_headers(data: DataArguments, columns: Sequence[str]) -> None:
    for path in chain(data.train_file or [], data.validation_file or [], data.test_file or []):
        if lacks_header(path, columns):
            order = ", ".join(columns)
            print(f"{path}: its first row does not name {order}; it is read as data, its cells in this order.")


def _sample(data: DataArguments) -> Sample:
    if data.sample not in SAMPLES:
        raise ValueError(
            f"Give --train_file and --validation_file, or --dataset_name, or a --sample of {', '.join(SAMPLES)} "
            f"(found {data.sample!r})."
        )
    return SAMPLES[data.sample]
