"""Search passages by the mean vectors of an encoder (document 5), and compare with n-grams and edit distance.

Without options the passages are names and words, the queries are misspellings of a thousand of them, and the encoder
is the one that train_embeddings.py saved. An encoder of train_embeddings.py ranks the passages together with n-grams,
and with edit distance if it was compared with that; others rank them alone. With --text_folder the
passages are those of your txt files (--sample_by line for lists of names), and --queries_file lists queries with the
passages that answer them. The vectors of the passages are saved in --output_dir and used again.
"""

from atenta.recipes.terminal import escape_missing_characters  # first, because the others take seconds

import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from datasets import Dataset, disable_progress_bars
from transformers import AutoModel, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase, logging
from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING

from atenta.engines.saved_model import find_model, read_saved
from atenta.recipes import retrieval
from atenta.recipes.decoding.loading import load_model
from atenta.recipes.option_annotations import FROM_1, PROBABILITY
from atenta.recipes.pictures.drawing import check_writable
from atenta.recipes.reading.records import exit_on, printable
from atenta.recipes.training.parsing import parse_arguments
from atenta.recipes.training.results import table, write_metrics

_DEFAULT_ENCODER = "outputs/misspellings"
_MAX_LINES = 12  # of a passage, which may be a complete book


@dataclass
class SearchArguments:
    """The passages, the queries and the encoder."""

    _argument_group_name = "search"

    query: Annotated[list[str] | None, "texts to search for; made lower-case if all passages are"] = None
    num_results: Annotated[int, FROM_1, "number of passages shown for each --query"] = 3
    text_folder: Annotated[str | None, "folder with txt files, also in its subfolders; None: names and words"] = None
    sample_by: Annotated[str, "unit that is a passage: document, paragraph, line or sentence"] = "paragraph"
    queries_file: Annotated[
        str | None, "table of query and passage (file, or file:line of its first line) to measure recall"
    ] = None
    model_name_or_path: Annotated[
        str, "folder of an encoder, or its name on the Hub; code in it is not run (no trust_remote_code)"
    ] = _DEFAULT_ENCODER
    batch_size: Annotated[int, FROM_1, "windows of text in a batch of the encoder"] = 64
    model_weight: Annotated[
        float | None,
        PROBABILITY,
        "weight of the model in its combinations, from 0 to 1; None: those that train_embeddings.py chose "
        "for it; for other encoders, nothing is combined",
    ] = None
    output_dir: Annotated[str, "folder of the passages' vectors and of metrics.json"] = "outputs/search"


def main() -> None:
    """Read the passages, embed them or load their vectors, answer the queries, and measure recall.

    Raises:
        SystemExit: If an option, the data or the model is invalid, or the command is interrupted. What is
            printed is one line.
    """
    escape_missing_characters()
    (options,) = parse_arguments(SearchArguments, description=__doc__, default_config="search.yaml")
    try:
        with exit_on(ValueError, OSError):
            _search(options)
    except KeyboardInterrupt:
        print("\nStopped. The same command uses the vectors of passages that are saved.", file=sys.stderr)
        raise SystemExit(130) from None


def _search(options: SearchArguments) -> None:
    logging.set_verbosity_error()  # no warning that the heads of pre-training are left out
    logging.disable_progress_bar()
    disable_progress_bars()  # of saving, which is instant here
    folder = Path(options.output_dir)
    check_writable(folder)
    if (folder / "config.json").is_file():
        raise ValueError(f"--output_dir {folder}: found a model, whose metrics.json would be replaced; give another")
    passages, queries = _read(options)
    tokenizer, model = load_encoder(options.model_name_or_path)
    embed_texts = partial(retrieval.embed, model, tokenizer, batch_size=options.batch_size)
    texts = passages["text"][:]
    made_by = retrieval.fingerprint(model, tokenizer)
    vectors, path, was_there = retrieval.embed_once(folder, texts, made_by, embed_texts)
    print(f"{'Read' if was_there else 'Saved'} the vectors of {len(texts):,} passages: {path}", flush=True)
    if not (queries or options.query):
        print("Give a --query to search for, or a --queries_file to measure recall.")

    weights, sizes = _saved_weights(options)
    is_lower = all(text == text.lower() for text in texts)  # names: a capital would match none of them
    scorers = retrieval.make_scorers(texts, vectors, embed_texts, sizes)

    def score(asked: Sequence[str], kinds: Sequence[str]) -> dict[str, np.ndarray]:
        asked = [text.lower() for text in asked] if is_lower else asked
        parts = {part for kind in kinds for part in kind.split(" + ")}
        single = {kind: scorers[kind](asked) for kind in scorers if kind in parts}
        return retrieval.combine_kinds(
            single, {name: weights[name] for name in weights if parts.issuperset(name.split(" + "))}
        )

    if options.query:
        best = next((name for name in (retrieval.ALL, retrieval.COMBINED) if name in weights), retrieval.MODEL)
        unit = "cosine" if best == retrieval.MODEL else "weighted standard scores"
        print(f"Ranked by {best}; scores: {unit}")
        scores = score(options.query, [best])[best]
        for query, row, found in zip(options.query, scores, retrieval.nearest(scores, options.num_results)):
            print(f"\n{printable(format_results(query, row[found], passages[found]))}")
    if queries:
        combined = score([query.text for query in queries], [retrieval.NGRAMS, *weights, retrieval.MODEL])
        compared = retrieval.compare_recall(combined, queries, len(texts))
        print(f"\n{len(queries):,} queries, {len(texts):,} passages\n{table(compared)}")
        metrics: dict[str, Any] = {"test": compared}
        if weights:
            print(f"Weights of the first: {', '.join(f'{weight:g} in {pair}' for pair, weight in weights.items())}")
            metrics |= {retrieval.WEIGHTS: weights, retrieval.SIZES: sizes}
        write_metrics(folder / "metrics.json", metrics)


