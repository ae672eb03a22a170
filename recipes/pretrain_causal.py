# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["atenta[recipes]"]
#
# [tool.uv.sources]
# atenta = { path = "..", editable = true }  # this clone; UV_NO_SOURCES=1 takes the package from an index
# ///
"""Pre-train a decoder to predict the next character (document 4; GPT: Radford et al., 2018).

By default it is trained on tales and novels of Machado de Assis. With --train_file and --validation_file (txt, or csv,
tsv, jsonl, parquet with a column `text`) or --dataset_name it is trained on your own texts. Documents are packed into
rows of --max_length tokens; attention does not cross from one document to another.
"""

import atenta.recipes.terminal  # noqa: F401  # first, because the others take seconds

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from transformers import EvalPrediction

from atenta.recipes.decoding.generation import continue_text
from atenta.recipes.option_annotations import FROM_1, Mark
from atenta.recipes.reading.load import describe_data, encode_rows, report_rows
from atenta.recipes.reading.records import printable
from atenta.recipes.tasks.documents import DocumentArguments, DocumentTask, collate_packed, load_documents, pack
from atenta.recipes.training.logit_reductions import nats_of_texts
from atenta.recipes.training.models import load_or_create
from atenta.recipes.training.options import RecipeArguments, StackArguments
from atenta.recipes.training.parsing import parse_arguments
from atenta.recipes.training.results import report_saved, save_run
from atenta.recipes.training.runs import run_recipe, start_run
from atenta.recipes.training.trainer import RecipeTrainer, check_metric

_START, _CONTINUED = 30, 100  # characters of the test that are continued at the end, and of what follows


@dataclass
class SampleArguments:
    """The text that the model writes after training."""

    _argument_group_name = "sample"

    prompt: Annotated[str, Mark.INCIDENTAL, "beginning of the sample"] = ""
    sample_length: Annotated[int, FROM_1, Mark.INCIDENTAL, "maximum number of characters sampled after it"] = 400


def main() -> None:
    """Read the texts, train, score, show a sample, save."""
    dataclasses = (DocumentArguments, StackArguments, SampleArguments, RecipeArguments)
    options = parse_arguments(*dataclasses, description=__doc__, default_config="pretrain_causal.yaml")
    run = start_run(*options)
    data, sizes, sample, training = options
    task = DocumentTask(sample_by=data.sample_by, block_size=sizes.max_length)
    check_metric(training, task.score([{"text": "a"}], [1.0]))
    splits = load_documents(data, training)
    tokenizer, model = load_or_create(sizes, DocumentTask.kind, "decoder", splits["train"]["text"])
    task.options["block_size"] = sizes.max_length  # a saved model may have fewer positions
    report = report_rows(splits, training, ["text"], tokenizer)
    packing = partial(pack, tokenizer=tokenizer, block_size=sizes.max_length)
    packed = encode_rows(splits, training, packing, data.preprocessing_num_workers)
    # The test in one process, as `atenta evaluate` reads it back: which documents share rows depends on the processes.
    packed |= encode_rows({"test": splits["test"]}, training, packing)
    packed = {name: rows.with_format("numpy") for name, rows in packed.items()}
    model.generation_config.max_length = sizes.max_length  # the default is 20
    model.config.task_specific_params = task.task_specific_params
    collator = partial(collate_packed, pad_token_id=tokenizer.pad_token_id, eos_token_id=tokenizer.eos_token_id)

    def compute_metrics(evaluated: EvalPrediction) -> dict[str, float]:
        return task.score(splits["validation"], [evaluated.predictions.sum()])

    trainer = RecipeTrainer(model, training, tokenizer, packed, collator, compute_metrics, nats_of_texts)
    trainer.fit(run)

    nats = trainer.predict(packed["test"]).predictions.sum()
    compared = task.compare(splits["test"], [nats], task.baselines(splits["train"]))
    # Every process generates: the model may be split over the processes.
    text = continue_text(trainer.model, tokenizer, sample.prompt, sample.sample_length, seed=training.seed)
    if trainer.is_world_process_zero():
        Path(training.output_dir, "sample.txt").write_text(text, encoding="utf-8")
        print(f"\n{printable(text)}", flush=True)
    fitting = sizes.max_length // 5  # a character has at most four tokens; some positions are left to continue in
    start = splits["test"][0]["text"].strip().partition("\n")[0][: min(_START, fitting)]
    length = min(_CONTINUED, sizes.max_length - len(tokenizer(start).input_ids))
    continued = continue_text(trainer.model, tokenizer, start, length, seed=None)
    save_run(trainer, scores=compared, about=describe_data(data, report))
    report_saved(trainer, start, continued, f"--max_new_tokens {length}")


if __name__ == "__main__":
    run_recipe(main)
