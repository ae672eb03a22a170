"""`atenta evaluate`: the scores of a saved model on a file in the format of its recipe."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from transformers import AutoModelForCausalLM, AutoTokenizer, logging

from atenta import AtentaPairVotesForCausalLM
from atenta.command.predict import PredictOptions, find_folder, load_predictor
from atenta.recipes.baselines import copy_source
from atenta.recipes.metrics import scores
from atenta.recipes.reading import RowFormat
from atenta.recipes.reading.file_formats import read_conll, read_conllu
from atenta.recipes.reading.records import BadRow
from atenta.recipes.tasks.characters import CHARACTER_PAIRS, score_restored
from atenta.recipes.tasks.classification import LABELLED_TEXTS
from atenta.recipes.tasks.documents import DOCUMENTS, encode_documents, read_documents
from atenta.recipes.tasks.pairs import PAIRS
from atenta.recipes.tasks.questions import QUESTIONS
from atenta.recipes.tasks.tagging import TAGGED_SENTENCES
from atenta.recipes.token_levels import nats_by_decoder, nats_by_votes
from atenta.recipes.training.logit_reductions import bits
from atenta.recipes.training.results import table

_Row = Mapping[str, Any]
_Scores = dict[str, dict[str, float]]
_TAGGED = replace(TAGGED_SENTENCES, readers={".conll": read_conll, ".conllu": partial(read_conllu, tag_column="upos")})
_TEXTS = replace(DOCUMENTS, readers={".txt": partial(read_documents, sample_by="document")})
_PAIR_METRICS = ("word_accuracy", "exact_match", "character_error_rate")


def evaluate_model(options: PredictOptions, test_file: Path, metrics: Sequence[str], output: Path | None) -> None:
    """Score a model on a file, print a table, and write the scores as JSON if a file is given.

    Args:
        options: the model and how it is used.
        test_file: file in one of the formats that the model's recipe reads.
        metrics: names of metrics of `recipes/metrics.py`, for pairs of texts.
        output: file to write.

    Raises:
        ValueError: If the model has no such scores, or a row is malformed.
        OSError: If a file cannot be read or written, or there is no such model.
    """
    folder = find_folder(options.model)
    config = json.loads((folder / "config.json").read_bytes()) if folder else {}
    kind = (config.get("architectures") or ["AutoModelForConditionalGeneration"])[0]
    if metrics and not kind.endswith("ForConditionalGeneration"):
        raise ValueError(f"{options.model} is {kind}; --metrics is for pairs of texts: leave it out.")
    if folder and kind.endswith("ForCausalLM"):
        rows = read_rows(test_file, _TEXTS)
        compared = {"model": _score_texts(rows, folder, options)}
    else:
        row_format, score = _task(kind, config, metrics)
        rows = read_rows(test_file, row_format)
        compared = score(rows, lambda fields: _predict(options, fields))
    print(f"{len(rows):,} rows of {test_file}\n\n{table(compared)}", flush=True)
    if output is not None:
        about = {
            "model": options.model,
            "test_file": str(test_file),
            "rows": len(rows),
            "date": date.today().isoformat(),
            "versions": {name: version(name) for name in ("atenta", "torch", "transformers")},
        }
        output.write_text(json.dumps({"test": compared, "run": about}, indent=2, ensure_ascii=False) + "\n", "utf-8")


def read_rows(path: Path, row_format: RowFormat) -> list[dict[str, Any]]:
    """Return the checked rows of a file.

    Raises:
        ValueError: If a row is malformed. The message says where.
        OSError: If the file cannot be read.
    """
    if not path.exists() or path.is_dir():
        raise FileNotFoundError(f"{path}: found no such file")
    rows = []
    for record in row_format.read(str(path)):
        if isinstance(record, BadRow):
            raise ValueError(str(record))
        where, fields = record
        try:
            rows.append(row_format.check(fields))
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
    return rows


_Predict = Callable[[list[dict[str, Any]]], list[Any]]


def _task(
    kind: str, config: _Row, metrics: Sequence[str]
) -> tuple[RowFormat, Callable[[list[Any], _Predict], _Scores]]:
    """Return the format of a kind of model's rows, and what scores them."""
    if config.get("character_variants"):
        variants = config["character_variants"]
        return CHARACTER_PAIRS, lambda rows, predict: _score_characters(rows, predict, variants)
    if kind.endswith("ForConditionalGeneration"):
        return PAIRS, lambda rows, predict: _score_pairs(rows, predict, metrics or _PAIR_METRICS)
    for ending, row_format, score in (
        ("ForSequenceClassification", LABELLED_TEXTS, _score_labels),
        ("ForTokenClassification", _TAGGED, _score_tags),
        ("ForQuestionAnswering", QUESTIONS, _score_answers),
    ):
        if kind.endswith(ending):
            return row_format, score
    raise ValueError(
        f"{kind} has no scores here; expected a decoder, or a model of pairs, labels, tags, questions or restored "
        "characters. Pre-trained encoders are scored by their recipe."
    )


