"""transformers' Trainer with batches by token budget, safe checkpoints, exact resuming and readable progress."""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets
import torch
from accelerate.data_loader import prepare_data_loader
from datasets.distributed import split_dataset_by_node
from peft import PeftModel
from torch.utils.data import DataLoader
from transformers import (
    AutoConfig,
    EarlyStoppingCallback,
    EvalPrediction,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    ProgressCallback,
    Seq2SeqTrainer,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR, EvalLoopOutput, PredictionOutput

from atenta.recipes.training.batching import BucketBatchSampler
from atenta.recipes.training.checkpoints import (
    average_checkpoints,
    best_checkpoints,
    delete_old_checkpoints,
    is_finished,
    load_weights,
    mark_complete,
    mark_incomplete,
    newest_checkpoints,
)
from atenta.recipes.training.muon import create_muon
from atenta.recipes.training.options import RecipeArguments

_SHUFFLE_BUFFER = 10_000  # rows of a stream from which the next one is drawn
# Endings of the names of durations and counters, which are not figures of the training.
_NOT_FIGURES = ("runtime", "per_second", "flos", "epoch", "preparation_time", "model_preparation_time", "step")


class RecipeTrainer(Trainer):
    """transformers' `Trainer` for the recipes.

    Training rows have the columns of the model and those of `length_columns`, by which texts of similar length are
    batched. A streamed training set is shuffled in a buffer, split over the processes and repeated without end.
    """

    args: RecipeArguments

    def __init__(
        self,
        model: PreTrainedModel,
        training: RecipeArguments,
        tokenizer: PreTrainedTokenizerBase,
        encoded: Mapping[str, datasets.Dataset | datasets.IterableDataset],
        data_collator: Callable[..., dict[str, torch.Tensor]],
        compute_metrics: Callable[[EvalPrediction], dict[str, float]] | None = None,
        preprocess_logits_for_metrics: Callable[..., Any] | None = None,
        *,
        length_columns: Sequence[str] = ("input_ids",),
    ):
        """Prepare to train the model.

        Args:
            model: The model to train.
            training: Options; they are copied, and the caller's object is never changed.
            tokenizer: Saved with the model.
            encoded: Rows of ids, `train` and `validation`.
            data_collator: Makes a batch of rows.
            compute_metrics: Scores the outputs for the validation rows.
            preprocess_logits_for_metrics: Selects what is kept of the logits: see `logit_reductions.py`.
            length_columns: Columns of lists whose lengths decide which texts share a batch.

        Raises:
            ValueError: If options exclude each other.
        """
        training = copy.copy(training)
        averaged = training.average_last_checkpoints or training.average_best_checkpoints
        if averaged and isinstance(model, PeftModel):
            raise ValueError("LoRA checkpoints do not hold all weights: give --lora_rank or an average, not both.")
        # `save_run` pushes the folder once it is complete, without the Trainer's pickles.
        self.push_when_finished, training.push_to_hub = training.push_to_hub, False
        # The Trainer would delete old checkpoints before the new one is complete, and the last one at the end.
        self.checkpoints_kept, training.save_total_limit = training.save_total_limit, None
        super().__init__(
            model,
            training,
            train_dataset=encoded["train"],
            eval_dataset=encoded["validation"],
            processing_class=tokenizer,
            data_collator=data_collator,
            compute_metrics=compute_metrics,
            preprocess_logits_for_metrics=preprocess_logits_for_metrics,
        )
        if training.label_smoothing_factor and self.label_names != ["labels"]:
            raise ValueError(
                f"--label_smoothing_factor applies to `labels` only, and this task has {', '.join(self.label_names)}: "
                "leave it out."
            )
        self.length_columns = length_columns
        self.add_callback(_LogBeforeSaving)
        if training.early_stopping_patience:
            self.add_callback(EarlyStoppingCallback(training.early_stopping_patience))
        if self.pop_callback(ProgressCallback):
            self.add_callback(FigureLines)

    def fit(self, checkpoint: Path | None) -> None:
        """Train, and load the weights to keep: the last, the best or an average.

        Args:
            checkpoint: Training is resumed from it. If training had ended there, no further step is taken, and a run
                that was killed after training is completed.
        """
        if checkpoint is not None:
            _expect_same_model(checkpoint, self.model.config)
        if checkpoint is not None and self.is_world_process_zero():
            print(f"Resuming from {checkpoint} (--overwrite_output_dir starts from the beginning)", flush=True)
        if checkpoint is not None and is_finished(checkpoint):
            self.state = TrainerState.load_from_json(str(checkpoint / "trainer_state.json"))
            self._load_from_checkpoint(str(checkpoint))
            if self.args.load_best_model_at_end:
                self._load_best_model()
            self._move_model_to_device(self.model, self.args.device)
        else:
            self.train(resume_from_checkpoint=checkpoint and str(checkpoint))
            # The Trainer's mean loss covers only the steps since the run was last started.
            self.state.log_history = [entry for entry in self.state.log_history if "train_loss" not in entry]
        folder = Path(self.args.output_dir)
        averaged = []
        if self.args.average_last_checkpoints:
            averaged = newest_checkpoints(folder, self.args.average_last_checkpoints)
        elif self.args.average_best_checkpoints:
            averaged = best_checkpoints(
                folder,
                self.args.average_best_checkpoints,
                self.args.metric_for_best_model,
                self.args.greater_is_better,
            )
        if averaged:
            load_weights(self.model, average_checkpoints(averaged))
        if isinstance(self.model, PeftModel):
            self.model = self.model.merge_and_unload()  # a plain model, which loads without peft

    def create_optimizer(self, *arguments: Any) -> torch.optim.Optimizer:
        """Create the optimizer, with the warm-up and learning rate that fit the length of the run."""
        args = self.args
        args.settle_schedule(self.model.config.hidden_size, self.state.max_steps)
        if args.optim == "muon" and self.optimizer is None:
            if self.is_fsdp_enabled or self.is_deepspeed_enabled:
                raise ValueError(
                    "--optim muon needs whole matrices in each process, which FSDP and DeepSpeed do not leave there: "
                    "launch without them, or give another --optim."
                )
            self.optimizer = create_muon(
                self.model,
                self.get_decay_parameter_names(self.model),
                adamw={
                    "lr": args.learning_rate,
                    "betas": (args.adam_beta1, args.adam_beta2),
                    "eps": args.adam_epsilon,
                },
                weight_decay=args.weight_decay,
                muon={
                    "lr": args.muon_learning_rate,
                    "momentum": args.muon_momentum,
                    "weight_decay": args.muon_weight_decay,
                },
            )
        return super().create_optimizer(*arguments)

    def get_train_dataloader(self) -> DataLoader:
        """Return the batches of this process: texts of similar length, or in their own order if they are streamed."""
        loading: dict[str, Any] = {
            "num_workers": self.args.dataloader_num_workers,
            "pin_memory": self.args.dataloader_pin_memory,
            "persistent_workers": self.args.dataloader_persistent_workers,
            "prefetch_factor": self.args.dataloader_prefetch_factor,
        }
        seed = self.args.seed if self.args.data_seed is None else self.args.data_seed
        if isinstance(self.train_dataset, datasets.IterableDataset):
            rows = split_dataset_by_node(self.train_dataset, self.args.process_index, self.args.world_size)
            rows = rows.shuffle(seed=seed, buffer_size=_SHUFFLE_BUFFER).repeat(None)
            collate = self._get_collator_with_removed_columns(self.data_collator, description="training")
            loader = DataLoader(rows, batch_size=self.args.per_device_train_batch_size, collate_fn=collate, **loading)
        else:
            lengths = [list(map(len, row)) for row in zip(*map(self.train_dataset.__getitem__, self.length_columns))]
            sampler = BucketBatchSampler(
                lengths,
                batch_size=self.args.per_device_train_batch_size,
                max_tokens=self.args.max_tokens_per_batch,
                seed=seed,
                num_processes=self.args.world_size,
                process_index=self.args.process_index,
            )
            rows = self._remove_unused_columns(self.train_dataset, description="training")
            loader = DataLoader(rows, batch_sampler=sampler, collate_fn=self.data_collator, **loading)
        # The batches are already split over the processes; accelerate only moves them to the device.
        return prepare_data_loader(
            loader, device=self.args.device, num_processes=1, process_index=0, put_on_device=True
        )

    def predict(self, test_dataset: datasets.Dataset, *arguments: Any, **options: Any) -> PredictionOutput:
        """Return the outputs for rows without scoring them: `compute_metrics` is made for the validation rows."""
        compute_metrics, self.compute_metrics = self.compute_metrics, None
        try:
            return super().predict(test_dataset, *arguments, **options)
        finally:
            self.compute_metrics = compute_metrics

    def _save_checkpoint(self, model: torch.nn.Module, trial: Any) -> None:
        """Mark the checkpoint once every process has written its part, and only then delete old ones."""
        folder = Path(self.args.output_dir)
        checkpoint = folder / f"{PREFIX_CHECKPOINT_DIR}-{self.state.global_step}"
        if self.args.should_save:
            mark_incomplete(checkpoint)  # it exists if this run was resumed from an earlier checkpoint
        super()._save_checkpoint(model, trial)
        self.accelerator.wait_for_everyone()
        if self.args.should_save:
            mark_complete(checkpoint)
            delete_old_checkpoints(folder, self.checkpoints_kept, best=self.state.best_model_checkpoint)
        self.accelerator.wait_for_everyone()


class Seq2SeqRecipeTrainer(RecipeTrainer, Seq2SeqTrainer):
    """A `RecipeTrainer` that generates during evaluation."""

    def evaluation_loop(self, *arguments: Any, **options: Any) -> EvalLoopOutput:
        """Evaluate each text once: `Seq2SeqTrainer` keeps the copies that pad the last batch of all processes."""
        self.gather_function = self.accelerator.gather_for_metrics
        return super().evaluation_loop(*arguments, **options)


def expect_metric(training: RecipeArguments, names: Iterable[str]) -> None:
    """Check that the score that selects the best checkpoint will be computed, before training starts.

    Args:
        training: Names the score.
        names: Names of the scores that will be computed, besides the loss.

    Raises:
        SystemExit: If it will not be computed. The message lists those that will.
    """
    known, named = ["loss", *names], training.metric_for_best_model
    if named and named.removeprefix("eval_") not in known:
        raise SystemExit(f"--metric_for_best_model {named}: expected one of {', '.join(known)}")


def _expect_same_model(checkpoint: Path, config: PreTrainedConfig) -> None:
    """Check that a checkpoint's positions are those of the model: its weights would fit, and give other outputs."""
    if not (checkpoint / "config.json").is_file():  # of LoRA
        return
    saved = AutoConfig.from_pretrained(checkpoint)
    for name in ("rotary_cross_attention", "tag_token_ids"):
        before, now = (getattr(each, name, None) for each in (saved, config))
        if before != now:
            raise SystemExit(
                f"{checkpoint} is of a model with {name}={before}, and this run makes one with {now}. Give another "
                "--output_dir, or --overwrite_output_dir to start from the beginning."
            )


def select_figures(logs: Mapping[str, Any]) -> dict[str, float]:
    """Return the losses, rates and scores of a log, without durations and counters."""
    return {
        name: value
        for name, value in logs.items()
        if not name.endswith(_NOT_FIGURES) and isinstance(value, int | float)
    }


class FigureLines(ProgressCallback):
    """transformers' progress bar with logs as lines of text: `step 950  epoch 0.66  loss 0.0719  …`."""

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Write the figures above the bar."""
        figures = select_figures(logs or {})
        line = "  ".join(
            f"{name.removeprefix('eval_').replace('_', ' ')} {value:.4g}"
            for name, value in figures.items()
            if not name.startswith("train_")
        )
        if self.training_bar is not None and line:
            kind = "validation" if any(name.startswith("eval_") for name in figures) else "training  "
            self.training_bar.write(f"{kind}  step {state.global_step:>6,}  epoch {state.epoch:.2f}  {line}")


class _LogBeforeSaving(TrainerCallback):
    """Logs at every checkpoint, which does not hold the losses since the last log: a resumed run would miss them."""

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> TrainerControl:
        """Request a log if a checkpoint is requested."""
        control.should_log |= control.should_save
        return control

    on_epoch_end = on_step_end
