"""Search passages by meaning, with the mean vectors of an encoder (document 5), beside n-grams of characters.

Without options the passages are the contexts of FaQuAD (Sayama et al., 2019), its questions are the queries, and the
encoder is the one that pretrain_masked.py left. With --text_folder the passages are those of your txt files, and
--queries_file says which of them answers what. The index is kept in --output_dir and loaded from there again.
"""

import hashlib
import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from datasets import Dataset, disable_progress_bars
from transformers import AutoModel, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase, logging

from atenta.recipes.reporting.tables import table, write_metrics
from atenta.recipes.retrieval.embedding import embed, fingerprint
from atenta.recipes.retrieval.index import NAME, Made, is_made_of, load_index, save_index
from atenta.recipes.retrieval.passages import LabelledQuery, read_folder, read_queries, read_questions
from atenta.recipes.retrieval.recall import DEPTHS, chance_recall, nearest_by_ngrams, recall
from atenta.recipes.training import parse_arguments

ENCODER = "outputs/pretrain_masked"
LINES_SHOWN = 12  # of a passage, which may be a whole book


@dataclass
class SearchArguments:
    """What is searched, for what, and with which encoder."""

    _argument_group_name = "search"

    query: list[str] | None = field(default=None, metadata={"help": "texts to find passages for"})
    num_results: int = field(default=3, metadata={"help": "passages shown for each --query"})
    text_folder: str | None = field(
        default=None, metadata={"help": "folder of txt files, and of folders of them; None: the contexts of FaQuAD"}
    )
    sample_by: str = field(
        default="paragraph", metadata={"help": "what of a file is a passage: document, paragraph, line or sentence"}
    )
    queries_file: str | None = field(
        default=None,
        metadata={"help": "table of query and passage (file, or file:line where it begins) to count recall on"},
    )
    model_name_or_path: str = field(default=ENCODER, metadata={"help": "an encoder"})
    batch_size: int = field(default=64, metadata={"help": "windows of text that the encoder reads together"})
    output_dir: str = field(default="outputs/search", metadata={"help": "folder of the index and of metrics.json"})
    overwrite_output_dir: bool = field(
        default=False, metadata={"help": "make the index anew, also where it is of another model or of other texts"}
    )


def main() -> None:
    """Read the passages, embed them or load their vectors, answer the queries, count the recall."""
    (options,) = parse_arguments(SearchArguments, description=__doc__, default_config="search.yaml")
    logging.set_verbosity_error()  # that the heads of pre-training are left out is as it should be
    logging.disable_progress_bar()
    disable_progress_bars()  # those of saving, which take no time here
    folder = Path(options.output_dir)
    try:
        passages, queries = read(options)
        tokenizer, model = load_encoder(options.model_name_or_path)
        texts = Made(options.text_folder or "FaQuAD", hashlib.sha256(json.dumps(passages[:]).encode()).hexdigest())
        made_of = {"texts": texts, "model": Made(options.model_name_or_path, fingerprint(model, tokenizer))}
        if options.overwrite_output_dir or not is_made_of(folder, made_of):
            save_index(folder, passages, embed(model, tokenizer, passages["text"], options.batch_size), made_of)
            print(f"Made an index of {len(passages):,} passages in {folder}", flush=True)
        else:
            print(f"Loaded the index of {len(passages):,} passages in {folder} (--overwrite_output_dir makes it anew)")
    except (ValueError, OSError) as error:
        raise SystemExit(str(error)) from None
    index = load_index(folder)
    if not (queries or options.query):
        print("Give a --query to search for, or a --queries_file to count recall on.")

    for query in options.query or []:
        vectors = embed(model, tokenizer, [query], batch_size=1)
        scores, found = index.get_nearest_examples_batch(NAME, vectors, options.num_results)
        print(f"\n{show(query, scores[0], found[0])}")
    if queries:
        asked = [query.text for query in queries]
        count = min(max(DEPTHS), len(index))
        by_vectors = index.search_batch(NAME, embed(model, tokenizer, asked, options.batch_size), count)
        compared = {
            "chance": chance_recall(queries, len(index)),
            "n-grams (TF-IDF)": recall(nearest_by_ngrams(index["text"], asked, count), queries),
            "model": recall(by_vectors.total_indices, queries),
        }
        print(f"\n{len(queries):,} queries, {len(index):,} passages\n{table(compared)}")
        write_metrics(folder / "metrics.json", {"test": compared})


def read(options: SearchArguments) -> tuple[Dataset, list[LabelledQuery]]:
    """Return passages and the queries that are known to be answered by them, if there are any.

    Raises:
        ValueError: options that do not go together, or malformed data.
        OSError: data that cannot be read.
    """
    for name in ("num_results", "batch_size"):
        if getattr(options, name) < 1:
            raise ValueError(f"--{name} is {getattr(options, name)}; expected 1 or more")
    passages, queries = (
        read_questions() if options.text_folder is None else (read_folder(options.text_folder, options.sample_by), [])
    )
    if options.query:
        queries = []  # who asks something does not wait for the sample's questions
    if options.queries_file is not None:
        queries = read_queries(options.queries_file, passages)
    return passages, queries


def load_encoder(name: str) -> tuple[PreTrainedTokenizerBase, PreTrainedModel]:
    """Load an encoder without its head, and its tokenizer.

    Raises:
        ValueError: it is an encoder-decoder.
        OSError: there is no such model.
    """
    there_or_default = Path(name).is_dir() or name == ENCODER  # any other may be one of the Hub
    if there_or_default and not Path(name, "config.json").is_file():
        raise FileNotFoundError(
            f"--model_name_or_path {name}: there is no config.json in it, and so no model; "
            f"`python recipes/pretrain_masked.py` makes one in {ENCODER}"
        )
    tokenizer, model = AutoTokenizer.from_pretrained(name), AutoModel.from_pretrained(name).eval()
    if model.config.is_encoder_decoder:
        raise ValueError(f"--model_name_or_path {name}: found a model of two stacks; expected an encoder")
    return tokenizer, model


def show(query: str, scores: Sequence[float], passages: Mapping[str, Sequence[str]]) -> str:
    """Lay out what was found for a query: rank, score, where it stands, and under that the passage.

    Of a long passage the first lines are shown; … stands for the rest.
    """
    lines = [f"“{query}”"]
    for rank, (score, place, text) in enumerate(zip(scores, passages["id"], passages["text"]), start=1):
        lines.append(f"{rank:>3}  {score:.4f}  {place}")
        lines += textwrap.wrap(
            text, 100, initial_indent=" " * 5, subsequent_indent=" " * 5, max_lines=LINES_SHOWN, placeholder=" …"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
