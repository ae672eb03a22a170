# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["atenta[recipes]"]
#
# [tool.uv.sources]
# atenta = { path = "..", editable = true }  # this clone; UV_NO_SOURCES=1 takes the package from an index
# ///
"""Fine-tune a decoder, or train a new one, to answer prompts; the loss is computed on the answer only (document 4).

By default the decoder of pretrain_causal.py is trained on the plays of Machado de Assis: the prompt is a few speeches
and the answer is the next one. With --train_file and --validation_file (tsv, csv, jsonl, parquet with columns `prompt`
and `answer`) or --dataset_name it is trained on your own prompts; --config prompts.yaml has options for a new decoder
that learns from some hundred of them alone.
"""

import atenta.recipes.terminal  # noqa: F401  # first, because the others take seconds

from functools import partial
from pathlib import Path

from transformers import DataCollatorForSeq2Seq, EvalPrediction

from atenta.recipes.decoding.generation import continue_text
from atenta.recipes.reading.load import describe_data, encode_rows, load_rows, report_rows
from atenta.recipes.reading.records import printable
from atenta.recipes.reading.splits import DataArguments
from atenta.recipes.tasks.prompts import CHAT_TEMPLATE, SEPARATOR, PromptTask, encode_prompts
from atenta.recipes.training.logit_reductions import nats_of_texts
from atenta.recipes.training.models import load_or_create
from atenta.recipes.training.options import RecipeArguments, StackArguments
from atenta.recipes.training.parsing import parse_arguments
from atenta.recipes.training.results import report_saved, save_run
from atenta.recipes.training.runs import run_recipe, start_run
from atenta.recipes.training.trainer import RecipeTrainer, check_metric

_DEFAULT_DECODER = "outputs/pretrain_causal"
_EXAMPLES = 5  # test prompts answered at the end
_EXAMPLE_LENGTH = 200  # maximum number of characters in such an answer
_LONGEST_EXAMPLE = 100  # characters of a prompt on the card


def main() -> None:
    """Read prompts and answers, train, score, answer some prompts, save."""
    dataclasses = (DataArguments, StackArguments, RecipeArguments)
    data, sizes, training = parse_arguments(*dataclasses, description=__doc__, default_config="dialogue.yaml")
    _check_decoder(sizes.model_name_or_path)
    run = start_run(data, sizes, training)
    task = PromptTask(separator=SEPARATOR, max_length=sizes.max_length)
    check_metric(training, task.score([{"answer": "a"}], [1.0]))
    splits = load_rows(data, training, task.row_format)
    texts = (row["prompt"] + SEPARATOR + row["answer"] for row in splits["train"])
    tokenizer, model = load_or_create(sizes, PromptTask.kind, "decoder", texts)
    task.options["max_length"] = sizes.max_length  # a saved model may have fewer positions
    tokenizer.chat_template = CHAT_TEMPLATE
    report = report_rows(splits, training, ["prompt", "answer"], tokenizer)
    encode = partial(encode_prompts, tokenizer=tokenizer, max_length=sizes.max_length)
    encoded = encode_rows(splits, training, encode, data.preprocessing_num_workers)
    model.generation_config.max_length = sizes.max_length  # the default is 20
    model.config.task_specific_params = task.task_specific_params
    collator = DataCollatorForSeq2Seq(tokenizer)

    def compute_metrics(evaluated: EvalPrediction) -> dict[str, float]:
        return task.score(splits["validation"], evaluated.predictions)

    trainer = RecipeTrainer(model, training, tokenizer, encoded, collator, compute_metrics, nats_of_texts)
    trainer.fit(run)

    nats = trainer.predict(encoded["test"]).predictions
    compared = task.compare(splits["test"], nats, task.baselines(splits["train"]))
    for row in splits["test"].select(range(min(_EXAMPLES, len(splits["test"])))):
        prompt = row["prompt"] + SEPARATOR
        # Every process generates: the model may be split over the processes.
        text = continue_text(trainer.model, tokenizer, prompt, _EXAMPLE_LENGTH, seed=training.seed)
        if trainer.is_world_process_zero():
            print(printable(f"\n{text}\n  (in the data: {row['answer']})"), flush=True)
    alphabet = tokenizer.get_vocab().keys()
    prompts = (row["prompt"] for row in splits["test"])
    example = next((each for each in prompts if len(each) < _LONGEST_EXAMPLE and alphabet >= {*each}), None)
    shown = splits["test"][0]["prompt"] if example is None else example
    prompt = shown + SEPARATOR
    rest = sizes.max_length - len(tokenizer(prompt, split_special_tokens=True).input_ids)
    text = continue_text(trainer.model, tokenizer, prompt, rest, seed=None)
    save_run(trainer, scores=compared, about={"example": example, **describe_data(data, report)})
    report_saved(trainer, shown, text.removeprefix(prompt))


def _check_decoder(name: str | None) -> None:
    if name == _DEFAULT_DECODER and not Path(name, "config.json").is_file():
        raise SystemExit(
            f"--model_name_or_path {name}: found no config.json; expected the folder of a decoder. "
            "`python recipes/pretrain_causal.py` saves one there; `--config prompts.yaml` trains a new one on "
            "your own --train_file"
        )


if __name__ == "__main__":
    run_recipe(main)
