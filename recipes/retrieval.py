"""Passages and queries, their vectors, kept on disk, and recall, for recipes/search.py."""

import hashlib
import json
import os
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from math import comb
from pathlib import Path
from typing import NamedTuple

import numpy as np
import safetensors
import safetensors.numpy
import safetensors.torch
import torch
from datasets import Dataset
from rapidfuzz import process
from rapidfuzz.distance import OSA
from sklearn.feature_extraction.text import TfidfVectorizer
from torch.nn.functional import normalize
from tqdm import tqdm
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from atenta.engines.saved_tensors import let_others_read
from atenta.recipes.reading.records import BadRow, good_rows
from atenta.recipes.reading.splits import format_of_texts
from atenta.recipes.samples.files import DATA
from atenta.recipes.samples.misspellings import misspellings
from atenta.recipes.tasks.documents import DOCUMENTS, read_documents

RECALL_DEPTHS = (1, 5, 10)
NGRAMS, EDITS, MODEL = "n-grams (TF-IDF)", "edit distance", "model"  # rows of tables and of metrics.json
SPELLINGS, COMBINED = f"{EDITS} + {NGRAMS}", f"{MODEL} + {NGRAMS}"
ALL = f"{MODEL} + {SPELLINGS}"
COMBINATIONS = {SPELLINGS: (EDITS, NGRAMS), COMBINED: (MODEL, NGRAMS), ALL: (MODEL, SPELLINGS)}  # each of two
WEIGHTS = "weights"  # in metrics.json: the weight of the first of the two in each combination
SIZES = "tfidf_sizes"  # in metrics.json: the n-grams that the weights were chosen with
NGRAM_SIZES = (3, 5)  # shortest and longest, for passages of whole sentences
_QUERIES = format_of_texts("query", "passage")
_WEIGHT_STEPS = 20
_QUERIES_AT_ONCE = 512


class LabelledQuery(NamedTuple):
    """A query, and the indices of the passages that answer it, at least one."""

    text: str
    answers: frozenset[int]


def read_folder(folder: str | Path, sample_by: str) -> Dataset:
    """Return the passages of all txt files in a folder and its subfolders, sorted by path.

    Args:
        folder: The folder.
        sample_by: Unit that is a passage, as in `read_documents`.

    Returns:
        Rows of `file`, its path in the folder; `id`, the file and the first line of the passage, such as
        `dom_casmurro.txt:12`; and `text`.

    Raises:
        ValueError: If there is no txt file, `sample_by` is unknown, or a text is malformed. The message says where.
        OSError: If a file cannot be read.
    """
    paths = sorted(Path(folder).rglob("*.txt"))
    if not paths:
        raise ValueError(f"--text_folder {folder}: found no txt file; expected at least one")
    rows = []
    for path in paths:
        file = path.relative_to(folder).as_posix()
        for place, row in good_rows(read_documents(path, sample_by), DOCUMENTS.check):
            rows.append({"file": file, "id": f"{file}:{place.rpartition(' ')[2]}", **row})
    return Dataset.from_list(rows)


def read_misspellings() -> tuple[Dataset, list[LabelledQuery]]:
    """Return the names and words of the sample `misspellings` as passages, and its test as queries.

    Returns:
        Passages as in `read_folder`, with `misspellings` as `file` and the text itself as `id`; and the queries.

    Raises:
        FileNotFoundError: If sample data are missing, as in an installed package outside a clone.
    """
    try:
        splits = misspellings()
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{DATA}: the sample data are not all there; only the repository holds them: "
            "run in a clone, or name your own texts with --text_folder"
        ) from None
    passages = list(dict.fromkeys(row["positive"] for rows in splits.values() for row in rows))
    rows = [{"file": "misspellings", "id": text, "text": text} for text in passages]
    return Dataset.from_list(rows), label_queries(splits["test"], passages)


def label_queries(rows: Iterable[Mapping[str, str]], passages: Sequence[str]) -> list[LabelledQuery]:
    """Return the distinct queries of rows, `anchor`, with the indices of the passages that answer them, `positive`."""
    numbers = {text: index for index, text in enumerate(passages)}
    answers: dict[str, set[int]] = {}
    for row in rows:
        answers.setdefault(row["anchor"], set()).add(numbers[row["positive"]])
    return _labelled(answers)


