"""`atenta evaluate`: the scores of a saved model on a file in the format of its recipe, as the recipe has them."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from transformers import AutoModelForCausalLM

from atenta import AtentaPairVotesForCausalLM
from atenta.command.predict import PredictOptions, load_predictor
from atenta.engines.kinds import kind_of, saved_options
from atenta.engines.saved_model import class_of, find_model, is_ours, load_tokenizer, load_weights, read_config
from atenta.recipes.reading import RowFormat
from atenta.recipes.reading.records import BadRow
from atenta.recipes.tasks.characters import evaluate_characters
from atenta.recipes.tasks.classification import evaluate_labels
from atenta.recipes.tasks.documents import DOCUMENTS, cut_documents, encode_documents, read_documents
from atenta.recipes.tasks.evaluation import Evaluation, Row, Scores
from atenta.recipes.tasks.pairs import evaluate_pairs
from atenta.recipes.tasks.prompts import PROMPTS, encode_prompts
from atenta.recipes.tasks.questions import evaluate_answers
from atenta.recipes.tasks.tagging import evaluate_tags
from atenta.recipes.token_levels import LEVELS, nats_by_decoder, nats_by_votes, nats_of_answers
from atenta.recipes.training.logit_reductions import bits
from atenta.recipes.training.results import table

_Rows = Sequence[Row]

# How each kind of model is scored whose answers are compared with the right ones. Decoders are scored below.
_EVALUATIONS: dict[str, Callable[[Row], Evaluation]] = {
    "text2text-generation": evaluate_pairs,
    "character-restoration": evaluate_characters,
    "text-classification": evaluate_labels,
    "token-classification": evaluate_tags,
    "question-answering": evaluate_answers,
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
        ValueError: If the model has no such scores, or a row is malformed or has a label that the model has not.
        OSError: If a file cannot be read or written, or there is no such model.
    """
    if output is not None and (output.is_dir() or not output.parent.is_dir()):
        raise FileNotFoundError(f"--output {output} cannot be written: expected a file in a folder that exists")
    row_format, score = _find_scores(options, metrics)
    rows = read_rows(test_file, row_format)
    compared = score(rows)
    print(f"{len(rows):,} rows of {test_file}\n\n{table(compared)}", flush=True)
    if output is not None:
        about = {
            "model": options.model,
            "test_file": str(test_file),
            "rows": len(rows),
            "date": date.today().isoformat(),
            "versions": {name: version(name) for name in ("atenta", "torch", "transformers")},
        }
        content = json.dumps({"test": compared, "run": about}, indent=2, ensure_ascii=False) + "\n"
        output.write_bytes(content.encode(errors="backslashreplace"))  # a name may not be UTF-8


def read_rows(path: Path, row_format: RowFormat) -> list[dict[str, Any]]:
    """Return the checked rows of a file, each also with `where` it is.

    Raises:
        ValueError: If a row is malformed, which the message names, or there is none.
        OSError: If the file cannot be read.
    """
    if not path.exists() or path.is_dir():
        raise FileNotFoundError(f"{path}: found {'a folder' if path.is_dir() else 'no such file'}; expected a file")
    rows = []
    for record in row_format.read(str(path)):
        if isinstance(record, BadRow):
            raise record
        where, fields = record
        try:
            rows.append({**row_format.check(fields), "where": where})
        except ValueError as error:
            raise BadRow(where, str(error)) from None
    if not rows:
        raise ValueError(f"{path}: found no rows; expected at least one of {', '.join(row_format.columns)}")
    return rows


def _find_scores(options: PredictOptions, metrics: Sequence[str]) -> tuple[RowFormat, Callable[[_Rows], Scores]]:
    """Return the format of the rows that a model is scored on, and what scores them, before anything is read."""
    folder = find_model(options.model, with_code=options.trust_remote_code)
    config = read_config(folder)
    task = kind_of(config).task if is_ours(config) else "text2text-generation"
    if metrics and task != "text2text-generation":
        raise ValueError(f"{options.model} is {class_of(config)}; --metrics is for pairs of texts: leave it out.")
    if task == "text-generation":
        return _decoder_scores(folder, options, saved_options(config, task))
    if task not in _EVALUATIONS:
        raise ValueError(
            f"{class_of(config)} has no scores here; expected a decoder, or a model of pairs, labels, tags, questions "
            "or restored characters. Pre-trained encoders are scored by their recipe."
        )
    evaluation = evaluate_pairs(config, metrics) if metrics else _EVALUATIONS[task](config)

    def score(rows: _Rows) -> Scores:
        scored = evaluation.prepare(rows)
        predictor = load_predictor(options)
        found = predictor.predict([{**evaluation.fields(row), "where": row["where"]} for row in scored])
        return evaluation.score([evaluation.answer(each) for each in found], scored)

    return evaluation.row_format, score


# Decoders, and pair votes


def _decoder_scores(folder: Path, options: PredictOptions, saved: Row) -> tuple[RowFormat, Callable[[_Rows], Scores]]:
    """Return how a decoder is scored: by the probabilities of answers to prompts, or of documents and their ends."""
    if options.generate or options.keep_letters or options.min_confidence:
        raise ValueError(f"{options.model} is scored by its probabilities of texts: leave out how texts are made.")
    if options.engine == "onnx" or options.quantization:
        raise ValueError(f"{options.model} is scored in torch: leave out --engine and --quantization.")
    if saved.get("prompts"):
        return PROMPTS, partial(_score_prompted, folder=folder, options=options, saved=saved)
    sample_by = saved.get("sample_by", "document")
    row_format = replace(DOCUMENTS, readers={".txt": partial(read_documents, sample_by=sample_by)})
    return row_format, partial(_score_documents, folder=folder, options=options, saved=saved)


def _load_decoder(folder: Path, options: PredictOptions) -> tuple[Any, Any]:
    model = load_weights(AutoModelForCausalLM, folder).to(options.device or "cpu")
    return model, load_tokenizer(folder)


def _score_documents(rows: _Rows, folder: Path, options: PredictOptions, saved: Row) -> Scores:
    texts = [row["text"] for row in rows]
    if (sample_by := saved.get("sample_by", "document")) != "document":
        texts = cut_documents({"text": texts}, sample_by)["text"]
    model, tokenizer = _load_decoder(folder, options)
    if isinstance(model, AtentaPairVotesForCausalLM):
        encoded: Any = encode_documents({"text": texts}, tokenizer)
        level = LEVELS["characters" if tokenizer.unk_token is None else "words"]  # bytes spell unknown characters
        return {"model": level.scores(nats_by_votes(model, encoded["input_ids"]), encoded, tokenizer)}
    nats = nats_by_decoder(model, tokenizer, texts, options.batch_size, saved.get("block_size"))
    return {"model": bits([nats], ["\n".join(texts)])}


def _score_prompted(rows: _Rows, folder: Path, options: PredictOptions, saved: Row) -> Scores:
    model, tokenizer = _load_decoder(folder, options)
    longest = saved.get("max_length", model.config.max_position_embeddings)
    encoded = []
    for row in rows:
        try:
            of_row = encode_prompts({name: [row[name]] for name in ("prompt", "answer")}, tokenizer, longest)
        except ValueError as error:
            raise BadRow(row["where"], str(error)) from None
        encoded.append({name: values[0] for name, values in of_row.items()})
    nats = nats_of_answers(model, tokenizer, encoded, options.batch_size)
    return {"model": bits(nats, [row["answer"] for row in rows])}
