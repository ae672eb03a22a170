"""Pre-train a decoder on the next character (document 4; GPT: Radford et al., 2018).

Without options it reads tales and novels of Machado de Assis. With --train_file and --validation_file (txt, or csv,
tsv, jsonl, parquet with a column `text`) or --dataset_name it reads any texts. Documents are packed into rows of
--max_length tokens and do not see each other.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from transformers import AutoModelForCausalLM

from atenta import AtentaDecoderConfig, AtentaTokenizer
from atenta.recipes.baselines import uniform_characters, unigram_characters
from atenta.recipes.decoding.continuation import continue_text
from atenta.recipes.encoding.packing import collate_packed, pack
from atenta.recipes.metrics import scores
from atenta.recipes.reading import DocumentArguments, Rows, about, encode, inspect, load
from atenta.recipes.reading.documents import FEATURES, check, read_documents
from atenta.recipes.reporting.results import finish
from atenta.recipes.training import (
    RecipeArguments,
    RecipeTrainer,
    StackArguments,
    load_or_create,
    parse_arguments,
    start,
)
from atenta.recipes.training.evaluation import nats_of_texts


@dataclass
class SampleArguments:
    """What the model writes at the end, to be looked at."""

    _argument_group_name = "sample"

    prompt: str = field(default="", metadata={"help": "the sample goes on from this"})
    sample_length: int = field(default=400, metadata={"help": "characters of the sample"})


def main() -> None:
    """Read the texts, train, score, show a sample, save."""
    data, sizes, shown, training = options = parse_arguments(
        DocumentArguments,
        StackArguments,
        SampleArguments,
        RecipeArguments,
        description=__doc__,
        default_config="pretrain_causal.yaml",
    )
    checkpoint = start(*options)
    readers = {".txt": partial(read_documents, sample_by=data.sample_by)}
    splits = load(data, training, check=check, features=FEATURES, columns=["text"], readers=readers)
    tokenizer, model = load_or_create(
        sizes,
        AutoModelForCausalLM,
        AtentaDecoderConfig,
        lambda: AtentaTokenizer.from_texts(texts_of(splits["train"]), family="decoder"),
    )
    inspect(splits, training, ["text"], tokenizer)
    packed = encode(splits, training, partial(pack, tokenizer=tokenizer, block_size=sizes.max_length))
    model.generation_config.max_length = sizes.max_length  # the library stops at 20 unless told
    trainer = RecipeTrainer(
        model,
        training,
        tokenizer,
        packed,
        data_collator=partial(collate_packed, pad_token_id=tokenizer.pad_token_id),
        preprocess_logits_for_metrics=nats_of_texts,
        compute_metrics=lambda evaluated: bits(evaluated.predictions, whole(splits["validation"])),
    )
    trainer.fit(checkpoint)

    test = whole(splits["test"])
    compared = {
        "uniform characters": bits(uniform_characters(texts_of(splits["train"]), [test]), test),
        "unigram characters": bits(unigram_characters(texts_of(splits["train"]), [test]), test),
        "model": bits(trainer.predict(packed["test"]).predictions, test),
    }
    if trainer.is_world_process_zero():
        sample = continue_text(trainer.model, tokenizer, shown.prompt, shown.sample_length, seed=training.seed)
        Path(training.output_dir, "sample.txt").write_text(sample, encoding="utf-8")
        print(f"\n{sample}", flush=True)
    finish(trainer, scores=compared, about=about(data))


def texts_of(rows: Rows) -> Iterator[str]:
    """Yield the texts of rows, one at a time."""
    return (row["text"] for row in rows)


def whole(rows: Rows) -> str:
    """Join the documents of a split; each one's end, which is predicted too, counts as a character."""
    return "\n".join(texts_of(rows))


def bits(nats: Sequence[float], text: str) -> dict[str, float]:
    """Return bits per character and perplexities of a text whose parts surprise by so many nats."""
    return scores(["bits_per_character"], predictions=[float(sum(nats))], references=[text])


if __name__ == "__main__":
    main()
