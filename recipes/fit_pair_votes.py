"""Fit the aggregation of pairwise features (document 1) by counting: earlier tokens vote for the next one.

Without options it reads tales and novels of Machado de Assis. With --train_file and --validation_file (txt, or csv,
tsv, jsonl, parquet with a column `text`) or --dataset_name it reads any texts. They are cut into documents, across
which no vote reaches. The validation texts choose how far back votes come from, the test texts are scored once.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from huggingface_hub.errors import StrictDataclassError
from tqdm import tqdm
from transformers import PreTrainedTokenizerBase, TrainingArguments, logging

from atenta import AtentaDecoderConfig, AtentaPairVotesConfig, AtentaPairVotesForCausalLM
from atenta.card import write_model_card
from atenta.recipes.decoding.continuation import continue_text
from atenta.recipes.encoding.documents import encode_documents
from atenta.recipes.encoding.word_level import expect_room_for_words
from atenta.recipes.reading import DocumentArguments, Rows, about, encode, load_documents
from atenta.recipes.reporting.tables import table, write_metrics
from atenta.recipes.training import parse_arguments
from atenta.recipes.training.levels import LEVELS
from atenta.recipes.training.scoring import nats_by_votes


@dataclass
class VoteDocumentArguments(DocumentArguments):
    """Which texts are read, and what no vote reaches across."""

    sample_by: str = field(
        default="paragraph",
        metadata={"help": "what is a document: document (a whole text), paragraph, line, sentence"},
    )


@dataclass
class VoteArguments:
    """The model.

    Raises:
        ValueError: an unknown level, or a number out of its range.
    """

    _argument_group_name = "model"

    level: str = field(default="characters", metadata={"help": "what is a token: characters or words"})
    vocab_size: int = field(default=30_000, metadata={"help": "most tokens where they are words; the others: <unk>"})
    max_distance: list[int] = field(
        default_factory=lambda: [1],
        metadata={"help": "how many tokens back votes come from; of several the best on the validation texts is kept"},
    )
    smoothing: float = field(default=0.01, metadata={"help": "weight of the tokens' frequencies, in votes"})

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise ValueError(f"--level {self.level}: expected one of {', '.join(LEVELS)}")
        expect_room_for_words(self.vocab_size)
        try:
            for distance in self.max_distance:
                AtentaPairVotesConfig(max_distance=distance, smoothing=self.smoothing)
        except StrictDataclassError as error:
            raise ValueError(str(error.__cause__ or error)) from None


@dataclass
class RunArguments:
    """What the run leaves, and shows at its end.

    Raises:
        ValueError: `sample_length` is below 1, or `compare_with` holds a model that is no decoder.
    """

    _argument_group_name = "run"

    output_dir: str = field(default="outputs/pair_votes", metadata={"help": "folder of the model"})
    overwrite_output_dir: bool = field(default=False, metadata={"help": "replace the model that is there"})
    compare_with: str = field(
        default="outputs/pretrain_causal", metadata={"help": "folder of a decoder to score on the same documents"}
    )
    prompt: str = field(default="", metadata={"help": "the sample goes on from this"})
    sample_length: int = field(default=200, metadata={"help": "tokens of the sample"})
    seed: int = field(default=42, metadata={"help": "of the sample"})

    def __post_init__(self) -> None:
        if self.sample_length < 1:
            raise ValueError(f"--sample_length is {self.sample_length}; expected 1 or more")
        config, expected = Path(self.compare_with, "config.json"), AtentaDecoderConfig.model_type
        if (
            config.is_file()
            and (found := json.loads(config.read_text(encoding="utf-8")).get("model_type")) != expected
        ):
            raise ValueError(f"--compare_with {self.compare_with}: found a model of type {found}; expected {expected}")


def main() -> None:
    """Read the texts, count, choose, score, show a sample, save."""
    dataclasses = (VoteDocumentArguments, VoteArguments, RunArguments)
    data, sizes, run = parse_arguments(*dataclasses, description=__doc__, default_config="fit_pair_votes.yaml")
    if Path(run.output_dir, "config.json").is_file() and not run.overwrite_output_dir:
        raise SystemExit(f"{run.output_dir} holds a model: give another --output_dir, or --overwrite_output_dir.")
    logging.disable_progress_bar()  # those of saving and loading, which take no time here
    level, training = LEVELS[sizes.level], TrainingArguments(output_dir=run.output_dir, report_to="none")
    splits = load_documents(data, training)
    tokenizer = level.make_tokenizer(splits["train"]["text"], sizes.vocab_size)
    from_bos_to_eos = partial(encode_documents, tokenizer=tokenizer)
    encoded = encode(splits, training, from_bos_to_eos, data.preprocessing_num_workers)
    rows = {name: of_split.with_format("numpy") for name, of_split in encoded.items()}
    level.describe(rows, tokenizer, training)

    model, by_distance = choose(sizes, rows, tokenizer)
    print(f"validation\n{table(by_distance)}\n", flush=True)

    test = rows["test"]
    nats = level.baselines(rows["train"], test, tokenizer)
    nats |= {"model": nats_by_votes(model, tqdm(test["input_ids"], desc="test", unit=" documents", leave=False))}
    nats |= level.decoders(run.compare_with, test)
    scores = {name: level.figures(of_name, test, tokenizer) for name, of_name in nats.items()}
    print(f"test (model: max_distance {model.config.max_distance})\n{table(scores)}\n", flush=True)

    sample = continue_text(model, tokenizer, run.prompt, run.sample_length, seed=run.seed)
    print(sample, flush=True)
    folder = Path(run.output_dir)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    (folder / "sample.txt").write_text(sample, encoding="utf-8")
    write_model_card(folder, model, model_name=folder.as_posix(), scores=scores["model"], **about(data))
    write_metrics(folder / "metrics.json", {"test": scores, "validation": by_distance})
    print(f"\nSaved in {folder}")


def choose(
    sizes: VoteArguments, rows: Mapping[str, Rows], tokenizer: PreTrainedTokenizerBase
) -> tuple[AtentaPairVotesForCausalLM, dict[str, dict[str, float]]]:
    """Count once for each distance, and return the model that foresees the validation rows best, and all scores."""
    best, fewest, by_distance = None, math.inf, {}
    for distance in sizes.max_distance:
        model = fit(rows["train"], tokenizer, distance, sizes.smoothing)
        nats = nats_by_votes(
            model, tqdm(rows["validation"]["input_ids"], desc="validation", unit=" documents", leave=False)
        )
        by_distance[f"max_distance {distance}"] = LEVELS[sizes.level].figures(nats, rows["validation"], tokenizer)
        if nats < fewest:
            best, fewest = model, nats
    return best, by_distance


def fit(
    rows: Rows, tokenizer: PreTrainedTokenizerBase, max_distance: int, smoothing: float
) -> AtentaPairVotesForCausalLM:
    """Count the votes of documents, read one by one."""
    special = {name: getattr(tokenizer, name) for name in ("pad_token_id", "bos_token_id", "eos_token_id")}
    config = AtentaPairVotesConfig(
        vocab_size=len(tokenizer), max_distance=max_distance, smoothing=smoothing, **special
    )
    documents = tqdm((row["input_ids"] for row in rows), desc=f"counting, distance {max_distance}", unit=" documents")
    return AtentaPairVotesForCausalLM(config).fit(documents)


if __name__ == "__main__":
    main()
