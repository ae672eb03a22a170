# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["atenta[recipes]"]
#
# [tool.uv.sources]
# atenta = { path = "..", editable = true }  # this clone; UV_NO_SOURCES=1 takes the package from an index
# ///
"""Fit pairwise feature aggregation (document 1) by counting: earlier tokens vote for the next one.

Without options the script reads tales and novels of Machado de Assis. With --train_file and --validation_file (txt, or
csv, tsv, jsonl, parquet with a column `text`) or --dataset_name it reads any texts. They are cut into documents, and
tokens vote only within their document. Of several distances the one with the best score on the validation texts is
kept. The test texts are scored once.
"""

import atenta.recipes.terminal  # noqa: F401  # first, because the others take seconds

import math
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import datasets
from huggingface_hub.errors import StrictDataclassError
from tqdm import tqdm
from transformers import PreTrainedTokenizerBase, TrainingArguments, logging

from atenta import AtentaDecoderConfig, AtentaPairVotesConfig, AtentaPairVotesForCausalLM
from atenta.engines.saved_model import load_config
from atenta.recipes.decoding.generation import continue_text
from atenta.recipes.option_annotations import FROM_1, SEED, one_of
from atenta.recipes.pictures.drawing import check_writable
from atenta.recipes.reading.load import describe_data, encode_rows
from atenta.recipes.reading.records import exit_on, printable
from atenta.recipes.reading.splits import Rows
from atenta.recipes.tasks.documents import DocumentArguments, UnitOption, encode_documents, load_documents
from atenta.recipes.token_levels import LEVELS, WITH_A_WORD, nats_by_votes
from atenta.recipes.training.cost import CostMeter, check_country
from atenta.recipes.training.options import CardLanguageOption, CardTitleOption, CountryOption
from atenta.recipes.training.parsing import parse_arguments
from atenta.recipes.training.results import describe_card, save_metrics_and_card, table
from atenta.recipes.training.runs import REPLACED, check_own_folder, run_recipe


@dataclass
class VoteDocumentArguments(DocumentArguments):
    """The texts, and the documents within which tokens vote."""

    sample_by: UnitOption = "paragraph"


@dataclass
class VoteArguments:
    """The model.

    Raises:
        ValueError: If a number is out of its range.
    """

    _argument_group_name = "model"

    level: Annotated[str, one_of(list(LEVELS)), "tokens of the model: characters or words"] = "characters"
    vocab_size: Annotated[int, WITH_A_WORD, "maximum number of word tokens; other words are <unk>"] = 30_000
    max_distance: Annotated[
        list[int], "largest distance of voting tokens; of several, the best on the validation texts is kept"
    ] = field(default_factory=lambda: [1])
    smoothing: Annotated[float, "weight of the token frequencies, in votes"] = 0.01

    def __post_init__(self) -> None:
        if not self.max_distance:
            raise ValueError("--max_distance is empty; expected at least one distance")
        try:
            for distance in self.max_distance:
                AtentaPairVotesConfig(max_distance=distance, smoothing=self.smoothing)
        except StrictDataclassError as error:
            raise ValueError(str(error.__cause__ or error)) from None


@dataclass
class RunArguments:
    """The output folder, the comparison and the sample.

    Raises:
        ValueError: If `compare_with` holds a model that is not a decoder, or the country is unknown.
    """

    _argument_group_name = "run"

    output_dir: Annotated[str, "folder of the model"] = "outputs/pair_votes"
    overwrite_output_dir: Annotated[bool, "replace the model in output_dir"] = False
    compare_with: Annotated[str, "folder of a decoder to score on the same documents"] = "outputs/pretrain_causal"
    prompt: Annotated[str, "start of the sample"] = ""
    sample_length: Annotated[int, FROM_1, "maximum number of tokens of the sample"] = 200
    seed: Annotated[int, SEED, "seed of the sample"] = 42
    card_language: CardLanguageOption = "en"
    card_title: CardTitleOption = None
    country_iso_code: CountryOption = None

    def __post_init__(self) -> None:
        check_country(self.country_iso_code)
        folder, expected = Path(self.compare_with), AtentaDecoderConfig.model_type
        if not (folder / "config.json").is_file():
            return
        try:
            found = load_config(folder).model_type
        except (OSError, ValueError) as error:
            raise ValueError(f"--compare_with {folder}: {error}") from None
        if found != expected:
            raise ValueError(f"--compare_with {folder}: found a model of type {found}; expected {expected}")