def load_encoder(name: str) -> tuple[PreTrainedTokenizerBase, PreTrainedModel]:
    """Return the tokenizer and the encoder, loaded without its head and in evaluation mode."""
    if name == _DEFAULT_ENCODER and not Path(name, "config.json").is_file():
        raise FileNotFoundError(
            f"--model_name_or_path {name}: found no config.json; expected the folder of an encoder. "
            f"`python recipes/train_embeddings.py` saves one in {_DEFAULT_ENCODER}"
        )
    return load_model(name, _check_encoder)


def _check_encoder(config: PreTrainedConfig) -> type[AutoModel]:
    """Return the auto class of encoders, which have a type that fills in masks and one stack."""
    is_decoder = config.is_encoder_decoder or getattr(config, "is_decoder", False)
    if is_decoder or type(config) not in MODEL_FOR_MASKED_LM_MAPPING:
        found = ", ".join(config.architectures or [config.model_type])
        raise ValueError(f"found {found}; expected an encoder, such as train_embeddings.py saves")
    return AutoModel


def format_results(query: str, scores: Sequence[float], passages: Mapping[str, Sequence[str]]) -> str:
    """Return the passages found for a query as text: the rank, score and `id` of each, and its first lines below.

    A passage that is its own `id` is shown once.
    """
    lines = [f"“{query}”"]
    for rank, (score, place, text) in enumerate(zip(scores, passages["id"], passages["text"]), start=1):
        lines.append(f"{rank:>3}  {score:.4f}  {place}")
        if text != place:
            lines += textwrap.wrap(
                text, 100, initial_indent=" " * 5, subsequent_indent=" " * 5, max_lines=_MAX_LINES, placeholder=" …"
            )
    return "\n".join(lines)


def _saved_weights(options: SearchArguments) -> tuple[dict[str, float], tuple[int, int]]:
    """Return the weights of combinations and the lengths of n-grams that the model's `metrics.json` holds, if any.

    `--model_weight` replaces those of the model; if there are none, it is that of the model and n-grams.
    """
    weights: dict[str, float] = {}
    shortest, longest = retrieval.NGRAM_SIZES
    try:
        metrics = read_saved(find_model(options.model_name_or_path) / "metrics.json")
        shortest, longest = map(int, metrics.get(retrieval.SIZES, retrieval.NGRAM_SIZES))
        saved = metrics[retrieval.WEIGHTS]
        found = {name: float(saved[name]) for name in retrieval.COMBINATIONS if name in saved}
        weights = {name: weight for name, weight in found.items() if 0 <= weight <= 1}
    except (OSError, ValueError, LookupError, TypeError, OverflowError):
        pass  # not of train_embeddings.py
    if retrieval.SPELLINGS not in weights:
        weights.pop(retrieval.ALL, None)  # which is made of it
    if options.model_weight is not None:
        combined = [name for name in (retrieval.COMBINED, retrieval.ALL) if name in weights] or [retrieval.COMBINED]
        weights |= dict.fromkeys(combined, options.model_weight)
    return weights, (shortest, longest)


def _read(options: SearchArguments) -> tuple[Dataset, list[retrieval.LabelledQuery]]:
    """Return the passages, and the queries to measure recall with, if any."""
    if options.text_folder is None:
        passages, queries = retrieval.read_misspellings()
    else:
        passages, queries = retrieval.read_folder(options.text_folder, options.sample_by), []
    if options.queries_file is not None:
        return passages, retrieval.read_queries(options.queries_file, passages)
    return passages, [] if options.query else queries  # a query is answered at once


if __name__ == "__main__":
    main()
