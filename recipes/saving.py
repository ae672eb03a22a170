"""The last step of a recipe: a folder with model, tokenizer, code and card, and a copy of it on the Hub if asked."""

from collections.abc import Mapping
from pathlib import Path

from huggingface_hub import HfApi
from transformers import Trainer

from atenta.card import write_model_card


def finish_model_folder(trainer: Trainer, *, data: str | None, scores: Mapping[str, float], push_to_hub: bool) -> Path:
    """Complete what `trainer.save_model()` wrote: no pickle, a card with the scores, and the Hub's copy.

    Args:
        trainer: its `args.output_dir` is the folder; `args.hub_model_id` names the repository (default: the folder's
            name), `args.hub_token` and `args.hub_private_repo` how it is reached.
        data: what the model was trained on, in words for the card.
        scores: figures of the test set, for the card.
        push_to_hub: upload everything but the checkpoints, which hold pickles.

    Returns:
        The folder.
    """
    folder = Path(trainer.args.output_dir)
    (folder / "training_args.bin").unlink(missing_ok=True)
    write_model_card(folder, trainer.accelerator.unwrap_model(trainer.model), data=data, scores=scores)
    if push_to_hub:
        hub = HfApi(token=trainer.args.hub_token)
        repository = hub.create_repo(
            trainer.args.hub_model_id or folder.name, private=trainer.args.hub_private_repo, exist_ok=True
        )
        hub.upload_folder(
            repo_id=repository.repo_id, folder_path=folder, ignore_patterns=["checkpoint-*", "*.bin", "*.pt"]
        )
        print(f"Pushed to {repository}")
    return folder
