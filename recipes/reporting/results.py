"""The last step of a recipe: its scores beside the baselines', and a folder that loads elsewhere, and on the Hub."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from huggingface_hub import HfApi

from atenta.card import write_model_card
from atenta.recipes.pictures.learning_curve import draw_learning_curve
from atenta.recipes.reporting.progress import figures
from atenta.recipes.reporting.tables import table, write_metrics, write_predictions
from atenta.recipes.training.trainer import RecipeTrainer


def finish(
    trainer: RecipeTrainer,
    *,
    scores: Mapping[str, Mapping[str, float]],
    predictions: Mapping[str, Sequence[Any]] | None = None,
    about: Mapping[str, str],
) -> None:
    """Print the scores, and complete the output folder: model, card, metrics, predictions and learning curve.

    Every process calls it; the main one prints and writes.

    Args:
        trainer: its `args.output_dir` is the folder, `args.metric_for_best_model` what the curve shows; its model
            and tokenizer are saved, and pushed to the Hub where `--push_to_hub` asked for it.
        scores: `{"most frequent word": {"exact_match": 0.5, …}, …, "model": {…}}`; the card tells those of `model`.
        predictions: columns of `predictions.tsv`, as long as each other.
        about: what the card says of the data, the language and the licence, as `write_model_card` takes them.
    """
    if hasattr(trainer.model.config, "use_cache"):
        trainer.model.config.use_cache = True  # the Trainer had put it off
    trainer.save_model()
    if not trainer.is_world_process_zero():
        return
    folder = Path(trainer.args.output_dir)
    (folder / "training_args.bin").unlink(missing_ok=True)  # a pickle, and of no use elsewhere
    history = [
        {**figures(entry), "step": entry["step"], "epoch": entry["epoch"]} for entry in trainer.state.log_history
    ]
    print(f"\n{table(scores)}\n", flush=True)
    if predictions is not None:
        write_predictions(folder / "predictions.tsv", predictions)
    metric = (trainer.args.metric_for_best_model or "loss").removeprefix("eval_")  # the Trainer takes both names
    draw_learning_curve(history, metric).savefig(folder / "learning_curve.png", dpi=150)
    model = trainer.accelerator.unwrap_model(trainer.model)
    card = {"scores": scores["model"], **about}
    write_model_card(folder, model, model_name=folder.as_posix(), **card)
    write_metrics(folder / "metrics.json", {"test": scores, "training": history})
    if trainer.push_when_finished:
        push(trainer, card)


def push(trainer: RecipeTrainer, card: Mapping[str, Any]) -> None:
    """Upload the output folder, without its checkpoints, which hold pickles, to the repository `--hub_model_id`."""
    arguments, folder = trainer.args, Path(trainer.args.output_dir)
    hub = HfApi(token=arguments.hub_token)
    repository = hub.create_repo(
        arguments.hub_model_id or folder.name, private=arguments.hub_private_repo, exist_ok=True
    )
    write_model_card(folder, trainer.accelerator.unwrap_model(trainer.model), model_name=repository.repo_id, **card)
    hub.upload_folder(
        repo_id=repository.repo_id, folder_path=folder, ignore_patterns=["checkpoint-*", "*.bin", "*.pt"]
    )
    print(f"Pushed to {repository}")
