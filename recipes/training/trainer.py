"""transformers' Trainer with batches by token budget, safe checkpoints, exact resuming and progress in lines."""

import copy
import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import datasets
import torch
from accelerate import AutocastKwargs
from accelerate.data_loader import prepare_data_loader
from accelerate.utils import broadcast_object_list
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
    TrainerState,
)
from transformers.trainer import TRAINING_ARGS_NAME
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR, EvalLoopOutput, PredictionOutput

from atenta.recipes.reading.records import printable
from atenta.recipes.training.batching import BucketBatchSampler, expect_within_budget, mask_some
from atenta.recipes.training.checkpoints import (
    average_checkpoints,
    best_of,
    checkpoints_to_average,
    delete_old_checkpoints,
    expect_intact,
    expect_same_model,
    is_finished,
    load_weights,
    mark_complete,
    mark_incomplete,
    write_data,
)
from atenta.recipes.training.cost import TrainingCost
from atenta.recipes.training.divergence import expect_finite, norm_of_weights
from atenta.recipes.training.muon import create_muon
from atenta.recipes.training.options import RecipeArguments, Seq2SeqRecipeArguments
from atenta.recipes.training.progress import FigureLines, LogBeforeSaving
from atenta.recipes.training.resuming import (
    apply_options,
    apply_to_callbacks,
    changed_options,
    earlier_options,
    expect_same_data,
    expect_steps_left,
)
from atenta.recipes.training.runs import Run, digest_rows