def main() -> None:
    """Read the texts, count votes, choose the distance, score, generate a sample and save."""
    dataclasses = (VoteDocumentArguments, VoteArguments, RunArguments)
    data, sizes, run = parse_arguments(*dataclasses, description=__doc__, default_config="fit_pair_votes.yaml")
    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    if data.streaming:
        raise SystemExit("--streaming: the texts are read several times, to count and to score; leave it out.")
    folder = Path(run.output_dir)
    found = next((path for pattern in (*REPLACED, "sample.txt") for path in sorted(folder.glob(pattern))), None)
    if found and not run.overwrite_output_dir:
        raise SystemExit(f"{found} is there already; give another --output_dir, or --overwrite_output_dir")
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise SystemExit("Votes are counted in one process: start it with `python`, without accelerate or torchrun.")
    check_own_folder(run.output_dir)
    with exit_on(ValueError):
        check_writable(folder)
    logging.disable_progress_bar()  # of saving and loading, which are instant here
    level, training = LEVELS[sizes.level], TrainingArguments(output_dir=run.output_dir, report_to="none")
    splits = load_documents(data, training)
    tokenizer = level.make_tokenizer(splits["train"]["text"], sizes.vocab_size)
    encode = partial(encode_documents, tokenizer=tokenizer)
    encoded = encode_rows(splits, training, encode, data.preprocessing_num_workers)
    rows = {name: of_split.with_format("numpy") for name, of_split in encoded.items()}
    level.describe(rows, tokenizer, training)

    meter = CostMeter(run.country_iso_code)
    meter.start()
    try:
        model, by_distance = _fit_best(sizes, rows, tokenizer)
    finally:
        meter.stop()
    model.config.task_specific_params = {"text-generation": {"sample_by": data.sample_by}}
    print(f"validation\n{table(by_distance)}\n", flush=True)

    test = rows["test"]
    nats = level.baseline_nats(rows["train"], test, tokenizer)
    nats["model"] = nats_by_votes(model, _shown(test["input_ids"], "test"))
    nats |= level.decoder_nats(run.compare_with, test)
    scores = {name: level.scores(of_name, test, tokenizer) for name, of_name in nats.items()}
    print(f"test (model: max_distance {model.config.max_distance})\n{table(scores)}\n", flush=True)

    sample = continue_text(model, tokenizer, run.prompt, run.sample_length, seed=run.seed)
    print(printable(sample), flush=True)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    (folder / "sample.txt").write_text(sample, encoding="utf-8")
    about = {
        **describe_data(data),
        "rows": {name: len(of_split) for name, of_split in rows.items()},
        "options": {"level": sizes.level, "sample_by": data.sample_by},
        **describe_card(run, meter),
    }
    save_metrics_and_card(folder, {"test": scores, "validation": by_distance, "card": about})
    print(f"\nSaved in {folder}")


def _fit_best(
    sizes: VoteArguments, rows: Mapping[str, Rows], tokenizer: PreTrainedTokenizerBase
) -> tuple[AtentaPairVotesForCausalLM, dict[str, dict[str, float]]]:
    """Fit a model for each distance. Return the one with the best validation score, and the scores of all."""
    special = {name: getattr(tokenizer, name) for name in ("pad_token_id", "bos_token_id", "eos_token_id")}
    best: AtentaPairVotesForCausalLM
    fewest, by_distance = math.inf, {}
    for distance in sizes.max_distance:
        config = AtentaPairVotesConfig(
            vocab_size=len(tokenizer), max_distance=distance, smoothing=sizes.smoothing, **special
        )
        documents = (row["input_ids"] for row in rows["train"])
        model = AtentaPairVotesForCausalLM(config).fit(_shown(documents, f"counting, distance {distance}", leave=True))
        nats = nats_by_votes(model, _shown(rows["validation"]["input_ids"], "validation"))
        by_distance[f"max_distance {distance}"] = LEVELS[sizes.level].scores(nats, rows["validation"], tokenizer)
        if nats < fewest:
            best, fewest = model, nats
    return best, by_distance  # type: ignore[return-value]  # there is at least one distance


def _shown(documents: Iterable[Any], what: str, leave: bool = False) -> Iterable[Any]:
    """Return documents that are counted on a terminal while they are read."""
    return tqdm(documents, desc=what, unit=" documents", leave=leave, disable=None)


if __name__ == "__main__":
    run_recipe(main)