def _predict(options: PredictOptions, fields: list[dict[str, Any]]) -> list[Any]:
    given = [{"where": f"row {number}", **each} for number, each in enumerate(fields, start=1)]
    return load_predictor(options).predict(given)


def _score_texts(rows: list[Any], folder: Path, options: PredictOptions) -> dict[str, float]:
    """Return the bits per character of a decoder, or of pair votes, on documents; their ends are predicted too."""
    if options.generate or options.keep_letters or options.min_confidence:
        raise ValueError(f"{options.model} is scored by its probabilities of texts: leave out how texts are made.")
    if options.engine == "onnx" or options.quantization:
        raise ValueError(f"{options.model} is scored in torch: leave out --engine and --quantization.")
    logging.disable_progress_bar()  # of loading weights
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, use_safetensors=True).eval().to(options.device or "cpu")
    texts = [row["text"] for row in rows]
    if isinstance(model, AtentaPairVotesForCausalLM):
        if tokenizer.unk_token is not None:  # bytes spell what is unknown to a tokenizer of characters
            raise ValueError(f"{options.model} reads words, and bits per character need a model of characters.")
        nats = nats_by_votes(model, encode_documents({"text": texts}, tokenizer)["input_ids"])
    else:
        nats = nats_by_decoder(model, tokenizer, texts, options.batch_size)
    return bits([nats], ["\n".join(texts)])


def _score_pairs(rows: list[Any], predict: _Predict, metrics: Sequence[str]) -> _Scores:
    tags = [";".join(tag[1:-1] for tag in row["tags"]) for row in rows]
    fields = [{"text": row["source"], **({"tags": of_row} if of_row else {})} for row, of_row in zip(rows, tags)]
    gold = [row["target"] for row in rows]
    answers = {"left as it is": copy_source(rows), "model": [each.text for each in predict(fields)]}
    return {name: scores(metrics, predictions=given, references=gold) for name, given in answers.items()}


def _score_characters(rows: list[Any], predict: _Predict, variants: Mapping[str, str]) -> _Scores:
    restored = [each.text for each in predict([{"text": row["source"]} for row in rows])]
    answers = {"left as it is": copy_source(rows), "model": restored}
    return {name: score_restored(rows, given, variants) for name, given in answers.items()}


def _score_labels(rows: list[Any], predict: _Predict) -> _Scores:
    found = [each.text for each in predict([{"text": row["text"]} for row in rows])]
    gold = [row["label"] for row in rows]
    return {"model": scores(["accuracy", "macro_f1"], predictions=found, references=gold)}


def _score_tags(rows: list[Any], predict: _Predict) -> _Scores:
    found = [each.record["tags"] for each in predict([{"words": row["words"]} for row in rows])]
    gold = [row["tags"] for row in rows]
    has_entities = all(tag == "O" or tag[:2] in ("B-", "I-") for tags in gold for tag in tags)
    names = ["entity_f1", "tag_accuracy"] if has_entities else ["tag_accuracy"]
    return {"model": scores(names, predictions=found, references=gold)}


def _score_answers(rows: list[Any], predict: _Predict) -> _Scores:
    found = [each.text for each in predict([{name: row[name] for name in ("question", "context")} for row in rows])]
    references = [row["answers"]["text"] for row in rows]
    return {"model": scores(["squad"], predictions=found, references=references)}
