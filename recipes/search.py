"""Search passages by the mean vectors of an encoder (document 5), and compare with n-grams of characters.

Without options the passages are the contexts of FaQuAD (Sayama et al., 2019), the queries are its questions, and the
encoder is the one that pretrain_masked.py saved; train_embeddings.py trains one for searching, on most of these
questions. With --text_folder the passages are those of your txt files, and --queries_file lists queries with the
passages that answer them. The index is saved in --output_dir and reused.
"""

import hashlib
import json
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from datasets import Dataset, disable_progress_bars
from transformers import AutoModel, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase, logging
from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING

from atenta.recipes.decoding.loading import load_as
from atenta.recipes.pictures.drawing import expect_writable
from atenta.recipes.reading.records import printable
from atenta.recipes.retrieval import (
    COMBINED,
    INDEX_NAME,
    NGRAMS,
    RECALL_DEPTHS,
    WEIGHTS,
    IndexSource,
    LabelledQuery,
    chance_recall,
    combine,
    embed,
    fingerprint,
    has_index,
    load_index,
    nearest,
    ngram_scores,
    read_folder,
    read_queries,
    read_questions,
    recall,
    save_index,
)
from atenta.recipes.training import parse_arguments
from atenta.recipes.training.ranges import FROM_1, PROBABILITY
from atenta.recipes.training.results import table, write_metrics

_DEFAULT_ENCODER = "outputs/pretrain_masked"
_MAX_LINES = 12  # of a passage, which may be a complete book


@dataclass
class SearchArguments:
    """The passages, the queries and the encoder."""

    _argument_group_name = "search"

    query: list[str] | None = field(default=None, metadata={"help": "texts to search for"})
    num_results: Annotated[int, FROM_1] = field(
        default=3, metadata={"help": "number of passages shown for each --query"}
    )
    text_folder: str | None = field(
        default=None, metadata={"help": "folder with txt files, also in its subfolders; None: the contexts of FaQuAD"}
    )
    sample_by: str = field(
        default="paragraph", metadata={"help": "unit that is a passage: document, paragraph, line or sentence"}
    )
    queries_file: str | None = field(
        default=None,
        metadata={"help": "table of query and passage (file, or file:line of its first line) to measure recall"},
    )
    model_name_or_path: str = field(
        default=_DEFAULT_ENCODER,
        metadata={
            "help": "folder of an encoder, or its name on the Hub; code in it is not run (no trust_remote_code)"
        },
    )
    batch_size: Annotated[int, FROM_1] = field(
        default=64, metadata={"help": "windows of text in a batch of the encoder"}
    )
    model_weight: Annotated[float | None, PROBABILITY] = field(
        default=None,
        metadata={
            "help": "weight of the model in its combination with n-grams, from 0 to 1; None: the one that "
            "train_embeddings.py chose for it; for other encoders, nothing is combined"
        },
    )
    output_dir: str = field(default="outputs/search", metadata={"help": "folder of the index and of metrics.json"})
    overwrite_output_dir: bool = field(default=False, metadata={"help": "replace the index in output_dir"})


def main() -> None:
    """Read the passages, embed them or load their vectors, answer the queries, and measure recall.

    Raises:
        SystemExit: If an option, the data, the model or the index is invalid, or the command is interrupted. What is
            printed is one line.
    """
    (options,) = parse_arguments(SearchArguments, description=__doc__, default_config="search.yaml")
    try:
        _search(options)
    except KeyboardInterrupt:
        print("\nStopped. The same command uses the index if it is complete, and makes it otherwise.", file=sys.stderr)
        raise SystemExit(130) from None
    except (ValueError, OSError) as error:
        raise SystemExit(printable(str(error))) from None


