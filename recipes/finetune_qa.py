"""Fine-tune an encoder, or train a new one, to find the answer to a question in a text (document 5).

Without options it learns FaQuAD (Sayama et al., 2019), questions on Brazilian universities. With --train_file and
--validation_file (SQuAD JSON) or --dataset_name it learns any such questions. A context that is too long is read in
windows that overlap by --stride characters, and answers are cut from the context as it stands.
"""

from dataclasses import dataclass, field
from functools import partial

from transformers import AutoModelForQuestionAnswering, DataCollatorWithPadding, EvalPrediction

from atenta.recipes.baselines import random_spans
from atenta.recipes.encoding.questions import answers_from_logits, encode_questions
from atenta.recipes.metrics import scores
from atenta.recipes.reading import DataArguments, Rows, about, encode, inspect, load
from atenta.recipes.reading.questions import FEATURES, check
from atenta.recipes.reading.squad import read_squad
from atenta.recipes.reporting.results import finish
from atenta.recipes.training import (
    RecipeArguments,
    RecipeTrainer,
    StackArguments,
    load_or_create,
    parse_arguments,
    start,
)


@dataclass
class QuestionArguments(DataArguments):
    """Which questions are read, and how far an answer may reach."""

    stride: int = field(default=128, metadata={"help": "tokens that a window of the context shares with the next"})
    max_answer_length: int = field(default=100, metadata={"help": "most tokens of an answer that is given"})


def main() -> None:
    """Read the questions, train, score, save."""
    dataclasses = (QuestionArguments, StackArguments, RecipeArguments)
    data, sizes, training = parse_arguments(*dataclasses, description=__doc__, default_config="faquad.yaml")
    checkpoint = start(data, sizes, training)
    splits = load(
        data, training, check=check, features=FEATURES, columns=list(FEATURES)[:4], readers={".json": read_squad}
    )
    if training.process_index == 0:
        for name, rows in splits.items():
            print(f"{name}: {sum(rows['mended']):,} answers stood elsewhere, and were mended", flush=True)
    texts = (row["question"] + row["context"] for row in splits["train"])
    tokenizer, model = load_or_create(sizes, AutoModelForQuestionAnswering, "encoder", texts)
    inspect(splits, training, ["question", "context"], tokenizer)
    window = partial(encode_questions, tokenizer=tokenizer, max_length=sizes.max_length, stride=data.stride)
    windows = encode(splits, training, window, data.preprocessing_num_workers)

    def answer(evaluated: EvalPrediction, name: str) -> list[str]:
        return answers_from_logits(*evaluated.predictions, windows[name], splits[name], data.max_answer_length)

    def measure(evaluated: EvalPrediction) -> dict[str, float]:
        return compare(answer(evaluated, "validation"), splits["validation"])

    trainer = RecipeTrainer(model, training, tokenizer, windows, DataCollatorWithPadding(tokenizer), measure)
    trainer.fit(checkpoint)

    output = answer(trainer.predict(windows["test"]), "test")
    compared = {
        "random span": compare(random_spans(splits["train"], splits["test"], training.seed), splits["test"]),
        "model": compare(output, splits["test"]),
    }
    gold = [" | ".join(answers["text"]) for answers in splits["test"]["answers"]]
    predictions = {"question": splits["test"]["question"], "output": output, "gold": gold}
    finish(trainer, scores=compared, predictions=predictions, about=about(data))


def compare(output: list[str], rows: Rows) -> dict[str, float]:
    """Score answers against all that are accepted."""
    return scores(["squad"], predictions=output, references=[answers["text"] for answers in rows["answers"]])


if __name__ == "__main__":
    main()