def _labelled(answers: Mapping[str, Iterable[int]]) -> list[LabelledQuery]:
    return [LabelledQuery(text, frozenset(found)) for text, found in answers.items()]


def read_queries(path: str | Path, passages: Dataset) -> list[LabelledQuery]:
    """Return the queries of a table with the columns `query` and `passage`.

    Args:
        path: A tsv, csv, jsonl or parquet file; `passage` is the `id` of a passage, or a `file`, any passage of which
            answers the query.
        passages: The passages from `read_folder`.

    Raises:
        ValueError: If a row is malformed or its passage unknown. The message says where.
        OSError: If the file cannot be read.
    """
    named: defaultdict[str, set[int]] = defaultdict(set)
    for column in ("file", "id"):
        for index, name in enumerate(passages[column]):
            named[name].add(index)
    answers: dict[str, set[int]] = {}
    for place, row in good_rows(_QUERIES.read(str(path)), _QUERIES.check):
        query, passage = row.values()
        if passage not in named:
            expected = f"a file, such as {passages[0]['file']}, or a passage, such as {passages[0]['id']}"
            raise BadRow(place, f"found {passage!r}; expected {expected}")
        answers.setdefault(query, set()).update(named[passage])
    return _labelled(answers)


def embed(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], batch_size: int
) -> np.ndarray:
    """Return the mean vector of each text, scaled to length 1, so that the dot product of two is their cosine.

    A text longer than the model's `max_position_embeddings` is read in consecutive windows, and the mean is taken over
    the tokens of all windows. `<bos>` and `<eos>` are tokens like the others; padding is not counted. Windows of
    similar length are batched together.

    Args:
        model: An encoder, whose `last_hidden_state` is (batch, length, hidden_size).
        tokenizer: The encoder's tokenizer.
        texts: The texts, none of them blank.
        batch_size: Number of windows in a batch.

    Returns:
        (texts, hidden_size) in float32.
    """
    windows = tokenizer(
        list(texts),
        split_special_tokens=True,
        truncation=True,
        max_length=min(model.config.max_position_embeddings, tokenizer.model_max_length),
        return_overflowing_tokens=True,
    )
    texts_of_windows = torch.tensor(windows.pop("overflow_to_sample_mapping"))
    order = sorted(range(len(texts_of_windows)), key=lambda window: len(windows["input_ids"][window]))
    sums = torch.zeros(len(texts), model.config.hidden_size)
    for start in tqdm(range(0, len(order), batch_size), desc="embedding", unit="batch", leave=False, disable=None):
        chosen = order[start : start + batch_size]
        batch = tokenizer.pad(
            {name: [values[window] for window in chosen] for name, values in windows.items()}, return_tensors="pt"
        ).to(model.device)
        with torch.inference_mode():
            hidden = model(**batch).last_hidden_state.float()
        sums.index_add_(0, texts_of_windows[chosen], (hidden * batch["attention_mask"][..., None]).sum(1).cpu())
    return normalize(sums).numpy()  # the sum has the same direction as the mean


