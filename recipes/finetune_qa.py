# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["atenta[recipes]"]
#
# [tool.uv.sources]
# atenta = { path = "..", editable = true }  # this clone; UV_NO_SOURCES=1 takes the package from an index
# ///
"""Fine-tune an encoder, or train a new one, to find the answer to a question in a text (document 5).

By default it is trained on FaQuAD (Sayama et al., 2019), questions on Brazilian universities. With --train_file and
--validation_file (SQuAD JSON) or --dataset_name it is trained on your own questions. A context that is too long is
read in windows that overlap by --stride characters. Answers are cut from the unchanged context.
"""

import atenta.recipes.terminal  # noqa: F401  # first, because the others take seconds

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from transformers import DataCollatorWithPadding, EvalPrediction

from atenta.recipes.option_annotations import FROM_0, FROM_1, Mark
from atenta.recipes.reading.load import describe_data, encode_rows, load_rows, report_rows
from atenta.recipes.reading.splits import DataArguments
from atenta.recipes.tasks.questions import (
    QUESTIONS,
    QuestionTask,
    answers_from_logits,
    count_lost_answers,
    encode_questions,
)
from atenta.recipes.training.models import load_or_create
from atenta.recipes.training.options import EncoderArguments, RecipeArguments
from atenta.recipes.training.parsing import parse_arguments
from atenta.recipes.training.results import report_saved, save_run
from atenta.recipes.training.runs import run_recipe, start_run
from atenta.recipes.training.trainer import RecipeTrainer, check_metric


@dataclass
class QuestionArguments(DataArguments):
    """Data of questions, windows of their contexts, and the length of answers."""

    stride: Annotated[int, FROM_0, "number of tokens by which windows of a context overlap"] = 128
    max_answer_length: Annotated[int, FROM_1, Mark.AFTER_TRAINING, "maximum number of tokens in an answer"] = 100
    align_to_words: Annotated[
        bool,
        Mark.AFTER_TRAINING,
        "answers begin and end with whole words or signs; not for languages written without spaces",
    ] = True


def main() -> None:
    """Read the questions, train, score, save."""
    dataclasses = (QuestionArguments, EncoderArguments, RecipeArguments)
    data, sizes, training = parse_arguments(*dataclasses, description=__doc__, default_config="faquad.yaml")
    run = start_run(data, sizes, training)
    splits = load_rows(data, training, QUESTIONS)
    if training.process_index == 0:
        for name, rows in splits.items():
            print(f"{name}: corrected the positions of {sum(rows['corrected']):,} answers", flush=True)
    texts = (row["question"] + row["context"] for row in splits["train"])
    tokenizer, model = load_or_create(sizes, QuestionTask.kind, "encoder", texts)
    task = QuestionTask(
        max_seq_len=sizes.max_length,
        doc_stride=data.stride,
        max_answer_len=data.max_answer_length,
        align_to_words=data.align_to_words,
    )
    model.config.task_specific_params = task.task_specific_params
    report = report_rows(splits, training, ["question", "context"], tokenizer)
    encode = partial(encode_questions, tokenizer=tokenizer, max_length=sizes.max_length, stride=data.stride)
    windows = encode_rows(splits, training, encode, data.preprocessing_num_workers)
    if training.process_index == 0:
        for name, of_split in windows.items():
            if data.streaming and name == "train":  # encoded while it is trained on
                continue
            positions = of_split.select_columns(["example_id", "start_positions", "end_positions"])
            outside, longer = count_lost_answers(positions, data.max_answer_length)
            print(
                f"{name}: answers that no window holds, read as no answer: {outside:,} (--stride {data.stride}); that "
                f"are too long to be found: {longer:,} (--max_answer_length {data.max_answer_length})",
                flush=True,
            )

    def read_answers(evaluated: EvalPrediction, split: str) -> list[str]:
        start_logits, end_logits = evaluated.predictions
        of_split = windows[split], splits[split]
        return answers_from_logits(start_logits, end_logits, *of_split, data.max_answer_length, data.align_to_words)

    def compute_metrics(evaluated: EvalPrediction) -> dict[str, float]:
        return task.score(splits["validation"], read_answers(evaluated, "validation"))

    check_metric(training, task.score(splits["validation"], [""] * len(splits["validation"])))
    trainer = RecipeTrainer(model, training, tokenizer, windows, DataCollatorWithPadding(tokenizer), compute_metrics)
    trainer.fit(run)

    output = read_answers(trainer.predict(windows["test"]), "test")
    compared = task.compare(splits["test"], output, task.baselines(splits["train"], training.seed))
    gold = [" | ".join(answers["text"]) for answers in splits["test"]["answers"]]
    predictions = {"question": splits["test"]["question"], "output": output, "gold": gold}
    save_run(trainer, scores=compared, predictions=predictions, about=describe_data(data, report))
    report_saved(trainer)


if __name__ == "__main__":
    run_recipe(main)
