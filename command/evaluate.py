"""`atenta evaluate`: the scores of a saved model on a file in the format of its recipe, as the recipe has them."""

from collections.abc import Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, DataCollatorForSeq2Seq

from atenta import AtentaPairVotesForCausalLM
from atenta.command.served_models import PredictOptions, load_predictor
from atenta.command.text_lines import check_output_file, warn_once
from atenta.engines.kinds import kind_of, prompt_separator
from atenta.engines.saved_model import class_of, find_model, is_ours, load_tokenizer, load_weights, read_config
from atenta.engines.text_ids import TextIds
from atenta.recipes.reading.load import missing_headers
from atenta.recipes.reading.records import BadRow, good_rows
from atenta.recipes.reading.splits import RowFormat
from atenta.recipes.tasks.characters import RestorationTask
from atenta.recipes.tasks.classification import ClassificationTask
from atenta.recipes.tasks.documents import DocumentTask, LikelihoodTask, encode_documents
from atenta.recipes.tasks.letters import LetterTask
from atenta.recipes.tasks.prompts import PromptTask, encode_prompts
from atenta.recipes.tasks.questions import QuestionTask
from atenta.recipes.tasks.tagging import TaggingTask
from atenta.recipes.tasks.task import Row, Task
from atenta.recipes.tasks.transduction import PairTask
from atenta.recipes.token_levels import LEVELS, nats_by_decoder, nats_by_votes, nats_of_rows
from atenta.recipes.training.results import figures_as_json, table

_Scores = dict[str, dict[str, float]]
# What scores each kind of model.
_TASKS: dict[str, type[Task]] = {"pair-votes": DocumentTask} | {
    task.kind: task
    for task in (
        *(PairTask, LetterTask, RestorationTask, ClassificationTask, TaggingTask, QuestionTask),
        *(PromptTask, DocumentTask),
    )
}


def evaluate_model(options: PredictOptions, test_file: Path, metrics: Sequence[str], output: Path | None) -> None:
    """Score a model on a file, print a table, and write the scores as JSON if a file is given.

    What the recipe saved with the model, such as the width of the search, is used for what the options do not say: the
    scores of the recipe's test file are then those of its run.

    Args:
        options: the model and how it is used.
        test_file: file in one of the formats that the model's recipe reads.
        metrics: names of metrics of `recipes/metrics.py`, for pairs of texts; by default those of the recipe.
        output: file to write.

    Raises:
        ValueError: If the model has no such scores, or a row is malformed or has a label that the model lacks.
        OSError: If a file cannot be read or written, or there is no such model.
    """
    if output is not None:
        check_output_file(output, read=[test_file])
    folder = find_model(options.model, with_code=options.trust_remote_code)
    task = _load_task(folder, options, metrics)
    rows = _read_rows(test_file, task.row_format)
    compared = (
        _score_likelihood(task, rows, folder, options)
        if isinstance(task, LikelihoodTask)
        else _score(task, rows, folder, options)
    )
    print(f"{len(rows):,} row{'s' * (len(rows) != 1)} of {test_file}\n\n{table(compared)}", flush=True)
    if output is not None:
        about = {
            "model": options.model,
            "test_file": str(test_file),
            "rows": len(rows),
            "date": date.today().isoformat(),
            "versions": {name: version(name) for name in ("atenta", "torch", "transformers")},
        }
        content = figures_as_json({"test": compared, "run": about})
        output.write_bytes(content.encode(errors="backslashreplace"))  # a name may not be UTF-8


def _load_task(folder: Path, options: PredictOptions, metrics: Sequence[str]) -> Task:
    """Return the task of a saved model; an encoder-decoder of others has that of pairs."""
    config = read_config(folder)
    of_model = _TASKS.get(kind_of(config).name) if is_ours(config) else PairTask
    if metrics and of_model is not PairTask:
        raise ValueError(f"{options.model} is {class_of(config)}; --metrics is for pairs of texts: leave it out.")
    if of_model is None:
        raise ValueError(
            f"{class_of(config)}, of the kind {kind_of(config).name}, has no scores here; expected one of "
            f"{', '.join(_TASKS)}. Pre-trained encoders are scored by their recipe."
        )
    if issubclass(of_model, LikelihoodTask):
        if options.generate or options.keep_letters or options.min_confidence:
            raise ValueError(
                f"{options.model} is scored by the probabilities that it gives to texts: leave out options of "
                "generation."
            )
        if options.is_exported:
            raise ValueError(f"{options.model} is scored in torch: leave out --engine and --quantization.")
        if options.ensemble:
            raise ValueError(f"{options.model} is scored alone: leave out --ensemble.")
    if metrics:
        return PairTask(config, metrics=metrics)
    try:
        return of_model(config)
    except ValueError as error:
        raise ValueError(f"{options.model} was saved with an option that is unknown here: {error}") from None


def _read_rows(path: Path, row_format: RowFormat) -> list[dict[str, Any]]:
    """Return the checked rows of a file, each also with `where` it is."""
    for note in missing_headers([str(path)], row_format):
        warn_once(note)
    return [{**row, "where": where} for where, row in good_rows(row_format.read(str(path)), row_format.check)]


def _score(task: Task, rows: Sequence[Row], folder: Path, options: PredictOptions) -> _Scores:
    """Return the scores of what `atenta predict` answers, next to what needs no model."""
    rows = task.prepare(rows)
    reads_tags = isinstance(task, PairTask) and is_ours(task.config) and TextIds(folder).tags
    if reads_tags and not any(row.get("tags") for row in rows):
        warn_once(
            "found no tags in the test file, and the model was trained with them; expected them in a column tags"
        )
    predictor = load_predictor(options)
    found = predictor.predict([{**task.fields(row), "where": row["where"]} for row in rows])
    predictor.problems.report()
    return task.compare(rows, [task.answer(each) for each in found])


def _score_likelihood(task: LikelihoodTask, rows: Sequence[Row], folder: Path, options: PredictOptions) -> _Scores:
    """Return the scores of the probabilities of texts, by a decoder or by pair votes."""
    device = options.device or torch.accelerator.current_accelerator(check_available=True) or "cpu"
    model = load_weights(AutoModelForCausalLM, folder, dtype=torch.float32).to(device)
    tokenizer = load_tokenizer(folder)
    if isinstance(task, PromptTask):
        longest = task.options.get("max_length", model.config.max_position_embeddings)
        separator, encoded = prompt_separator(task.config), []
        for row in rows:
            columns = {name: [row[name]] for name in ("prompt", "answer")}
            try:
                of_row = encode_prompts(columns, tokenizer, longest, separator)
            except ValueError as error:
                raise BadRow(row["where"], str(error)) from None
            encoded.append({name: values[0] for name, values in of_row.items()})
        return task.compare(rows, nats_of_rows(model, encoded, DataCollatorForSeq2Seq(tokenizer), options.batch_size))
    rows = task.prepare(rows)
    texts = [row["text"] for row in rows]
    if isinstance(model, AtentaPairVotesForCausalLM):
        documents: Any = encode_documents({"text": texts}, tokenizer)
        level = LEVELS["characters" if tokenizer.unk_token is None else "words"]  # bytes spell unknown characters
        return {"model": level.scores(nats_by_votes(model, documents["input_ids"]), documents, tokenizer)}
    nats = nats_by_decoder(model, tokenizer, texts, options.batch_size, task.options.get("block_size"))
    return task.compare(rows, [nats])
