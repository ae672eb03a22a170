"""`atenta evaluate`: the scores of a saved model on a file in the format of its recipe, as the recipe has them."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from transformers import AutoModelForCausalLM

from atenta import AtentaPairVotesForCausalLM
from atenta.command.predict import PredictOptions, load_predictor
from atenta.command.predictors import class_names, saved_options
from atenta.engines.saved_model import class_of, find_model, is_ours, load_tokenizer, load_weights, read_config
from atenta.recipes.baselines import copy_source
from atenta.recipes.finetune_classification import score_labels
from atenta.recipes.finetune_qa import score_answers
from atenta.recipes.finetune_tagging import score_tags
from atenta.recipes.metrics import PAIR_METRICS
from atenta.recipes.reading import RowFormat
from atenta.recipes.reading.file_formats import read_conll, read_conllu
from atenta.recipes.reading.records import BadRow
from atenta.recipes.tasks.characters import CHARACTER_PAIRS, score_restored, strip_texts
from atenta.recipes.tasks.classification import LABELLED_TEXTS
from atenta.recipes.tasks.documents import DOCUMENTS, cut_documents, encode_documents, read_documents
from atenta.recipes.tasks.pairs import PAIRS, merge_targets, score_pairs
from atenta.recipes.tasks.prompts import PROMPTS, encode_prompts
from atenta.recipes.tasks.questions import QUESTIONS
from atenta.recipes.tasks.tagging import TAGGED_SENTENCES
from atenta.recipes.token_levels import LEVELS, nats_by_decoder, nats_by_votes, nats_of_answers
from atenta.recipes.training.logit_reductions import bits
from atenta.recipes.training.results import compare, table

_Row = Mapping[str, Any]
_Rows = Sequence[_Row]
_Scores = Mapping[str, Mapping[str, float]]
_PAIR_METRICS = ("word_accuracy", "exact_match", "character_error_rate")  # of models that were saved without


@dataclass(frozen=True)
class _Task:
    """The format of a kind of model's rows, and a function that scores them."""

    row_format: RowFormat
    score: Callable[[_Rows], _Scores]


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
    task = _find_task(options, metrics)
    rows = read_rows(test_file, task.row_format)
    compared = task.score(rows)
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


def _find_task(options: PredictOptions, metrics: Sequence[str]) -> _Task:
    """Return how a model is scored, from its configuration, before anything is read."""
    folder = find_model(options.model, with_code=options.trust_remote_code)
    config = read_config(folder)
    kind = class_of(config) if is_ours(config) else "ForConditionalGeneration"
    saved = partial(saved_options, config)
    if metrics and not kind.endswith("ForConditionalGeneration"):
        raise ValueError(f"{options.model} is {kind}; --metrics is for pairs of texts: leave it out.")
    if config.get("character_variants"):
        score = partial(_score_characters, options=options, variants=config["character_variants"])
        return _Task(_character_format(saved("character-restoration")), score)
    if kind.endswith("ForConditionalGeneration"):
        of_pairs = saved("text2text-generation")
        if of_pairs.get("denoising"):
            raise ValueError(f"{options.model} restores masked texts: its recipe scores that. Expected another model.")
        metrics = metrics or of_pairs.get("metrics") or _PAIR_METRICS
        if unknown := [name for name in metrics if name not in PAIR_METRICS]:
            raise ValueError(f"found the metric {unknown[0]!r} of pairs; expected some of {', '.join(PAIR_METRICS)}.")
        return _Task(PAIRS, partial(_score_pairs, options=options, metrics=metrics, saved=of_pairs))
    if kind.endswith("ForCausalLM"):
        return _decoder_task(folder, options, saved("text-generation"))
    known = class_names(config).values()
    formats = {
        "ForSequenceClassification": (_with_known(LABELLED_TEXTS, "label", known), _score_labels),
        "ForTokenClassification": (_tagged_format(saved("token-classification"), known), _score_tags),
        "ForQuestionAnswering": (QUESTIONS, _score_answers),
    }
    for ending, (row_format, score_rows) in formats.items():
        if kind.endswith(ending):
            return _Task(row_format, partial(score_rows, options=options))
    raise ValueError(
        f"{kind} has no scores here; expected a decoder, or a model of pairs, labels, tags, questions or restored "
        "characters. Pre-trained encoders are scored by their recipe."
    )


def _predict(options: PredictOptions, rows: _Rows, *columns: str) -> list[Any]:
    return load_predictor(options).predict([{name: row[name] for name in ("where", *columns)} for row in rows])


