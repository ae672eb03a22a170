"""Rows of the named data or of the sample data: loaded, reported and encoded, once, by the main process."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import datasets
from datasets.fingerprint import Hasher
from transformers import PreTrainedTokenizerBase, TrainingArguments

from atenta.hub.card_command import without_place
from atenta.recipes.reading.file_formats import is_pipe, lacks_header
from atenta.recipes.reading.records import BadRow, exit_on, printable
from atenta.recipes.reading.report import Report, build_report
from atenta.recipes.reading.splits import DataArguments, RowFormat, Rows, code_digest, read_further, read_splits
from atenta.recipes.samples.registry import SAMPLES, Sample


def load_rows(data: DataArguments, training: TrainingArguments, row_format: RowFormat) -> dict[str, Rows]:
    """Return the rows of `train`, `validation` and `test`: of the named data, or else of the sample data.

    The main process reads first; the others use its cache.

    Raises:
        SystemExit: If data are missing or malformed; the message is a single line.
    """
    with exit_on(ValueError, OSError), training.main_process_first():
        if data.dataset_config_name and not data.dataset_name:
            raise ValueError(f"--dataset_config_name {data.dataset_config_name}: give its --dataset_name too.")
        if not data.named():
            sample = _find_sample(data.sample, row_format)
            if sample.rows and data.streaming:
                raise ValueError(f"--streaming: the rows of --sample {data.sample} are made in memory. Leave it out.")
            if sample.rows:
                made = sample.rows()
                return {name: datasets.Dataset.from_list(rows, row_format.features) for name, rows in made.items()}
            files = {f"{name}_file": [file] for name, file in sample.split_files().items()}
            data = replace(data, skip_bad_rows=True, **files)  # FaQuAD has bad rows
        elif training.process_index == 0:
            for note in missing_headers(data.files(), row_format):
                print(note)
        return read_splits(data, row_format, Path(training.output_dir) / "bad_rows.tsv")


def load_file(path: str, data: DataArguments, training: TrainingArguments, row_format: RowFormat) -> datasets.Dataset:
    """Return the rows of one more file, as [`load_rows`] does; `bad_further_rows.tsv` lists those that are skipped."""
    with exit_on(ValueError, OSError), training.main_process_first():
        if training.process_index == 0:
            for note in missing_headers([path], row_format):
                print(note)
        return read_further(path, row_format, data.skip_bad_rows, Path(training.output_dir) / "bad_further_rows.tsv")


def describe_data(data: DataArguments, report: Report | None = None) -> Mapping[str, Any]:
    """Return the fields of a model card that describe the data, and the rows if there is a report on them."""
    if not data.named():
        about = SAMPLES[data.sample].about
    elif data.dataset_name:
        about = {"data": without_place(data.dataset_name)}  # it may be a folder
        if not Path(data.dataset_name).exists():
            about["datasets"] = [data.dataset_name]
    else:
        about = {"data": ", ".join(dict.fromkeys(Path(file).name for file in data.files()))}
    if report is not None:
        splits = report.splits.items()
        about["rows"] = {name: split.rows for name, split in splits if not split.is_sample}
        about["rows_inside"] = {name: split.share_of_rows_inside() for name, split in splits}
        about["characters_inside"] = {name: split.share_of_characters_inside() for name, split in splits}
    return about


def report_rows(
    splits: Mapping[str, Rows],
    training: TrainingArguments,
    columns: Sequence[str],
    tokenizer: PreTrainedTokenizerBase,
    *,
    max_length: int | None = None,
    inputs: Sequence[Sequence[str]] | None = None,
) -> Report | None:
    """Print the report on the rows before training, and return it.

    Args:
        splits: The rows by split. The other splits are compared with `train`; a test is left out if it has the
            validation rows. Of a streamed split only the first 10,000 rows are read.
        training: The options that say which process is the main one.
        columns: Columns of texts, or of lists of words, which are joined by spaces. A text may be None. Rows are the
            same if all these texts are, after NFC.
        tokenizer: The tokenizer. Its tokens of a single character are the alphabet.
        max_length: The maximum tokens of an input, special tokens included; None for no limit.
        inputs: The columns of each sequence that the model reads, such as `[["tags", "source"], ["target"]]` or
            `[["text", "text_pair"]]`: one or two of `columns`, and others that hold lists of tokens. By default each
            of `columns` is an input.

    Returns:
        The report; None in all processes but the main one, which do not read the rows.

    Raises:
        SystemExit: If an input is longer than `max_length` tokens, or a streamed row is malformed.
    """
    if training.process_index > 0:
        return None
    with exit_on(ValueError, OSError):
        validation = splits.get("validation")
        shown = {name: rows for name, rows in splits.items() if name != "test" or not _is_same(rows, validation)}
        report = build_report(shown, columns, tokenizer, max_length, inputs=inputs)
        print(f"{report}\n", flush=True)
        report.check_lengths()
    return report


def _is_same(rows: Rows, others: Rows | None) -> bool:
    """Return whether rows are those of another split, as without test data those of the test are."""
    prints = [getattr(each, "_fingerprint", None) for each in (rows, others)]
    return rows is others or (None not in prints and prints[0] == prints[1])


def encode_rows(
    splits: Mapping[str, Rows],
    training: TrainingArguments,
    function: Callable[..., dict[str, list]],
    num_proc: int | None = None,
    *,
    features: datasets.Features | None = None,
) -> dict[str, Rows]:
    """Encode rows in batches, replacing all their columns.

    Rows that are not streamed are encoded by the main process and cached on disk; the others use its cache.

    Args:
        splits: The rows.
        training: The options that say which process is the main one.
        function: A function that encodes a batch of rows.
        num_proc: The number of processes that share the rows, each a contiguous range of them; None encodes in this
            process. It is not used for streams.
        features: The columns of the new rows. By default they are inferred from the rows, but not those of a stream.

    Raises:
        SystemExit: If a row cannot be encoded, for instance because it is too long; the message is a single line. One
            of a stream is a `BadRow` when it is read.
    """
    encoded: dict[str, Rows] = {}
    with exit_on(ValueError), training.main_process_first():
        for name, rows in splits.items():
            options = {"batched": True, "remove_columns": list(rows.features), "features": features}
            if isinstance(rows, datasets.Dataset):
                # The number of processes decides which rows share a batch, and so belongs to the key of the cache.
                key = Hasher.hash((rows._fingerprint, function, code_digest(), num_proc))
                options |= {"new_fingerprint": key, "num_proc": num_proc}
                encoded[name] = rows.map(function, **options)
            else:
                encoded[name] = rows.map(partial(_encode_streamed, function=function, split=name), **options)
    return encoded


def _encode_streamed(batch: dict[str, list], function: Callable[..., dict[str, list]], split: str) -> dict[str, list]:
    """Encode rows of a stream; an error is raised as a bad row, with which `run_recipe` ends in one line."""
    try:
        return function(batch)
    except ValueError as error:
        raise BadRow(split, str(error)) from None


def missing_headers(paths: Iterable[str], row_format: RowFormat) -> Iterator[str]:
    """Yield a note on each file whose first row could be a header, names no column and is read as data.

    Raises:
        ValueError: If the columns of two such files would be in different orders.
    """
    orders: dict[int, tuple[str, list[str]]] = {}  # by the number of columns
    for path in paths:
        names = (*row_format.columns, *row_format.optional)
        is_table = Path(path).suffix in (".tsv", ".csv") or Path(path).suffix not in row_format.readers
        if is_table and not is_pipe(path) and lacks_header(path, names):
            record = next(row_format.read(path))
            fields = {} if isinstance(record, BadRow) else record[1]
            first, order = orders.setdefault(len(fields), (path, [*fields]))
            if order != [*fields]:
                raise ValueError(
                    f"{path}: found the columns {', '.join(fields)} by its first rows, and {', '.join(order)} in "
                    f"{first}; expected one order: give both a first row that names them."
                )
            cells = ", ".join(f"{name} {value!r:.60}" for name, value in fields.items())
            missing = f"the first row does not name {', '.join(row_format.columns)}; it is read as data"
            yield printable(f"{path}: {missing}" + f": {cells}" * bool(cells))


def _find_sample(name: str | None, row_format: RowFormat) -> Sample:
    """Return the sample of a name, unless its rows lack columns of a task."""
    sample = SAMPLES.get(name or "")
    if sample is not None and _fits(sample, row_format):
        return sample
    given = f"found {name!r}" if sample is None else f"{name} is of another task, with {', '.join(sample.columns)}"
    fitting = [each for each, of_name in SAMPLES.items() if _fits(of_name, row_format)]
    raise ValueError(
        "Give --train_file and --validation_file, or --dataset_name"
        + (f", or a --sample of {', '.join(fitting)} ({given})." if fitting else ".")
    )


def _fits(sample: Sample, row_format: RowFormat) -> bool:
    """Return whether the rows or the files of a sample are those of a task."""
    is_readable = any(Path(file).suffix in row_format.readers for file in sample.files)
    # Cells of a file that names no columns go by their order, so they could be read as those of any task.
    needed = row_format.columns if sample.files else row_format.features
    return is_readable or {*needed} <= {*sample.columns}
