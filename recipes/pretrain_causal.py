"""Pre-train a decoder on the next character (document 4; GPT: Radford et al., 2018).

Without options it reads tales and novels of Machado de Assis. With --train_file and --validation_file (txt, or csv,
tsv, jsonl, parquet with a column `text`) or --dataset_name it reads any texts. Documents are packed into rows of
--max_length tokens and do not see each other.
"""

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from transformers import AutoModelForCausalLM, EvalPrediction

from atenta.recipes.decoding.continuation import continue_text
from atenta.recipes.encoding.packing import collate_packed, pack
from atenta.recipes.reading import DocumentArguments, Rows, about, encode, inspect, load_documents
from atenta.recipes.reporting.results import finish
from atenta.recipes.training import (
    RecipeArguments,
    RecipeTrainer,
    StackArguments,
    load_or_create,
    parse_arguments,
    start,
)
from atenta.recipes.training.evaluation import beside_characters, bits, nats_of_texts


@dataclass
class SampleArguments:
    """What the model writes at the end, to be looked at."""

    _argument_group_name = "sample"

    prompt: str = field(default="", metadata={"help": "the sample goes on from this"})
    sample_length: int = field(default=400, metadata={"help": "characters of the sample"})


def main() -> None:
    """Read the texts, train, score, show a sample, save."""
    dataclasses = (DocumentArguments, StackArguments, SampleArguments, RecipeArguments)
    options = parse_arguments(*dataclasses, description=__doc__, default_config="pretrain_causal.yaml")
    checkpoint = start(*options)
    data, sizes, shown, training = options
    splits = load_documents(data, training)
    tokenizer, model = load_or_create(sizes, AutoModelForCausalLM, "decoder", splits["train"]["text"])
    inspect(splits, training, ["text"], tokenizer)
    packing = partial(pack, tokenizer=tokenizer, block_size=sizes.max_length)
    packed = encode(splits, training, packing, data.preprocessing_num_workers)
    packed = {name: rows.with_format("numpy") for name, rows in packed.items()}
    model.generation_config.max_length = sizes.max_length  # the library stops at 20 unless told
    collator = partial(collate_packed, pad_token_id=tokenizer.pad_token_id, eos_token_id=tokenizer.eos_token_id)

    def measure(evaluated: EvalPrediction) -> dict[str, float]:
        return bits([evaluated.predictions.sum()], [whole(splits["validation"])])

    trainer = RecipeTrainer(model, training, tokenizer, packed, collator, measure, nats_of_texts)
    trainer.fit(checkpoint)

    nats = trainer.predict(packed["test"]).predictions.sum()
    compared = beside_characters([nats], splits["train"]["text"], [whole(splits["test"])])
    # Every process writes it: where they share the model, each has a part of it.
    sample = continue_text(trainer.model, tokenizer, shown.prompt, shown.sample_length, seed=training.seed)
    if trainer.is_world_process_zero():
        Path(training.output_dir, "sample.txt").write_text(sample, encoding="utf-8")
        print(f"\n{sample}", flush=True)
    finish(trainer, scores=compared, about=about(data))


def whole(rows: Rows) -> str:
    """Join the documents of a split, which are packed together; each one's end, predicted too, is a character."""
    return "\n".join(rows["text"])


if __name__ == "__main__":
    main()
