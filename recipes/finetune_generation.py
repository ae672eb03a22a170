"""Fine-tune a decoder, or train a new one, to answer prompts: the loss is on the answer only (document 4).

Without options it learns the plays of Machado de Assis: some speeches are the prompt, the next one is the answer.
With --train_file and --validation_file (tsv, csv, jsonl, parquet with columns `prompt` and `answer`) or --dataset_name
it learns any prompts. Give --model_name_or_path a decoder of pretrain_causal.py to go on from.
"""

from functools import partial

from transformers import AutoModelForCausalLM, DataCollatorForSeq2Seq, EvalPrediction

from atenta.recipes.decoding.continuation import continue_text
from atenta.recipes.encoding.prompts import SEPARATOR, encode_prompts
from atenta.recipes.reading import DataArguments, about, encode, inspect, load
from atenta.recipes.reading.prompts import FEATURES, check
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

SHOWN, LONGEST_SHOWN = 5, 200  # prompts answered at the end, to be looked at, and characters of such an answer


def main() -> None:
    """Read prompts and answers, train, score, answer some, save."""
    dataclasses = (DataArguments, StackArguments, RecipeArguments)
    data, sizes, training = parse_arguments(*dataclasses, description=__doc__, default_config="dialogue.yaml")
    checkpoint = start(data, sizes, training)
    splits = load(data, training, check=check, features=FEATURES, columns=["prompt", "answer"])
    texts = (row["prompt"] + SEPARATOR + row["answer"] for row in splits["train"])
    tokenizer, model = load_or_create(sizes, AutoModelForCausalLM, "decoder", texts)
    inspect(splits, training, ["prompt", "answer"], tokenizer)
    join = partial(encode_prompts, tokenizer=tokenizer, max_length=sizes.max_length)
    encoded = encode(splits, training, join, data.preprocessing_num_workers)
    model.generation_config.max_length = sizes.max_length  # the library stops at 20 unless told

    def measure(evaluated: EvalPrediction) -> dict[str, float]:
        return bits(evaluated.predictions, splits["validation"]["answer"])

    collator = DataCollatorForSeq2Seq(tokenizer)
    trainer = RecipeTrainer(model, training, tokenizer, encoded, collator, measure, nats_of_texts)
    trainer.fit(checkpoint)

    nats = trainer.predict(encoded["test"]).predictions
    compared = beside_characters(nats, splits["train"]["answer"], splits["test"]["answer"])
    for row in splits["test"].select(range(min(SHOWN, len(splits["test"])))):
        prompt = row["prompt"] + SEPARATOR
        # Every process writes it: where they share the model, each has a part of it.
        told = continue_text(trainer.model, tokenizer, prompt, LONGEST_SHOWN, seed=training.seed)
        if trainer.is_world_process_zero():
            print(f"\n{told}\n  (in the data: {row['answer']})", flush=True)
    finish(trainer, scores=compared, about=about(data))


if __name__ == "__main__":
    main()