def _search(options: SearchArguments) -> None:
    logging.set_verbosity_error()  # no warning that the heads of pre-training are left out
    logging.disable_progress_bar()
    disable_progress_bars()  # of saving, which is instant here
    folder = Path(options.output_dir)
    expect_writable(folder)
    passages, queries = _read(options)
    tokenizer, model = load_encoder(options.model_name_or_path)
    digest = hashlib.sha256(json.dumps(passages[:]).encode()).hexdigest()
    sources = {
        "texts": IndexSource(options.text_folder or "FaQuAD", digest),
        "model": IndexSource(options.model_name_or_path, fingerprint(model, tokenizer)),
    }
    if options.overwrite_output_dir or not has_index(folder, sources):
        save_index(folder, passages, embed(model, tokenizer, passages["text"], options.batch_size), sources)
        print(f"Made an index of {len(passages):,} passages in {folder}", flush=True)
    else:
        print(f"Loaded the index of {len(passages):,} passages in {folder} (--overwrite_output_dir replaces it)")
    index = load_index(folder)
    if not (queries or options.query):
        print("Give a --query to search for, or a --queries_file to measure recall.")

    for query in options.query or []:
        vectors = embed(model, tokenizer, [query], batch_size=1)
        scores, found = index.get_nearest_examples_batch(INDEX_NAME, vectors, options.num_results)
        print(f"\n{printable(format_results(query, scores[0], found[0]))}")
    if queries:
        asked = [query.text for query in queries]
        vectors = index.get_index(INDEX_NAME).faiss_index.reconstruct_n(0, len(index))
        cosines = embed(model, tokenizer, asked, options.batch_size) @ vectors.T
        by_ngrams = ngram_scores(index["text"], asked)
        weight = _weight_of_model(options)
        kinds = {NGRAMS: by_ngrams, "model": cosines}
        if weight is not None:
            kinds[COMBINED] = combine(cosines, by_ngrams, weight)
        compared = {
            "chance": chance_recall(queries, len(index)),
            **{kind: recall(nearest(scores, max(RECALL_DEPTHS)), queries) for kind, scores in kinds.items()},
        }
        print(f"\n{len(queries):,} queries, {len(index):,} passages\n{table(compared)}")
        metrics: dict[str, Any] = {"test": compared}
        if weight is not None:
            print(f"weight of the model in the combination: {weight:g}")
            metrics[WEIGHTS] = {COMBINED: weight}
        write_metrics(folder / "metrics.json", metrics)


def load_encoder(name: str) -> tuple[PreTrainedTokenizerBase, PreTrainedModel]:
    """Return the tokenizer and the encoder, loaded without its head and in evaluation mode.

    Raises:
        FileNotFoundError: If the encoder of `pretrain_masked.py` is asked for and not there.
        SystemExit: If there is no other such model, it is not an encoder, or one of its files is damaged.
    """
    if name == _DEFAULT_ENCODER and not Path(name, "config.json").is_file():
        raise FileNotFoundError(
            f"--model_name_or_path {name}: found no config.json; expected the folder of an encoder. "
            f"`python recipes/pretrain_masked.py` saves one in {_DEFAULT_ENCODER}"
        )
    return load_as(name, _expect_encoder, trust_remote_code=False)


def _expect_encoder(config: PreTrainedConfig) -> type[AutoModel]:
    """Return the auto class of encoders.

    Raises:
        ValueError: If the model is none: a type that fills in masks and has one stack.
    """
    is_decoder = config.is_encoder_decoder or getattr(config, "is_decoder", False)
    if is_decoder or type(config) not in MODEL_FOR_MASKED_LM_MAPPING:
        found = ", ".join(config.architectures or [config.model_type])
        raise ValueError(f"found {found}; expected an encoder, such as pretrain_masked.py saves")
    return AutoModel


def format_results(query: str, scores: Sequence[float], passages: Mapping[str, Sequence[str]]) -> str:
    """Return the passages found for a query as text: the rank, score and `id` of each, and its first lines below."""
    lines = [f"“{query}”"]
    for rank, (score, place, text) in enumerate(zip(scores, passages["id"], passages["text"]), start=1):
        lines.append(f"{rank:>3}  {score:.4f}  {place}")
        lines += textwrap.wrap(
            text, 100, initial_indent=" " * 5, subsequent_indent=" " * 5, max_lines=_MAX_LINES, placeholder=" …"
        )
    return "\n".join(lines)


def _weight_of_model(options: SearchArguments) -> float | None:
    """Return the weight of the model that is given, or that its `metrics.json` holds, if any does."""
    if options.model_weight is not None:
        return options.model_weight
    try:
        metrics = json.loads(Path(options.model_name_or_path, "metrics.json").read_text(encoding="utf-8"))
        return float(metrics[WEIGHTS][COMBINED])
    except (OSError, ValueError, LookupError, TypeError):  # not of train_embeddings.py
        return None


def _read(options: SearchArguments) -> tuple[Dataset, list[LabelledQuery]]:
    """Return the passages, and the queries to measure recall with, if any.

    Raises:
        ValueError: If the data are malformed.
        OSError: If the data cannot be read.
    """
    passages, queries = (
        read_questions() if options.text_folder is None else (read_folder(options.text_folder, options.sample_by), [])
    )
    if options.query:
        queries = []  # answer at once, without measuring recall on the questions of the sample
    if options.queries_file is not None:
        queries = read_queries(options.queries_file, passages)
    return passages, queries


if __name__ == "__main__":
    main()
