"""`atenta predict`: a saved model's results for each line, whatever kind of model it is."""

from atenta.recipes.terminal import allow_interrupts

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from atenta.command.predictors import Prediction, Predictor, TextPredictor
from atenta.command.served_models import PredictOptions, load_predictor, name_engine
from atenta.command.text_lines import (
    InputLine,
    LineReader,
    LineWriter,
    check_output_file,
    chunks_of,
    lock_output_file,
    parse_json_line,
    warn_once,
)
from atenta.engines.feedback import progress
from atenta.engines.saved_model import MODEL_FILES, find_model, read_generation_config
from atenta.engines.search_options import SearchOptions
from atenta.recipes.reading.records import tab_separated

_CHUNK = 512  # lines that are read, predicted and written at once


def predict_lines(
    options: PredictOptions,
    texts: Sequence[str],
    files: Sequence[Path],
    *,
    json_lines: bool = False,
    format: str = "text",
    output: Path | None = None,
    resume: bool = False,
) -> None:
    """Predict lines and write the results in their order.

    Args:
        options: the model and how it is used.
        texts: texts; else the lines of the files, or of standard input.
        files: UTF-8 files.
        json_lines: whether each line is JSON: a text, or an object with its fields.
        format: `"text"`, `"tsv"` or `"jsonl"`.
        output: file to write; by default, standard output.
        resume: whether to go on with the file.

    Raises:
        ValueError: If a line cannot be read, or an option does not fit the model.
        OSError: If a file cannot be read or written, or there is no such model.
        ImportError: If an engine is not installed.
    """
    if output is not None:
        check_output_file(output, resume, files)
    if options.generate:  # options that contradict each other or those of the model, whichever engine runs it
        saved = read_generation_config(find_model(options.model, with_code=options.trust_remote_code))
        own = {name: value for name, value in saved.items() if name in SearchOptions.__dataclass_fields__}
        SearchOptions.from_saved(own, **options.generate)
    predictor = load_predictor(options)
    if sys.stderr.isatty():
        print(f"Answers by {name_engine(options)}", file=sys.stderr)
    allow_interrupts()
    json_lines = json_lines or predictor.json_fields != ("text",)
    about = {name: value for name, value in vars(options).items() if name not in ("batch_size", "device")}
    about |= {"format": format, "json_lines": json_lines}
    if output is not None:
        about["files of the models"] = [_digest(name, output) for name in (options.model, *options.ensemble)]
    with lock_output_file(output), LineWriter(output, about, resume) as writer, progress(None, "line") as count_lines:
        reader = LineReader(texts, files, writer.done["lines"], writer.done["digest"])
        if format == "tsv" and not writer.done["bytes"]:
            writer.write(tab_separated(["text", *predictor.columns]))
        of_lines = format == "text" and not json_lines and isinstance(predictor, TextPredictor)
        record_fields = predictor.record_fields if format == "jsonl" else ()
        lines = ((line, _fields(line, predictor, json_lines, record_fields)) for line in reader)
        for chunk in chunks_of(lines, reader.at_once(_CHUNK)):
            rest = iter(chunk)
            placed = [{**fields, "where": line.where} for line, fields in chunk]
            for predictions in predictor.predict_in_parts(placed):
                part = list(islice(rest, len(predictions)))
                if of_lines and any("\n" in found.text for found in predictions):
                    warn_once("some outputs have line ends, and are several lines: --format jsonl keeps them apart")
                results = (_format(*each, found, format, json_lines) for each, found in zip(part, predictions))
                writer.write("".join(results), part[-1][0])
                count_lines(len(part))
        predictor.problems.report()


def check_device(name: str | None) -> None:
    """Expect that torch has a device.

    Raises:
        ValueError: If it has none of this name.
    """
    if name is None:
        return
    import torch

    try:
        torch.empty(0, device=name)
    except (AssertionError, RuntimeError) as error:  # the first without CUDA
        reason = str(error).partition("\n")[0]
        raise ValueError(
            f"--device {name} cannot be used; expected cpu, or a GPU such as cuda:0 ({reason:.60})"
        ) from None


def _digest(model: str, output: Path) -> str:
    """Return the SHA-256 of what decides about a model's results, which are written to a file, maybe beside it."""
    folder, digest = find_model(model), hashlib.sha256()
    for pattern in MODEL_FILES:
        for path in sorted(folder.glob(pattern)):
            if not path.is_file() or path.name in ("metrics.json", "trainer_state.json"):
                continue
            if not (output.exists() and path.samefile(output)):
                with path.open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _fields(line: InputLine, predictor: Predictor, json_lines: bool, record_fields: Sequence[str]) -> dict[str, Any]:
    """Return the fields of a line, none of which may be one that its result is written in."""
    if not json_lines:
        return {"text": str(line)}
    fields = parse_json_line(line, *predictor.json_fields)
    if taken := [name for name in record_fields if name in fields]:
        raise ValueError(
            f"{line.where}: found the field {taken[0]!r} ({fields[taken[0]]!r:.60}), in which the result is written; "
            "expected none of this name: rename it, or choose another --format."
        )
    return fields


def _format(line: InputLine, fields: Mapping[str, Any], prediction: Prediction, format: str, json_lines: bool) -> str:
    if format == "jsonl":
        return json.dumps({**fields, **prediction.record, **fields}, ensure_ascii=False) + "\n"  # no field is lost
    if format == "tsv":
        text = fields.get("text", fields.get("question"))
        return "".join(tab_separated([text, *row]) for row in prediction.rows)
    if json_lines:
        return json.dumps(prediction.text, ensure_ascii=False) + "\n"
    return prediction.text + line.line_end
