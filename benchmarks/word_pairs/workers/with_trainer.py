"""Trains ours by its recipe, or transformers' BART of the same size with `Seq2SeqTrainer`, and decodes the test."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import partial
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import Any

import datasets
import numpy as np
import torch
from job import Job, finish, read_job
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    BartConfig,
    BartForConditionalGeneration,
    DataCollatorForSeq2Seq,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    TrainerCallback,
    set_seed,
    trainer,
)

from atenta import AtentaTokenizer
from atenta.recipes.tasks.task import distinct_names
from atenta.recipes.tasks.transduction import check_pair, encode_pairs

_STEPS = 1_000_000  # of a schedule that follows the clock: only its fineness
_WARMUP = 0.1  # of the time, as recipes do if they are not told otherwise
_LONGEST = 128  # positions of BART, which it has to be told
# Options of our configuration that transformers' own Trainer has too. It has no Muon.
_OF_TRAINER = {field.name for field in fields(Seq2SeqTrainingArguments)} - {"optim"}


class Clock(TrainerCallback):
    """Ends a training after some seconds, and lets its schedule of learning rates follow the clock.

    The schedule is that of a run of `max_steps` steps, of which the share is done that the time is: it ends with the
    time, however fast the machine is.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.started = self.ended = 0.0

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Start the clock."""
        self.started = perf_counter()

    def on_step_begin(self, args: Any, state: Any, control: Any, lr_scheduler: Any = None, **kwargs: Any) -> None:
        """Move the schedule to the time; the step after this adds one."""
        share = min(1.0, (perf_counter() - self.started) / self.seconds)
        lr_scheduler.last_epoch = round(share * state.max_steps) - 1

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """End the training if the time is over, with an evaluation, as each epoch has one already."""
        if perf_counter() - self.started >= self.seconds:
            control.should_training_stop = True
            if args.eval_strategy == "steps":
                control.should_evaluate = control.should_save = True

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Stop the clock."""
        self.ended = perf_counter()


def train_ours(job: Job, clock: Clock) -> tuple[PreTrainedTokenizerBase, PreTrainedModel]:
    """Run our recipe with its configuration, whose length alone is changed, and load what it saved."""
    from atenta.recipes import seq2seq

    trainer.DEFAULT_CALLBACKS.append(clock)  # the recipe makes its trainer itself
    folder = Path(job.folder) / "model"
    options = {
        "config": job.config,
        **{f"{split}_file": getattr(job, split) for split in ("train", "validation", "test")},
        "max_steps": _STEPS,
        "warmup_steps": _WARMUP,
        "seed": job.seed,
        "output_dir": folder,
        "use_cpu": "true",  # as the others, also where there is a GPU
    }
    sys.argv = ["recipes/seq2seq.py", *(str(each) for name, value in options.items() for each in (f"--{name}", value))]
    seq2seq.main()
    return AutoTokenizer.from_pretrained(folder), AutoModelForSeq2SeqLM.from_pretrained(folder)


