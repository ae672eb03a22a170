"""The engine of the recipes: transformers' Trainer with batches by budget, whole checkpoints and exact resuming."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets
import torch
from accelerate.data_loader import prepare_data_loader
from datasets.distributed import split_dataset_by_node
from peft import PeftModel
from torch.utils.data import DataLoader
from transformers import (
    EarlyStoppingCallback,
    EvalPrediction,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    ProgressCallback,
    Seq2SeqTrainer,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
)
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR, EvalLoopOutput, PredictionOutput

from atenta.recipes.reporting.progress import FigureLines
from atenta.recipes.training.averaging import average_checkpoints, best_checkpoints, last_checkpoints, load_weights
from atenta.recipes.training.batching import BucketBatchSampler
from atenta.recipes.training.checkpoints import delete_old_checkpoints, is_finished, mark_whole, unmark
from atenta.recipes.training.options import RecipeArguments

SHUFFLE_BUFFER = 10_000  # rows of a stream among which the next is drawn


class LogBeforeSaving(TrainerCallback):
    """Log whenever a checkpoint is due: the sum of losses since the last log is not in it and would be lost."""

    def on_step_end(
        self, args: RecipeArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> TrainerControl:
        """Ask for a log too where a checkpoint was asked for."""
        control.should_log |= control.should_save
        return control

    on_epoch_end = on_step_end


class RecipeTrainer(Trainer):
    """transformers' `Trainer` for the recipes.

    Training rows have the columns of the model and, for batches of like length, those named in `length_columns`.
    A streamed training set is shuffled in a buffer, split over the processes and repeated without end.
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
        """Take model, data and how they are scored.

        Args:
            model: what is trained.
            training: how.
            tokenizer: saved beside the model.
            encoded: rows of ids, `train` and `validation`.
            data_collator: makes rows a batch.
            compute_metrics: scores the validation rows, of which it may hold more than the ids.
            preprocess_logits_for_metrics: what is kept of the logits for that: see `evaluation.py`.
            length_columns: columns of lists whose lengths decide which texts come together.

        Raises:
            ValueError: options that exclude each other.
        """
        averaged = training.average_last_checkpoints or training.average_best_checkpoints
        if averaged and isinstance(model, PeftModel):
            raise ValueError("Checkpoints of LoRA hold no whole weights: give --lora_rank or an average, not both.")
        # The folder is pushed when it is complete, and without the Trainer's pickles: see reporting/results.py.
        self.push_when_finished, training.push_to_hub = training.push_to_hub, False
        # The Trainer would delete old checkpoints before a new one is whole, and at the end the last one.
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
                f"--label_smoothing_factor reaches `labels` only, and this task learns {', '.join(self.label_names)}: "
                "leave it out."
            )
        self.length_columns = length_columns
        self.add_callback(LogBeforeSaving)
        if training.early_stopping_patience:
            self.add_callback(EarlyStoppingCallback(training.early_stopping_patience))
        if self.pop_callback(ProgressCallback):
            self.add_callback(FigureLines)

    def fit(self, checkpoint: Path | None) -> None:
        """Train, from a checkpoint on if one is given, and load the weights to be kept: last, best, or a mean.

        A checkpoint at which training had ended is not trained on; a run killed after it goes on behind it.
        """
        if checkpoint is not None and self.is_world_process_zero():
            print(f"Going on from {checkpoint} (--overwrite_output_dir trains anew)", flush=True)
        if checkpoint is not None and is_finished(checkpoint):
            self.state = TrainerState.load_from_json(str(checkpoint / "trainer_state.json"))
            self._load_from_checkpoint(str(checkpoint))
            if self.args.load_best_model_at_end:
                self._load_best_model()
            self._move_model_to_device(self.model, self.args.device)
        else:
            self.train(resume_from_checkpoint=checkpoint and str(checkpoint))
            # Its mean loss is of the steps since the run was last started.
            self.state.log_history = [entry for entry in self.state.log_history if "train_loss" not in entry]
        folder = Path(self.args.output_dir)
        chosen = []
        if self.args.average_last_checkpoints:
            chosen = last_checkpoints(folder, self.args.average_last_checkpoints)
        elif self.args.average_best_checkpoints:
            chosen = best_checkpoints(
                folder,
                self.args.average_best_checkpoints,
                self.args.metric_for_best_model,
                self.args.greater_is_better,
            )
        if chosen:
            load_weights(self.model, average_checkpoints(chosen))
        if isinstance(self.model, PeftModel):
            self.model = self.model.merge_and_unload()  # a plain model again, which loads without peft

    def create_optimizer(self, *arguments: Any) -> torch.optim.Optimizer:
        """Make the optimizer, once warm-up and learning rate are settled by the length of the run."""
        self.args.settle_schedule(self.model.config.hidden_size, self.state.max_steps)
        return super().create_optimizer(*arguments)

    def get_train_dataloader(self) -> DataLoader:
        """Return this process's batches: of like length, or as they come where the data are streamed."""
        loading: dict[str, Any] = {
            "num_workers": self.args.dataloader_num_workers,
            "pin_memory": self.args.dataloader_pin_memory,
            "persistent_workers": self.args.dataloader_persistent_workers,
            "prefetch_factor": self.args.dataloader_prefetch_factor,
        }
        processes = {"num_processes": self.args.world_size, "process_index": self.args.process_index}
        seed = self.args.seed if self.args.data_seed is None else self.args.data_seed
        if isinstance(self.train_dataset, datasets.IterableDataset):
            rows = split_dataset_by_node(self.train_dataset, self.args.process_index, self.args.world_size)
            rows = rows.shuffle(seed=seed, buffer_size=SHUFFLE_BUFFER).repeat(None)
            collate = self._get_collator_with_removed_columns(self.data_collator, description="training")
            loader = DataLoader(rows, batch_size=self.args.per_device_train_batch_size, collate_fn=collate, **loading)
        else:
            lengths = [list(map(len, row)) for row in zip(*map(self.train_dataset.__getitem__, self.length_columns))]
            sampler = BucketBatchSampler(
                lengths,
                batch_size=self.args.per_device_train_batch_size,
                max_tokens=self.args.max_tokens_per_batch,
                seed=seed,
                **processes,
            )
            rows = self._remove_unused_columns(self.train_dataset, description="training")
            loader = DataLoader(rows, batch_sampler=sampler, collate_fn=self.data_collator, **loading)
        # The batches are this process's already: accelerate has only to put them on its device.
        return prepare_data_loader(
            loader, device=self.args.device, num_processes=1, process_index=0, put_on_device=True
        )

    def predict(self, test_dataset: datasets.Dataset, *arguments: Any, **options: Any) -> PredictionOutput:
        """Return the outputs for rows, unscored: `compute_metrics` knows the validation rows only."""
        measure, self.compute_metrics = self.compute_metrics, None
        try:
            return super().predict(test_dataset, *arguments, **options)
        finally:
            self.compute_metrics = measure

    def _save_checkpoint(self, model: torch.nn.Module, trial: Any) -> None:
        """Mark the checkpoint when every process has written its part, and only then delete old ones."""
        folder = Path(self.args.output_dir)
        checkpoint = folder / f"{PREFIX_CHECKPOINT_DIR}-{self.state.global_step}"
        if self.args.should_save:
            unmark(checkpoint)  # of a run that went further, where this one goes on from an earlier checkpoint
        super()._save_checkpoint(model, trial)
        self.accelerator.wait_for_everyone()
        if self.args.should_save:
            mark_whole(checkpoint)
            delete_old_checkpoints(folder, self.checkpoints_kept, best=self.state.best_model_checkpoint)
        self.accelerator.wait_for_everyone()


class Seq2SeqRecipeTrainer(RecipeTrainer, Seq2SeqTrainer):
    """`RecipeTrainer` that generates while it evaluates."""

    def evaluation_loop(self, *arguments: Any, **options: Any) -> EvalLoopOutput:
        """Evaluate each text once: `Seq2SeqTrainer` keeps those that fill up an uneven last batch of all processes."""
        self.gather_function = self.accelerator.gather_for_metrics
        return super().evaluation_loop(*arguments, **options)