_SHUFFLE_BUFFER = 10_000  # rows of a stream from which the next one is drawn


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
            encoded: Rows of ids, `train` and `validation`; of `test`, if it is given, only a digest is kept.
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
            raise SystemExit(
                f"--label_smoothing_factor applies to `labels` only, and this task has {', '.join(self.label_names)}: "
                "leave it out."
            )
        self.length_columns = length_columns
        self.test_dataset = encoded.get("test")
        self.run = Run(training)
        self._loss_of_step: torch.Tensor | float = 0.0
        self._changed_options: dict[str, Any] = {}  # since the checkpoint that the run is resumed from
        self.earlier_options: dict[str, dict[str, Any]] = {}  # by the number of the last step that they held for
        self.add_callback(LogBeforeSaving)
        self.add_callback(TrainingCost(training.country_iso_code))
        if training.early_stopping_patience:
            self.add_callback(EarlyStoppingCallback(training.early_stopping_patience))
        if self.pop_callback(ProgressCallback):
            self.add_callback(FigureLines)

    def fit(self, run: Run | None) -> None:
        """Train, and load the weights to keep: the last, the best or an average.

        Args:
            run: The run that `start_run` returned; None trains from the beginning, and keeps no options. If training
                had ended in its checkpoint, no further step is taken, and a run that was killed after training is
                completed.

        Raises:
            SystemExit: If a row is longer than a batch may be, or there are fewer than processes, or the training
                diverges, or the checkpoint is of other rows, another alphabet, other tags or labels, or another model.
                Nothing in the folder is changed then.
        """
        try:
            self.get_train_dataloader()
        except ValueError as error:
            raise SystemExit(printable(str(error))) from None
        checkpoint, ended = None, False
        if run is not None:
            self.run, checkpoint = run, run.checkpoint
            if checkpoint is not None:
                ended = self._expect_resumable(checkpoint)
            if self.is_world_process_zero():
                run.begin()
            self.accelerator.wait_for_everyone()
        if checkpoint is not None and self.is_world_process_zero():
            told = ": training had ended there, and the model is only scored" if ended else ""
            print(f"Resuming from {checkpoint} (--overwrite_output_dir starts from the beginning){told}", flush=True)
        if checkpoint is not None and ended:
            self.state = TrainerState.load_from_json(str(checkpoint / "trainer_state.json"))
            self.cost.restore(self.state.stateful_callbacks.get(TrainingCost.__name__, {}))
            self.args.settle_schedule(self.model.config.hidden_size, self.state.max_steps)  # which the card states
            self._find_best_checkpoint(checkpoint)
            self._load_from_checkpoint(str(checkpoint))
            if self.args.load_best_model_at_end and self.state.best_model_checkpoint:
                self._load_best_model()
            self._move_model_to_device(self.model, self.args.device)
        else:
            try:
                self.train(resume_from_checkpoint=checkpoint and str(checkpoint))
            finally:
                self.cost.stop()
            # The Trainer's mean loss covers only the steps since the run was last started.
            self.state.log_history = [entry for entry in self.state.log_history if "train_loss" not in entry]
        averaged = checkpoints_to_average(self.args)
        if averaged:
            if self.is_world_process_zero():
                expect_intact(averaged)
            load_weights(self.model, average_checkpoints(averaged))
        if isinstance(self.model, PeftModel):
            self.model = self.model.merge_and_unload()  # a plain model, which loads without peft
        self._expect_finite({"norm of the weights": norm_of_weights(self.model)})
        # The test is scored as the saved model will be used, without the autocast that accelerate puts around forward.
        self.accelerator.autocast_handler = AutocastKwargs(enabled=False)
        model = self.accelerator.unwrap_model(self.model)
        if (forward := vars(model).pop("_original_forward", None)) is not None:
            model.forward = forward

    @property
    def cost(self) -> TrainingCost:
        """The cost of the training so far; transformers puts another object in its place when a run is resumed."""
        return next(each for each in self.callback_handler.callbacks if isinstance(each, TrainingCost))

    def create_optimizer(self, *arguments: Any) -> torch.optim.Optimizer:
        """Create the optimizer, with the warm-up and learning rate that fit the length of the run."""
        args = self.args
        args.settle_schedule(self.model.config.hidden_size, self.state.max_steps)
        args.report_unfinished_warmup(self.state.max_steps)
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
        if isinstance(self.train_dataset, datasets.IterableDataset):
            rows = split_dataset_by_node(self.train_dataset, self.args.process_index, self.args.world_size)
            rows = rows.shuffle(seed=self._seed_of_batches, buffer_size=_SHUFFLE_BUFFER).repeat(None)
            collate = self._get_collator_with_removed_columns(self.data_collator, description="training")
            loader = DataLoader(rows, batch_size=self.args.per_device_train_batch_size, collate_fn=collate, **loading)
        else:
            rows = self._remove_unused_columns(self.train_dataset, description="training")
            loader = DataLoader(rows, batch_sampler=self._batches, collate_fn=self.data_collator, **loading)
        # The batches are already split over the processes; accelerate only moves them to the device.
        return prepare_data_loader(
            loader, device=self.args.device, num_processes=1, process_index=0, put_on_device=True
        )

    @property
    def _seed_of_batches(self) -> int:
        return self.args.seed if self.args.data_seed is None else self.args.data_seed

    @cached_property
    def _batches(self) -> BucketBatchSampler:
        """The batches of this process, of which none is over the budget."""
        lengths = [list(map(len, row)) for row in zip(*map(self.train_dataset.__getitem__, self.length_columns))]

        def text_of(index: int) -> str:
            ids = self.train_dataset[index][self.length_columns[0]]
            return str(self.processing_class.decode(ids, skip_special_tokens=True))

        expect_within_budget(lengths, self.args.max_tokens_per_batch, text_of)
        return BucketBatchSampler(
            lengths,
            batch_size=self.args.per_device_train_batch_size,
            max_tokens=self.args.max_tokens_per_batch,
            seed=self._seed_of_batches,
            num_processes=self.args.world_size,
            process_index=self.args.process_index,
        )

    def training_step(
        self, model: torch.nn.Module, inputs: dict[str, torch.Tensor], *arguments: Any, **options: Any
    ) -> torch.Tensor:
        """Train on a batch, with some of the input's characters replaced by `<mask>`; add its loss to the step's."""
        if self.args.input_mask_probability:
            ids, tokenizer = inputs["input_ids"], self.processing_class
            special = torch.isin(ids, torch.tensor(tokenizer.all_special_ids, device=ids.device))
            inputs["input_ids"] = mask_some(ids, self.args.input_mask_probability, special, tokenizer.mask_token_id)
        loss = super().training_step(model, inputs, *arguments, **options)
        self._loss_of_step += loss
        return loss

    def evaluation_loop(self, *arguments: Any, metric_key_prefix: str = "eval", **options: Any) -> EvalLoopOutput:
        """Evaluate; a loss that is not finite ends the run."""
        output = super().evaluation_loop(*arguments, metric_key_prefix=metric_key_prefix, **options)
        if (loss := output.metrics.get(f"{metric_key_prefix}_loss")) is not None:
            self._expect_finite({f"loss of {'validation' if metric_key_prefix == 'eval' else 'the test'}": loss})
        return output

    def predict(self, test_dataset: datasets.Dataset, *arguments: Any, **options: Any) -> PredictionOutput:
        """Return the outputs for rows without scoring them: `compute_metrics` is made for the validation rows."""
        compute_metrics, self.compute_metrics = self.compute_metrics, None
        try:
            return super().predict(test_dataset, *arguments, **options)
        finally:
            self.compute_metrics = compute_metrics

    @cached_property
    def digests(self) -> dict[str, str]:
        """SHA-256 of what decides the weights and the meaning of ids, and of the test rows, by a name to print."""
        vocabulary, config = self.processing_class.get_vocab(), self.model.config
        tags = set(getattr(config, "tag_token_ids", None) or [])
        tokens = sorted(vocabulary.items(), key=lambda pair: pair[1])
        parts = {
            "alphabet": [token for token, index in tokens if index not in tags],
            "tags": [pair for pair in tokens if pair[1] in tags],
            "labels": sorted((getattr(config, "id2label", None) or {}).items()),
        }
        return {
            "training rows": digest_rows(self.train_dataset, self.run.options.get("train_file") or []),
            "validation rows": digest_rows(self.eval_dataset),
            "test rows": digest_rows(self.test_dataset),
            **{name: hashlib.sha256(json.dumps(part).encode()).hexdigest() for name, part in parts.items()},
        }

    def _expect_resumable(self, checkpoint: Path) -> bool:
        """Check that this run can go on from a checkpoint, and return whether training had ended there."""
        ended, changed, earlier = is_finished(checkpoint), {}, {}
        if self.is_world_process_zero():
            rows = expect_same_data(checkpoint, self.digests, bool(self.args.resume_from_checkpoint))
            changed = {
                **changed_options(checkpoint, self.run),
                **{
                    name: "others" for name in rows if name != "test rows" and (name != "validation rows" or not ended)
                },
            }
            if changed:
                steps = self.set_initial_training_values(self.args, self.get_train_dataloader())[-1]
                expect_steps_left(checkpoint, list(changed), steps)
                ended = False
            earlier = earlier_options(checkpoint, changed)
        expect_same_model(checkpoint, self.model.config)
        ended, self._changed_options, self.earlier_options = broadcast_object_list([ended, changed, earlier])
        return ended

    def _expect_finite(self, figures: Mapping[str, float], step: int | None = None) -> None:
        expect_finite(figures, self.state.global_step if step is None else step, self.run, self.accelerator)

    def _get_grad_norm(self, model: torch.nn.Module, grad_norm: Any = None) -> float | None:
        """Return the norm of the gradients; if it or the loss is not finite, the run ends before the optimizer's step.

        With fp16, gradients may overflow while their scale is large: None then, and accelerate skips the step.
        """
        norm = super()._get_grad_norm(model, grad_norm)
        norm = None if norm is None else float(norm)
        scaler = self.accelerator.scaler
        if norm is not None and not math.isfinite(norm) and scaler is not None and scaler.get_scale() > 1:
            norm = None
        loss, self._loss_of_step = float(self._loss_of_step), 0.0
        figures = {"loss": loss, "norm of the gradient": 0.0 if norm is None else norm}
        self._expect_finite(figures, self.state.global_step + 1)
        return norm

    def _get_num_items_in_batch(self, *arguments: Any) -> torch.Tensor | int | None:
        """Return the number of labels, by which the loss is divided: at least 1, for texts without any."""
        count = super()._get_num_items_in_batch(*arguments)
        return count if count is None else torch.as_tensor(count).clamp(min=1)

    def _find_best_checkpoint(self, checkpoint: Path | str) -> None:
        """Look for the best checkpoint also where the folder of the run has been moved."""
        best = best_of(Path(checkpoint))
        self.state.best_model_checkpoint = best and str(best)

    def _init_training_state(
        self, max_steps: int, steps_in_epoch: int, epochs: int, checkpoint: str | None, trial: Any
    ) -> tuple[int, int]:
        """Restore the state, with the best checkpoint where it is now."""
        trained = super()._init_training_state(max_steps, steps_in_epoch, epochs, checkpoint, trial)
        if checkpoint is not None:
            self._find_best_checkpoint(checkpoint)
            apply_to_callbacks(self, self._changed_options)
        return trained

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        """Restore the states of the optimizer and the schedule; changed options take effect."""
        groups = [dict(group) for group in self.optimizer.param_groups]
        super()._load_optimizer_and_scheduler(checkpoint)
        if self._changed_options:
            apply_options(self, groups)

    def _load_best_model(self) -> None:
        """Load the best weights, if they are intact."""
        if self.is_world_process_zero():
            expect_intact([Path(self.state.best_model_checkpoint)])
        super()._load_best_model()

    def _save(self, output_dir: str | None = None, state_dict: dict[str, torch.Tensor] | None = None) -> None:
        """Save the model and the tokenizer, without the training arguments, a pickle that nothing reads."""
        super()._save(output_dir, state_dict)
        if self.args.should_save:
            Path(output_dir or self.args.output_dir, TRAINING_ARGS_NAME).unlink(missing_ok=True)

    def _save_checkpoint(self, model: torch.nn.Module, trial: Any) -> None:
        """Mark the checkpoint once every process has written its part, and only then delete old ones."""
        self._expect_finite({"norm of the weights": norm_of_weights(model)})
        folder = Path(self.args.output_dir)
        checkpoint = folder / f"{PREFIX_CHECKPOINT_DIR}-{self.state.global_step}"
        if self.args.should_save:
            mark_incomplete(checkpoint)  # it exists if this run was resumed from an earlier checkpoint
        super()._save_checkpoint(model, trial)
        self.accelerator.wait_for_everyone()
        if self.args.should_save:
            settled = {name: getattr(self.args, name) for name in ("learning_rate", "warmup_steps")}
            earlier = {"options": dict(self.run.options), "settled": settled, "earlier options": self.earlier_options}
            write_data(checkpoint, {**self.digests, **earlier})
            mark_complete(checkpoint)
            delete_old_checkpoints(folder, self.checkpoints_kept, best=self.state.best_model_checkpoint)
        self.accelerator.wait_for_everyone()


class Seq2SeqRecipeTrainer(RecipeTrainer, Seq2SeqTrainer):
    """A `RecipeTrainer` that generates during evaluation, and may hide tokens from the decoder in training."""

    args: Seq2SeqRecipeArguments

    def training_step(
        self, model: torch.nn.Module, inputs: dict[str, torch.Tensor], *arguments: Any, **options: Any
    ) -> torch.Tensor:
        """Replace some of the decoder's inputs by `<mask>`, never the first, before training on a batch."""
        if self.args.decoder_mask_probability:
            ids = inputs["decoder_input_ids"]
            first = torch.arange(ids.shape[1], device=ids.device) == 0
            mask = self.processing_class.mask_token_id
            inputs["decoder_input_ids"] = mask_some(ids, self.args.decoder_mask_probability, first, mask)
        return super().training_step(model, inputs, *arguments, **options)

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