def fingerprint(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> str:
    """Return a SHA-256 of everything that the vectors depend on: weights, vocabulary and window length.

    The pooler is left out: the vectors do not depend on it, and a pooler that was not saved is initialised at random
    each time the model is loaded.
    """
    weights = {name: weight for name, weight in model.state_dict().items() if not name.startswith("pooler.")}
    digest = hashlib.sha256(safetensors.torch.save(weights))
    digest.update(tokenizer.backend_tokenizer.to_str().encode())
    digest.update(str(model.config.max_position_embeddings).encode())
    return digest.hexdigest()


def embed_once(
    folder: Path, texts: Sequence[str], made_by: str, embed_texts: Callable[[Sequence[str]], np.ndarray]
) -> tuple[np.ndarray, Path, bool]:
    """Return the vectors of passages, the file that keeps them, and whether they were in it.

    The file is named by a digest of the texts and of `made_by`, the fingerprint of the model, so that the vectors of
    others are never taken for these. A damaged file is written anew.

    Returns:
        (passages, hidden_size) in float32, of length 1, so that scores are cosines; the path; and whether it was read.
    """
    digest = hashlib.sha256(json.dumps([*texts, made_by]).encode()).hexdigest()
    path = folder / f"vectors-{digest[:16]}.safetensors"
    with suppress(OSError, LookupError, safetensors.SafetensorError):  # there is none, or it is damaged
        if len(vectors := safetensors.numpy.load_file(path)["vectors"]) == len(texts):
            return vectors, path, True
    folder.mkdir(parents=True, exist_ok=True)
    part, vectors = path.with_suffix(f".{os.getpid()}.part"), embed_texts(texts)
    safetensors.numpy.save_file({"vectors": vectors}, part)
    let_others_read(part)
    part.replace(path)
    return vectors, path, False


def recall(found: np.ndarray, queries: Sequence[LabelledQuery]) -> dict[str, float]:
    """Return the share of queries with a correct passage among the first 1, 5 and 10 found.

    Args:
        found: (queries, 10), or fewer columns if there are fewer passages: indices of passages, best first.
        queries: The queries, in the order of `found`.
    """
    hits = np.array([np.isin(row, list(query.answers)) for row, query in zip(found, queries)])
    return {f"recall@{depth}": float(hits[:, :depth].any(1).mean()) for depth in RECALL_DEPTHS}


def chance_recall(queries: Sequence[LabelledQuery], num_passages: int) -> dict[str, float]:
    """Return the expected recall if `num_passages` passages are ranked at random."""

    def miss(query: LabelledQuery, depth: int) -> float:
        return comb(num_passages - len(query.answers), depth) / comb(num_passages, depth)

    depths = {depth: min(depth, num_passages) for depth in RECALL_DEPTHS}
    return {
        f"recall@{depth}": 1 - float(np.mean([miss(query, drawn) for query in queries]))
        for depth, drawn in depths.items()
    }


def compare_recall(
    scores: Mapping[str, np.ndarray], queries: Sequence[LabelledQuery], num_passages: int
) -> dict[str, dict[str, float]]:
    """Return the recall of chance and that of each kind of search, by the scores of each, (queries, passages)."""
    return {
        "chance": chance_recall(queries, num_passages),
        **{kind: recall(nearest(each, max(RECALL_DEPTHS)), queries) for kind, each in scores.items()},
    }


def ngram_scores(passages: Sequence[str], queries: Sequence[str], sizes: tuple[int, int] = NGRAM_SIZES) -> np.ndarray:
    """Return the cosine of the TF-IDF vectors of each query and each passage.

    The terms are the n-grams of characters within words, lower-cased. Document frequencies are counted in the
    passages.

    Args:
        passages: Texts.
        queries: Texts.
        sizes: The shortest and the longest n-grams; short ones for names and words, which have few.

    Returns:
        (queries, passages) in float32.
    """
    passages, queries = _composed(passages), _composed(queries)
    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=sizes, sublinear_tf=True, dtype=np.float32)
    terms = vectorizer.fit_transform(passages)
    return (vectorizer.transform(queries) @ terms.T).toarray()


def edit_scores(passages: Sequence[str], queries: Sequence[str]) -> np.ndarray:
    """Return 1 minus the edit distance of each query and each passage, divided by the length of the longer one.

    An edit inserts, deletes or replaces a character, or swaps two neighbours (optimal string alignment).

    Returns:
        (queries, passages) in float32.
    """
    return process.cdist(_composed(queries), _composed(passages), scorer=OSA.normalized_similarity, dtype=np.float32)


def _composed(texts: Sequence[str]) -> list[str]:
    """Return texts in NFC, as the tokenizer reads them."""
    return [unicodedata.normalize("NFC", text) for text in texts]


def make_scorers(
    passages: Sequence[str],
    vectors: np.ndarray,
    embed_texts: Callable[[Sequence[str]], np.ndarray],
    sizes: tuple[int, int],
) -> dict[str, Callable[[Sequence[str]], np.ndarray]]:
    """Return for each kind of search what scores the passages, which have these vectors, for queries.

    Scores are (queries, passages), vectors (passages or queries, hidden_size); `sizes` are as in `ngram_scores`.
    """
    return {
        NGRAMS: lambda queries: ngram_scores(passages, queries, sizes),
        EDITS: lambda queries: edit_scores(passages, queries),
        MODEL: lambda queries: embed_texts(queries) @ vectors.T,
    }