# Labels, tags and answers


def _with_known(row_format: RowFormat, column: str, known: Collection[str]) -> RowFormat:
    """Return a format that refuses labels or tags which a model has not."""

    def check(fields: _Row) -> dict[str, Any]:
        row = row_format.check(fields)
        given = row[column] if isinstance(row[column], list) else [row[column]]
        if unknown := [name for name in given if name not in known]:
            name = column.removesuffix("s")
            raise ValueError(f"found the {name} {unknown[0]!r}; expected one of the model's: {', '.join(known):.400}")
        return row

    return replace(row_format, check=check)


def _tagged_format(saved: _Row, known: Collection[str]) -> RowFormat:
    read = partial(read_conllu, tag_column=saved.get("tag_column", "upos"))
    return _with_known(replace(TAGGED_SENTENCES, readers={".conll": read_conll, ".conllu": read}), "tags", known)


def _score_labels(rows: _Rows, options: PredictOptions) -> _Scores:
    found = [each.text for each in _predict(options, rows, "text", "text_pair")]
    return {"model": score_labels(found, [row["label"] for row in rows])}


def _score_tags(rows: _Rows, options: PredictOptions) -> _Scores:
    found = [each.record["tags"] for each in _predict(options, rows, "words")]
    return {"model": score_tags(found, [row["tags"] for row in rows])}


def _score_answers(rows: _Rows, options: PredictOptions) -> _Scores:
    found = [each.text for each in _predict(options, rows, "question", "context")]
    return {"model": score_answers(found, rows)}


# Pairs of texts, and characters


def _score_pairs(rows: _Rows, options: PredictOptions, metrics: Sequence[str], saved: _Row) -> _Scores:
    if saved.get("several_targets"):
        rows = merge_targets(rows)
    fields = [{**row, "text": row["source"], "tags": [tag[1:-1] for tag in row["tags"]]} for row in rows]
    found = [each.text for each in _predict(options, fields, "text", "tags")]
    score = partial(score_pairs, metrics=metrics, separator=saved.get("target_separator"))
    return compare(score, rows, {"left as it is": copy_source(rows), "model": found})


def _character_format(saved: _Row) -> RowFormat:
    """Return the format of pairs. Where sources were made from texts, those of a txt file are made likewise."""
    strip = saved.get("strip")
    if not strip:
        return CHARACTER_PAIRS

    def check(fields: _Row) -> dict[str, Any]:
        if "text" not in fields:
            return CHARACTER_PAIRS.check(fields)
        made = strip_texts({"text": [DOCUMENTS.check(fields)["text"]]}, strip)
        return {name: values[0] for name, values in made.items()}

    read = partial(read_documents, sample_by=saved.get("sample_by", "document"))
    return replace(CHARACTER_PAIRS, readers={".txt": read}, check=check)


def _score_characters(rows: _Rows, options: PredictOptions, variants: Mapping[str, str]) -> _Scores:
    found = [each.text for each in _predict(options, [{**row, "text": row["source"]} for row in rows], "text")]
    score = partial(score_restored, variants=variants)
    return compare(score, rows, {"left as it is": copy_source(rows), "model": found})


# Decoders, and pair votes


def _decoder_task(folder: Path, options: PredictOptions, saved: _Row) -> _Task:
    """Return how a decoder is scored: by the probabilities of answers to prompts, or of documents and their ends."""
    if options.generate or options.keep_letters or options.min_confidence:
        raise ValueError(f"{options.model} is scored by its probabilities of texts: leave out how texts are made.")
    if options.engine == "onnx" or options.quantization:
        raise ValueError(f"{options.model} is scored in torch: leave out --engine and --quantization.")
    if saved.get("prompts"):
        return _Task(PROMPTS, partial(_score_prompted, folder=folder, options=options, saved=saved))
    sample_by = saved.get("sample_by", "document")
    row_format = replace(DOCUMENTS, readers={".txt": partial(read_documents, sample_by=sample_by)})
    return _Task(row_format, partial(_score_documents, folder=folder, options=options, saved=saved))


def _load_decoder(folder: Path, options: PredictOptions) -> tuple[Any, Any]:
    model = load_weights(AutoModelForCausalLM, folder).to(options.device or "cpu")
    return model, load_tokenizer(folder)


def _score_documents(rows: _Rows, folder: Path, options: PredictOptions, saved: _Row) -> _Scores:
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


def _score_prompted(rows: _Rows, folder: Path, options: PredictOptions, saved: _Row) -> _Scores:
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
