# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["atenta[recipes,search]"]
#
# [tool.uv.sources]
# atenta = { path = "..", editable = true }  # this clone; UV_NO_SOURCES=1 takes the package from an index
# ///
"""Train an encoder to embed texts for search, with sentence-transformers, and compare it with n-grams of characters.

It is trained on pairs of a query and the text that it is to find, with the other texts of the batch as negatives. By
default they are names and words, misspelled and right; with `--config embeddings.yaml` questions of FaQuAD and their
contexts, and neighbouring sentences of Portuguese texts, where TF-IDF alone is as good. Your own are tables of
`anchor` and `positive` (tsv, csv, jsonl, parquet), SQuAD files (json), or texts (txt), each sentence of which is
paired with the next. The folder loads with `SentenceTransformer` and with `AutoModel`, and `search.py` searches with
it.
"""

import atenta.recipes.terminal  # noqa: F401  # first, because the others take seconds

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np

try:
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
except ModuleNotFoundError as error:
    raise SystemExit(f'This needs {error.name}: pip install "atenta[recipes,search]"') from None
from accelerate import PartialState
from datasets import Dataset, concatenate_datasets
from torch.nn import Module
from torch.utils.data import DataLoader
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.trainer_utils import EvalLoopOutput

from atenta.recipes import retrieval
from atenta.recipes.option_annotations import ABOVE_0, FROM_1, Mark
from atenta.recipes.reading.load import describe_data, load_rows, report_rows
from atenta.recipes.reading.records import exit_on
from atenta.recipes.reading.splits import DataArguments
from atenta.recipes.tasks.text_pairs import TEXT_PAIRS, read_neighbours, set_aside_validation
from atenta.recipes.training.models import load_or_create
from atenta.recipes.training.options import EncoderArguments, RecipeArguments
from atenta.recipes.training.parsing import parse_arguments
from atenta.recipes.training.results import report_saved, save_run
from atenta.recipes.training.runs import run_recipe, start_run
from atenta.recipes.training.trainer import RecipeTrainer, check_metric

_NEAREST = 8  # passages, of which one is drawn as the hard negative


@dataclass
class EmbeddingArguments:
    """The pairs that are trained on besides the data, and what the model is compared with.

    Raises:
        ValueError: If `tfidf_sizes` are not two lengths.
    """

    _argument_group_name = "embeddings"

    neighbours_file: Annotated[
        list[str] | None,
        "txt files whose neighbouring sentences are further training pairs, but for those with a sentence "
        "of a validation or test passage",
    ] = None
    neighbours_sample: Annotated[
        str | None, "sample of texts, such as portuguese_documents, used likewise if no other data are named"
    ] = None
    max_neighbours: Annotated[int, FROM_1, "maximum number of pairs of neighbours, drawn at random"] = 20_000
    hard_negatives: Annotated[bool, "each row is also trained against a passage that looks like its own"] = False
    scale: Annotated[float, ABOVE_0, "factor of the cosines in the loss, 1 / temperature"] = 20.0
    tfidf_sizes: Annotated[
        list[int],
        Mark.AFTER_TRAINING,
        "shortest and longest n-grams of characters of the TF-IDF that the model is compared with",
    ] = field(default_factory=lambda: list(retrieval.NGRAM_SIZES))
    edit_distance: Annotated[bool, "compare also with the edit distance, for names and words"] = False

    def __post_init__(self) -> None:
        if len(self.tfidf_sizes) != 2 or not 1 <= self.tfidf_sizes[0] <= self.tfidf_sizes[1]:
            raise ValueError(
                f"--tfidf_sizes {self.tfidf_sizes}: expected two lengths, the shorter one first, such as 3 5"
            )


@dataclass
class EmbeddingRecipeArguments(RecipeArguments, SentenceTransformerTrainingArguments):
    """`RecipeArguments` with the options of sentence-transformers.

    Raises:
        ValueError: If an option asks for what this Trainer cannot do.
    """

    batch_sampler: Annotated[str, "no_duplicates: no text is twice in a batch; or batch_sampler"] = "no_duplicates"

    def __post_init__(self) -> None:
        if self.optim == "muon" or self.average_last_checkpoints or self.average_best_checkpoints:
            raise ValueError(
                "--optim muon and the averages of checkpoints are not for embeddings: give --optim "
                "adamw_torch_fused, and --load_best_model_at_end instead of an average."
            )
        super().__post_init__()
        if self.input_mask_probability:
            raise ValueError("--input_mask_probability is not for embeddings: leave it out.")
        if self.max_tokens_per_batch:
            raise ValueError(
                "--max_tokens_per_batch is not for embeddings, whose negatives are the batch: give "
                "--per_device_train_batch_size."
            )