def nearest(scores: np.ndarray, count: int) -> np.ndarray:
    """Return the indices, (queries, count), of the passages with the highest scores, (queries, passages), best first.

    The first of equal ones comes first.
    """
    found = np.empty((len(scores), min(count, scores.shape[1])), dtype=np.intp)
    for start in range(0, len(scores), _QUERIES_AT_ONCE):
        part = slice(start, start + _QUERIES_AT_ONCE)
        found[part] = np.argsort(-scores[part], axis=1, kind="stable")[:, :count]
    return found


def nearest_texts(
    texts: Sequence[str], score: Callable[[Sequence[str], Sequence[str]], np.ndarray], count: int
) -> np.ndarray:
    """Return the indices, (texts, count) or fewer, of the texts nearest to each text, itself left out, best first.

    Args:
        texts: Distinct texts.
        score: Such as `edit_scores`; it takes all texts, and some of them as queries.
        count: Number of texts.
    """
    found = []
    for start in range(0, len(texts), _QUERIES_AT_ONCE):
        scores = score(texts, texts[start : start + _QUERIES_AT_ONCE])
        rows = np.arange(len(scores))
        scores[rows, start + rows] = -np.inf
        kept = min(count, len(texts) - 1)
        best = np.argpartition(-scores, kept - 1, axis=1)[:, :kept]
        found.append(np.take_along_axis(best, np.argsort(-scores[rows[:, None], best], axis=1, kind="stable"), axis=1))
    return np.concatenate(found)


def combine(scores: np.ndarray, others: np.ndarray, weight: float) -> np.ndarray:
    """Return the weighted sum of two kinds of scores, each made to have mean 0 and variance 1 for each query.

    Args:
        scores: (queries, passages), such as the cosines of a model.
        others: (queries, passages), such as `ngram_scores`.
        weight: The share of `scores`, from 0 to 1; that of `others` is the rest.
    """
    return weight * _standardized(scores) + (1 - weight) * _standardized(others)


def combine_kinds(scores: Mapping[str, np.ndarray], weights: Mapping[str, float]) -> dict[str, np.ndarray]:
    """Return the scores of each kind of search and of combinations, those of the model last.

    Args:
        scores: `MODEL` and other kinds, each (queries, passages).
        weights: The weight of the first of the two in each combination, one of `COMBINATIONS`.
    """
    combined = dict(scores)
    del combined[MODEL]
    for name, (one, other) in COMBINATIONS.items():
        if name in weights:
            combined[name] = combine({**scores, **combined}[one], combined[other], weights[name])
    return {**combined, MODEL: scores[MODEL]}


def choose_weight(scores: np.ndarray, others: np.ndarray, queries: Sequence[LabelledQuery]) -> float:
    """Return the weight of `combine`, of 0, 0.05, …, 1, with the highest mean reciprocal rank; of equals the lowest.

    The queries must not be those that the combination is tested on.
    """
    scores, others = _standardized(scores), _standardized(others)
    weights = [step / _WEIGHT_STEPS for step in range(_WEIGHT_STEPS + 1)]
    ranks = [mean_reciprocal_rank(weight * scores + (1 - weight) * others, queries) for weight in weights]
    return weights[int(np.argmax(ranks))]


def mean_reciprocal_rank(scores: np.ndarray, queries: Sequence[LabelledQuery]) -> float:
    """Return the mean over the queries of 1 / the rank of the first correct passage.

    A passage with the score of a correct one counts as before it.
    """
    best = [row[list(query.answers)].max() for row, query in zip(scores, queries)]
    return float(np.mean([1 / np.count_nonzero(row >= first) for row, first in zip(scores, best)]))


def _standardized(scores: np.ndarray) -> np.ndarray:
    deviations = scores.std(axis=1, keepdims=True)
    return (scores - scores.mean(axis=1, keepdims=True)) / np.where(deviations > 0, deviations, 1)
