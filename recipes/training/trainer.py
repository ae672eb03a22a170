"""transformers' Trainer with batches by token budget, safe checkpoints, exact resuming and an end to divergence."""

import copy
import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import datasets
import torch
from accelerate import AutocastKwargs
from accelerate.data_loader import prepare_data_loader
from datasets.distributed import split_dataset_by_node
from peft import PeftModel
from torch.nn.utils import get_total_norm
from torch.utils.data import DataLoader
from transformers import (
    EarlyStoppingCallback,
    EvalPrediction,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    ProgressCallback,
    Seq2SeqTrainer,
    Trainer,
)
from transformers.trainer import TRAINING_ARGS_NAME
from transformers.trainer_utils import EvalLoopOutput, PredictionOutput, RemoveColumnsCollator

from atenta.engines.saved_tensors import let_others_read
from atenta.modeling.modeling_base import AtentaPreTrainedModel
from atenta.recipes.reading.records import exit_on
from atenta.recipes.training.batching import BucketBatchSampler, check_budget, mask_some
from atenta.recipes.training.checkpoints import (
    CheckpointCallback,
    best_of,
    check_intact,
    checkpoints_to_average,
    load_mean,
    mark_incomplete,
    read_state,
)
from atenta.recipes.training.cost import TrainingCost
from atenta.recipes.training.muon import create_muon
from atenta.recipes.training.options import RecipeArguments, Seq2SeqRecipeArguments
from atenta.recipes.training.progress import FigureLines
from atenta.recipes.training.runs import Run