class EmbeddingTrainer(RecipeTrainer, SentenceTransformerTrainer):
    """A `RecipeTrainer` of a `SentenceTransformer`, with the batches and the loss of sentence-transformers."""

    def __init__(self, *arguments: Any, scale: float, search: Callable[[], dict[str, float]], **options: Any):
        """Prepare to train with cosines times `scale`; `search` adds its figures to those of each evaluation."""
        self.scale, self.search = scale, search
        super().__init__(*arguments, **options)

    def get_default_loss(self, model: Module) -> MultipleNegativesRankingLoss:
        """Return the loss: each query and its passage against all other passages and queries of the batch."""
        directions = ("query_to_doc", "query_to_query", "doc_to_query", "doc_to_doc")
        return MultipleNegativesRankingLoss(model, scale=self.scale, directions=directions)

    def get_train_dataloader(self) -> DataLoader:
        """Return the batches, in which no text is twice."""
        return SentenceTransformerTrainer.get_train_dataloader(self)

    def evaluation_loop(self, *arguments: Any, metric_key_prefix: str = "eval", **options: Any) -> EvalLoopOutput:
        """Evaluate, and search."""
        output = super().evaluation_loop(*arguments, metric_key_prefix=metric_key_prefix, **options)
        output.metrics.update({f"{metric_key_prefix}_{name}": figure for name, figure in self.search().items()})
        return output

    def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
        """Add none: `save_run` writes the card."""


def main() -> None:
    """Read the pairs, train, compare, save."""
    dataclasses = (DataArguments, EmbeddingArguments, EncoderArguments, EmbeddingRecipeArguments)
    options = parse_arguments(*dataclasses, description=__doc__, default_config="misspellings.yaml")
    data, embeddings, sizes, training = options
    if data.streaming or sizes.lora_rank:
        raise SystemExit("--streaming and --lora_rank are not for embeddings: leave them out.")
    run = start_run(*options)
    check_metric(training, [*(f"recall@{depth}" for depth in retrieval.RECALL_DEPTHS), "mean_reciprocal_rank"])
    splits = set_aside_validation(load_rows(data, training, TEXT_PAIRS), training.seed)
    passages = list(dict.fromkeys(text for rows in splits.values() for text in rows["positive"]))
    held_out = "\n".join({text for name, rows in splits.items() if name != "train" for text in rows["positive"]})
    sample = embeddings.neighbours_sample
    if neighbours := embeddings.neighbours_file or ([sample] if sample and not data.named() else []):
        with exit_on(ValueError, OSError):
            further = read_neighbours(neighbours, held_out, embeddings.max_neighbours, training.seed)
        splits["train"] = concatenate_datasets([splits["train"], further])
    texts = (text for row in splits["train"] for text in row.values())
    tokenizer, encoder = load_or_create(sizes, "feature-extraction", "encoder", texts)
    report = report_rows(splits, training, ["anchor", "positive"], tokenizer)
    model = as_sentence_transformer(encoder, tokenizer, sizes.max_length)
    _print_longer(splits["train"], tokenizer, model.max_seq_length)
    encoded = {name: rows.select_columns(["anchor", "positive"]) for name, rows in splits.items()}
    if embeddings.hard_negatives:
        encoded["train"] = add_hard_negatives(encoded["train"], embeddings.edit_distance, training.seed)

    queries = {name: retrieval.label_queries(rows, passages) for name, rows in splits.items() if name != "train"}
    batch_size = training.per_device_eval_batch_size
    embed_texts = partial(retrieval.embed, model.transformers_model, tokenizer, batch_size=batch_size)

    def search() -> dict[str, float]:
        scores = embed_texts([query.text for query in queries["validation"]]) @ embed_texts(passages).T
        return {
            **retrieval.recall(retrieval.nearest(scores, max(retrieval.RECALL_DEPTHS)), queries["validation"]),
            "mean_reciprocal_rank": retrieval.mean_reciprocal_rank(scores, queries["validation"]),
        }

    trainer = EmbeddingTrainer(model, training, tokenizer, encoded, None, scale=embeddings.scale, search=search)
    trainer.fit(run)

    model.eval()
    compared, weights, seconds, found = compare_searches(queries, passages, embed_texts, embeddings)
    chosen = ", ".join(f"{weight:g} in {name}" for name, weight in weights.items())
    if trainer.is_world_process_zero():
        print(
            f"Weights of the first, chosen on {len(queries['validation']):,} validation queries: {chosen}", flush=True
        )
    save_run(
        trainer,
        scores=compared.pop("test"),
        further_scores=compared,
        details={
            **{retrieval.WEIGHTS: weights, retrieval.SIZES: embeddings.tfidf_sizes},  # search.py combines with them
            **{"passages": len(passages), "seconds": seconds},
        },
        predictions={
            "query": [query.text for query in queries["test"]],
            "output": [passages[index] for index in found],
            "gold": [passages[min(query.answers)] for query in queries["test"]],
        },
        about=describe_data(data, report),
    )
    report_saved(trainer)


