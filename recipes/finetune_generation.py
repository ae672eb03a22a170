"""Fine-tune a decoder, or train a new one, to answer prompts: the loss is on the answer only (document 4).

Without options it learns the plays of Machado de Assis: some speeches are the prompt, the next one is the answer.
With --train_file and --validation_file (tsv, csv, jsonl, parquet with columns `prompt` and `answer`) or --dataset_name
it learns any prompts. Give --model_name_or_path a decoder of pretrain_causal.py to go on from.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from transformers import AutoModelForCausalLM, DataCollatorForSeq2Seq

from atenta import AtentaDecoderConfig, AtentaTokenizer
from atenta.recipes.baselines import uniform_characters, unigram_characters
from atenta.recipes.decoding.continuation import continue_text
from atenta.recipes.encoding.prompts import SEPARATOR, encode_prompts
from atenta.recipes.metrics import scores
from atenta.recipes.reading import DataArguments, Rows, about, encode, inspect, load
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
from atenta.recipes.training.evaluation import nats_of_texts

SHOWN, LONGEST_SHOWN = 5, 200  # prompts answered at the end, to be looked at, and characters of such an answer


def main() -> None:
    """Read prompts and answers, train, score, answer some, save."""
    data, sizes, training = options = parse_arguments(
        DataArguments, StackArguments, RecipeArguments, description=__doc__, default_config="dialogue.yaml"
    )
    checkpoint = start(*options)
    splits = load(data, training, check=check, features=FEATURES, columns=["prompt", "answer"])
    tokenizer, model = load_or_create(
        sizes,
        AutoModelForCausalLM,
        AtentaDecoderConfig,
        lambda: AtentaTokenizer.from_texts(
            (row["prompt"] + "\n" + row["answer"] for row in splits["train"]), family="decoder"
        ),
    )
    inspect(splits, training, ["prompt", "answer"], tokenizer)
    encoded = encode(splits, training, partial(encode_prompts, tokenizer=tokenizer, max_length=sizes.max_length))
    model.generation_config.max_length = sizes.max_length  # the library stops at 20 unless told
    trainer = RecipeTrainer(
        model,
        training,
        tokenizer,
        encoded,
        data_collator=DataCollatorForSeq2Seq(tokenizer),
        preprocess_logits_for_metrics=nats_of_texts,
        compute_metrics=lambda evaluated: bits(evaluated.predictions, list(answers_of(splits["validation"]))),
    )
    trainer.fit(checkpoint)

    asked = list(splits["test"]["answer"])
    compared = {
        "uniform characters": bits(uniform_characters(answers_of(splits["train"]), asked), asked),
        "unigram characters": bits(unigram_characters(answers_of(splits["train"]), asked), asked),
        "model": bits(trainer.predict(encoded["test"]).predictions, asked),
    }
    if trainer.is_world_process_zero():
        for row in splits["test"].take(SHOWN):
            prompt = row["prompt"] + SEPARATOR
            told = continue_text(trainer.model, tokenizer, prompt, LONGEST_SHOWN, seed=training.seed)
            print(f"\n{told}\n  (in the data: {row['answer']})", flush=True)
    finish(trainer, scores=compared, about=about(data))


def answers_of(rows: Rows) -> Iterator[str]:
    """Yield the answers of rows, one at a time."""
    return (row["answer"] for row in rows)


def bits(nats: Sequence[float], answers: Sequence[str]) -> dict[str, float]:
    """Return bits per character and perplexities of answers that surprise by so many nats each, ends included."""
    return scores(["bits_per_character"], predictions=list(nats), references=list(answers))


if __name__ == "__main__":
    main()