def train_bart(job: Job, clock: Clock) -> tuple[PreTrainedTokenizerBase, PreTrainedModel]:
    """Train a BART with random weights and the sizes of ours, with its options as far as the Trainer has them."""
    set_seed(job.seed)
    rows = {split: _read(job, split) for split in ("train", "validation")}
    tokenizer = AtentaTokenizer.from_texts(
        (row["source"] + row["target"] for row in rows["train"]),
        family="encoder-decoder",
        tags=distinct_names(chain(*rows.values(), _read(job, "test")), "tags"),
        targets=(row["target"] for row in rows["train"]),
        target_separator=job.separator,
    )
    sizes = job.options
    config = BartConfig(
        vocab_size=len(tokenizer),
        d_model=sizes["hidden_size"],
        encoder_attention_heads=sizes["num_attention_heads"],
        decoder_attention_heads=sizes["num_attention_heads"],
        encoder_ffn_dim=sizes["intermediate_size"],
        decoder_ffn_dim=sizes["intermediate_size"],
        **{name: sizes[name] for name in ("encoder_layers", "decoder_layers", "dropout")},
        init_std=sizes["initializer_range"],  # with the default, models this narrow learn nothing in two minutes
        max_position_embeddings=_LONGEST,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        decoder_start_token_id=tokenizer.bos_token_id,
        forced_eos_token_id=None,
    )
    model = BartForConditionalGeneration(config)
    encoded = {split: datasets.Dataset.from_dict(_encode(of_split, tokenizer)) for split, of_split in rows.items()}
    model.generation_config.max_length = 2 * max(len(ids) for split in encoded.values() for ids in split["labels"])
    mean_length = np.mean([len(row["input_ids"]) + len(row["labels"]) for row in encoded["train"]])
    of_bart = {
        "output_dir": str(Path(job.folder) / "model"),
        "max_steps": _STEPS,
        "warmup_steps": _WARMUP,
        "per_device_train_batch_size": round(sizes["max_tokens_per_batch"] / mean_length),
        "train_sampling_strategy": "group_by_length",
        "predict_with_generate": True,
        "use_cpu": True,
        "seed": job.seed,
        "learning_rate": float(sizes["learning_rate"]),  # 1e-3 is a text in YAML 1.1
    }
    training = Seq2SeqTrainingArguments(**{name: sizes[name] for name in _OF_TRAINER & sizes.keys()} | of_bart)
    seq2seq_trainer = Seq2SeqTrainer(
        model,
        training,
        train_dataset=encoded["train"],
        eval_dataset=encoded["validation"],
        processing_class=tokenizer,
        data_collator=DataCollatorForSeq2Seq(tokenizer, model),
        compute_metrics=partial(_exact_match, tokenizer=tokenizer),
        callbacks=[clock],
    )
    seq2seq_trainer.train()
    return tokenizer, model


def _exact_match(evaluated: Any, tokenizer: PreTrainedTokenizerBase) -> dict[str, float]:
    texts = (
        tokenizer.batch_decode(np.where(ids < 0, tokenizer.pad_token_id, ids), skip_special_tokens=True)
        for ids in (evaluated.predictions, evaluated.label_ids)
    )
    return {"exact_match": float(np.mean([output == target for output, target in zip(*texts)]))}


def _read(job: Job, split: str) -> list[dict[str, Any]]:
    return [check_pair(dict(zip(("source", "target", "tags"), cells))) for cells in job.read(split)]


def _encode(rows: Sequence[dict[str, Any]], tokenizer: PreTrainedTokenizerBase) -> dict[str, list[list[int]]]:
    return encode_pairs({name: [row[name] for row in rows] for name in rows[0]}, tokenizer)


def decode(
    num_beams: int,
    rows: Sequence[dict[str, Any]],
    tokenizer: PreTrainedTokenizerBase,
    model: PreTrainedModel,
    batch_size: int,
) -> Sequence[str]:
    """Return the output for each row. Words of similar length are decoded together."""
    ids = _encode(rows, tokenizer)["input_ids"]
    order = sorted(range(len(ids)), key=lambda index: len(ids[index]))

    def outputs() -> Iterator[str]:
        for start in range(0, len(order), batch_size):
            batch = [{"input_ids": ids[index]} for index in order[start : start + batch_size]]
            inputs = tokenizer.pad(batch, return_tensors="pt")
            with torch.inference_mode():
                found = model.generate(**inputs, num_beams=num_beams, do_sample=False)
            yield from tokenizer.batch_decode(found, skip_special_tokens=True)

    return [output for _, output in sorted(zip(order, outputs()))]


if __name__ == "__main__":
    job = read_job()
    clock = Clock(job.seconds)
    tokenizer, model = {"atenta": train_ours, "bart": train_bart}[job.contestant](job, clock)
    batch_size = job.options["per_device_eval_batch_size"]
    of_test = partial(decode, rows=_read(job, "test"), tokenizer=tokenizer, model=model, batch_size=batch_size)
    packages = ["torch", "transformers", "tokenizers", "accelerate"] + ["atenta"] * (job.contestant == "atenta")
    finish(job, model, clock.ended - clock.started, of_test, packages)