def add_hard_negatives(rows: Dataset, by_edits: bool, seed: int) -> Dataset:
    """Return the rows with a `negative`: one of the eight other passages that look most like the row's own.

    They look alike by edit distance, which is for names and words, or by n-grams.
    """
    passages = list(dict.fromkeys(rows["positive"]))
    if len(passages) < 2:
        raise SystemExit("--hard_negatives: found one passage; expected two or more")
    alike = retrieval.nearest_texts(passages, retrieval.edit_scores if by_edits else retrieval.ngram_scores, _NEAREST)
    numbers = {text: index for index, text in enumerate(passages)}
    generator = np.random.default_rng(seed)
    chosen = generator.integers(alike.shape[1], size=len(rows))
    negatives = [passages[alike[numbers[text], pick]] for text, pick in zip(rows["positive"], chosen)]
    return rows.add_column("negative", negatives)


def as_sentence_transformer(
    encoder: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, max_length: int
) -> SentenceTransformer:
    """Return an encoder as a sentence-transformers model whose embedding is the mean over the tokens."""
    with TemporaryDirectory() as folder:  # the library makes its modules from folders
        encoder.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        transformer = Transformer(folder, max_seq_length=min(max_length, encoder.config.max_position_embeddings))
    pooling = Pooling(transformer.get_embedding_dimension(), pooling_mode="mean")
    # The library would ask the Hub for a model of the folder's name.
    return SentenceTransformer(modules=[transformer, pooling], local_files_only=True)


def compare_searches(
    queries: Mapping[str, Sequence[retrieval.LabelledQuery]],
    passages: Sequence[str],
    embed_texts: Callable[[Sequence[str]], np.ndarray],
    options: EmbeddingArguments,
) -> tuple[dict[str, dict[str, dict[str, float]]], dict[str, float], dict[str, float], list[int]]:
    """Compare a model with n-grams, with edit distance if it is asked for, and with combinations of them.

    The queries of `validation` choose the weights of combinations. `embed_texts` returns vectors of length 1.

    Returns:
        For each test the recall of each kind of search; the weight of the first of the two in each combination; how
        long each kind took for the queries of `test`, and the model for all `passages`; and the passage that the model
        and n-grams together find first, for each query of `test`.
    """
    recalls: dict[str, dict[str, dict[str, float]]] = {}
    weights: dict[str, float] = {}
    seconds: dict[str, float] = {}

    def timed(name: str, score: Callable[[], np.ndarray]) -> np.ndarray:
        start = time.perf_counter()
        scores = score()
        seconds[name] = round(time.perf_counter() - start, 3)  # the test is last
        return scores

    vectors = timed("passages", partial(embed_texts, passages))
    scorers = retrieval.make_scorers(passages, vectors, embed_texts, tuple(options.tfidf_sizes))
    if not options.edit_distance:
        del scorers[retrieval.EDITS]
    further = [name for name in queries if name not in ("validation", "test")]
    for name in ("validation", *further, "test"):
        asked = [query.text for query in queries[name]]
        kinds = {kind: timed(kind, partial(score, asked)) for kind, score in scorers.items()}
        if name == "validation":
            for combination, (one, other) in retrieval.COMBINATIONS.items():
                known = retrieval.combine_kinds(kinds, weights)
                if one in known and other in known:
                    weights[combination] = retrieval.choose_weight(known[one], known[other], queries[name])
            continue
        combined = retrieval.combine_kinds(kinds, weights)
        recalls[name] = retrieval.compare_recall(combined, queries[name], len(passages))
        found = retrieval.nearest(combined[retrieval.COMBINED], 1)[:, 0].tolist()
    return recalls, weights, seconds, found


def _print_longer(rows: Dataset, tokenizer: PreTrainedTokenizerBase, max_length: int) -> None:
    texts = list(dict.fromkeys([*rows["anchor"], *rows["positive"]]))
    lengths = tokenizer(texts, split_special_tokens=True, return_length=True, verbose=False).length
    longer = sum(length > max_length for length in lengths)
    if longer and PartialState().is_main_process:
        print(
            f"{longer:,} of {len(texts):,} training texts are longer than {max_length} tokens: their beginnings are "
            "trained on, but searches read them whole.",
            flush=True,
        )


if __name__ == "__main__":
    run_recipe(main)