_SHUFFLE_BUFFER = 10_000  # rows of a stream from which the next one is drawn
_SHORT = 256  # tokens of texts for which attention in single products is the faster one on a CPU


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
        """Prepare to train the model with a copy of the options; of the rows of `test`, if given, a digest is kept.

        Raises:
            SystemExit: If `--label_smoothing_factor` does not apply to the labels of the model.
        """
        training = copy.copy(training)
        # `save_run` pushes the folder once it is complete, without the Trainer's pickles.
        self.push_when_finished, training.push_to_hub = training.push_to_hub, False
        if training.ddp_find_unused_parameters is None and isinstance(model, AtentaPreTrainedModel):
            training.ddp_find_unused_parameters = False  # each one has a gradient in each step
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
            found = ", ".join(self.label_names) or "none"
            raise SystemExit(
                f"--label_smoothing_factor applies to `labels` only, and this task has {found}: leave it out."
            )
        self.length_columns = length_columns
        self.test_dataset = encoded.get("test")
        self.run = Run(training)
        self._loss_of_step: torch.Tensor | float = 0.0
        # The Trainer would delete old checkpoints before the new one is complete, and the last one at the end.
        kept, training.save_total_limit = training.save_total_limit, None
        self.checkpointing = CheckpointCallback(self, kept)
        self.add_callback(self.checkpointing)
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
            SystemExit: If a row is longer than a batch may be, there are fewer rows than processes, or the training
                diverges or writes too few checkpoints to average, or the checkpoint is of other rows, another
                alphabet, other tags or labels, or another model. Nothing in the folder is changed then.
        """
        with exit_on(ValueError):
            self.get_train_dataloader()
        ended, checkpoint = False, None
        if run is not None:
            self.run, checkpoint = run, run.checkpoint
            ended = checkpoint is not None and self.checkpointing.check(checkpoint)
            if self.is_world_process_zero():
                run.begin()
            self.accelerator.wait_for_everyone()
        if checkpoint is not None and self.is_world_process_zero():
            words = ": training had ended there, and the model is only scored" if ended else ""
            print(f"Resuming from {checkpoint} (--overwrite_output_dir starts from the beginning){words}", flush=True)
        if ended:
            self._load_ended(checkpoint)
        else:
            try:
                with _fast_attention(self.model, self.args):
                    self.train(resume_from_checkpoint=checkpoint and str(checkpoint))
            finally:
                self.cost.stop()
            # The Trainer's mean loss covers only the steps since the run was last started.
            self.state.log_history = [entry for entry in self.state.log_history if "train_loss" not in entry]
        with exit_on(ValueError):
            averaged = checkpoints_to_average(self.args, self.state.log_history)
        if averaged:
            if self.is_world_process_zero():
                check_intact(averaged)
            load_mean(self.model, averaged)
        if isinstance(self.model, PeftModel):
            self.model = self.model.merge_and_unload()  # a plain model, which loads without peft
        self._check_finite({"norm of the weights": _norm_of_weights(self.model)})
        # The test is scored as the saved model will be used, without the autocast that accelerate puts around forward.
        self.accelerator.autocast_handler = AutocastKwargs(enabled=False)
        model = self.accelerator.unwrap_model(self.model)
        if (forward := vars(model).pop("_original_forward", None)) is not None:
            model.forward = forward

    def _load_ended(self, checkpoint: Path) -> None:
        """Load the state of a training that had ended, and the weights that it ends with."""
        self.state = read_state(checkpoint)
        self.cost.restore(self.state.stateful_callbacks.get(TrainingCost.__name__, {}))
        self.args.settle_schedule(self.model.config.hidden_size, self.state.max_steps)  # which the card states
        best = best_of(checkpoint) if self.args.load_best_model_at_end else None
        if self.is_world_process_zero():
            check_intact([best or checkpoint])
        self._load_from_checkpoint(str(best or checkpoint))
        self.model.to(self.args.device)

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
                raise SystemExit(
                    "--optim muon needs whole matrices in each process, which FSDP and DeepSpeed do not leave there: "
                    "launch without them, or give another --optim."
                )
            self.optimizer = create_muon(self.model, self.get_decay_parameter_names(self.model), args)
        optimizer = super().create_optimizer(*arguments)
        self.checkpointing.groups = [dict(group) for group in optimizer.param_groups]
        return optimizer

    def get_train_dataloader(self) -> DataLoader:
        """Return the batches of this process: texts of similar length, or of any lengths if they are streamed."""
        names = ("num_workers", "pin_memory", "persistent_workers", "prefetch_factor")
        loading: dict[str, Any] = {name: getattr(self.args, f"dataloader_{name}") for name in names}
        model = self.model.get_base_model() if isinstance(self.model, PeftModel) else self.model
        accepted = inspect.signature(type(model).forward).parameters
        collate = RemoveColumnsCollator(self.data_collator, accepted)
        rows = self.train_dataset
        if isinstance(rows, datasets.IterableDataset):
            rows = split_dataset_by_node(rows, self.args.process_index, self.args.world_size)
            # Repeated first, or each pass would have the order of the one before.
            rows = rows.repeat(None).shuffle(seed=self._seed_of_batches, buffer_size=_SHUFFLE_BUFFER)
            loading["batch_size"] = self.args.per_device_train_batch_size
        else:
            loading["batch_sampler"] = self._batches
        loader = DataLoader(rows, collate_fn=collate, **loading)
        # The batches are already split over the processes; accelerate only moves them to the device, and must not read
        # those of a stream in the first process and hand them out.
        return prepare_data_loader(
            loader,
            device=self.args.device,
            num_processes=1,
            process_index=0,
            put_on_device=True,
            dispatch_batches=False,
        )

    @property
    def _seed_of_batches(self) -> int:
        return self.args.seed if self.args.data_seed is None else self.args.data_seed

    @cached_property
    def _batches(self) -> BucketBatchSampler:
        """The batches of this process, within the budget."""
        lengths = [list(map(len, row)) for row in zip(*map(self.train_dataset.__getitem__, self.length_columns))]

        def text_of(index: int) -> str:
            ids = self.train_dataset[index][self.length_columns[0]]
            return str(self.processing_class.decode(ids, skip_special_tokens=True))

        if self.args.max_tokens_per_batch:
            check_budget(lengths, self.args.max_tokens_per_batch, text_of)
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

    def _get_num_items_in_batch(self, batch_samples: list, device: torch.device) -> torch.Tensor | int | None:
        """Return the number of labels of the batches of a step; answers to questions are counted by their starts."""
        starts = [{"labels": batch["start_positions"]} for batch in batch_samples if "start_positions" in batch]
        return super()._get_num_items_in_batch(starts or batch_samples, device)

    def compute_loss(
        self,
        model: torch.nn.Module,
        inputs: dict[str, torch.Tensor],
        return_outputs: bool = False,
        num_items_in_batch: torch.Tensor | int | None = None,
    ) -> Any:
        """Return the loss, divided by the number of labels: at least by 1, for texts without any."""
        if num_items_in_batch is not None:
            num_items_in_batch = torch.as_tensor(num_items_in_batch).clamp(min=1)
        return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)

    def evaluation_loop(self, *arguments: Any, metric_key_prefix: str = "eval", **options: Any) -> EvalLoopOutput:
        """Evaluate; a loss that is not finite ends the run."""
        output = super().evaluation_loop(*arguments, metric_key_prefix=metric_key_prefix, **options)
        if (loss := output.metrics.get(f"{metric_key_prefix}_loss")) is not None:
            self._check_finite({f"loss of {'validation' if metric_key_prefix == 'eval' else 'the test'}": loss})
        return output

    def predict(self, test_dataset: datasets.Dataset, *arguments: Any, **options: Any) -> PredictionOutput:
        """Return the outputs for rows without scoring them: `compute_metrics` is made for the validation rows."""
        compute_metrics, self.compute_metrics = self.compute_metrics, None
        try:
            return super().predict(test_dataset, *arguments, **options)
        finally:
            self.compute_metrics = compute_metrics

    def _check_finite(self, figures: Mapping[str, float], step: int | None = None) -> None:
        """End the run in every process if a figure of the training is not finite in one; all must call this."""
        found = torch.tensor([list(figures.values())], device=self.accelerator.device)
        if self.accelerator.num_processes > 1:
            found = self.accelerator.gather(found)  # (processes, figures)
        wrong = [
            f"the {name} is {next(value for value in values if not math.isfinite(value))}"
            for name, values in zip(figures, found.T.tolist())
            if not all(map(math.isfinite, values))
        ]
        if not wrong:
            return
        if not self.accelerator.is_main_process:
            raise SystemExit(1)
        rates = [f"--learning_rate ({self.args.learning_rate:.4g})"]
        if self.args.optim == "muon":
            rates.append(f"--muon_learning_rate ({self.args.muon_learning_rate:.4g})")
        precision, advice = self.accelerator.mixed_precision, f"lower {' and '.join(rates)}"
        advice += f", or train without {precision}" if precision != "no" else ""
        kept = self.run.newest_checkpoint() if self.run.begun else None
        go_on = "There is no checkpoint yet: the run starts from the beginning then."
        if kept is not None:
            go_on = (
                f"{kept} is kept: --resume_from_checkpoint {kept} goes on from there with the changed options, and "
                "--overwrite_output_dir starts from the beginning."
            )
        raise SystemExit(
            f"Step {self.state.global_step if step is None else step:,}: {' and '.join(wrong)}; expected finite "
            f"numbers. The training has diverged, and no model is saved: {advice}. {go_on}"
        )

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
        self._check_finite(figures, self.state.global_step + 1)
        return norm

    def save_model(self, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """Save the model and the tokenizer, without the training arguments, a pickle that nothing reads."""
        folder = Path(output_dir or self.args.output_dir)
        if _internal_call:  # this begins a checkpoint, whose folder exists if the run was resumed from an earlier one
            self._check_finite({"norm of the weights": _norm_of_weights(self.model)})
            if self.args.should_save:
                mark_incomplete(folder)
        super().save_model(output_dir, _internal_call)
        if self.args.should_save:
            (folder / TRAINING_ARGS_NAME).unlink(missing_ok=True)
            for path in folder.glob("*.safetensors"):  # of an adapter
                let_others_read(path)


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
            if getattr(self.model.config, "transducer", False):  # labels are no input where they are smoothed
                inputs["written_input_ids"] = ids
            inputs["decoder_input_ids"] = mask_some(ids, self.args.decoder_mask_probability, first, mask)
        return super().training_step(model, inputs, *arguments, **options)

    def evaluation_loop(self, *arguments: Any, **options: Any) -> EvalLoopOutput:
        """Evaluate each text once: `Seq2SeqTrainer` keeps the copies that pad the last batch of all processes."""
        self.gather_function = self.accelerator.gather_for_metrics
        return super().evaluation_loop(*arguments, **options)


@contextmanager
def _fast_attention(model: torch.nn.Module, training: RecipeArguments) -> Iterator[None]:
    """Compute attention in single products while models of short texts are trained in 16 bits on a CPU.

    torch's fused attention takes up to ten times as long there: see "bfloat16" in `results/tried.md`.
    """
    is_slow = training.bf16 and training.device.type == "cpu"
    models = [each for each in model.modules() if is_slow and isinstance(each, PreTrainedModel)]
    models = [each for each in models if (getattr(each.config, "max_position_embeddings", None) or math.inf) <= _SHORT]
    implementations = [each.config._attn_implementation for each in models]
    for each in models:
        each.set_attn_implementation("eager")
    try:
        yield
    finally:
        for each, implementation in zip(models, implementations):
            each.set_attn_implementation(implementation)


def check_metric(training: RecipeArguments, names: Iterable[str]) -> None:
    """Check that the score that selects the best checkpoint is the loss or one of the names that will be computed.

    Raises:
        SystemExit: If it will not be computed. The message lists those that will.
    """
    known, named = ["loss", *names], training.metric_for_best_model
    if named and named.removeprefix("eval_") not in known:
        expected = f"--metric_for_best_model {named}: expected one of {', '.join(known)}"
        raise SystemExit(f"{expected}. If you did not give it, it is in the configuration file that --help names.")


def _norm_of_weights(model: torch.nn.Module) -> float:
    """Return the norm of all weights of a model, which is not finite if one of them is not."""
    norm: Any = get_total_norm([weight.detach() for weight in model.parameters() if weight.is_floating_point()])
    return float(norm.full_tensor() if hasattr(norm, "full_tensor") else norm)  # of FSDP
