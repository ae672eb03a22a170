"""The last step of a recipe: a folder with model, tokenizer, code and card that loads elsewhere, and on the Hub."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from huggingface_hub import HfApi
from transformers import Trainer

from atenta.card import write_model_card
from atenta.recipes import decode
from atenta.recipes.pairs import Pair


def finish_model_folder(
    trainer: Trainer, *, about: Mapping[str, str], scores: Mapping[str, float], push_to_hub: bool
) -> Path:
    """Complete what `trainer.save_model()` wrote: no pickle, a card with the scores, and the Hub's copy.

    Args:
        trainer: its `args.output_dir` is the folder; `args.hub_model_id` names the repository (default: the folder's
            name), `args.hub_token` and `args.hub_private_repo` how it is reached.
        about: what the card says of the data, the language and the licence, as `write_model_card` takes them.
        scores: figures of the test set, for the card.
        push_to_hub: upload everything but the checkpoints, which hold pickles.

    Returns:
        The folder.
    """
    folder = Path(trainer.args.output_dir)
    (folder / "training_args.bin").unlink(missing_ok=True)
    model = trainer.accelerator.unwrap_model(trainer.model)
    write_model_card(folder, model, scores=scores, model_name=folder.as_posix(), **about)
    if push_to_hub:
        hub = HfApi(token=trainer.args.hub_token)
        repository = hub.create_repo(
            trainer.args.hub_model_id or folder.name, private=trainer.args.hub_private_repo, exist_ok=True
        )
        write_model_card(folder, model, scores=scores, model_name=repository.repo_id, **about)
        hub.upload_folder(
            repo_id=repository.repo_id, folder_path=folder, ignore_patterns=["checkpoint-*", "*.bin", "*.pt"]
        )
        print(f"Pushed to {repository}")
    return folder


def decode_afresh(folder: str, test: list[Pair], outputs: list[str]) -> None:
    """Load the saved model in a process that knows nothing of this one, and decode the first ten sources again.

    Raises:
        RuntimeError: it decodes otherwise than the model that was trained.
    """
    shown = [source + "\t" * bool(tags) + ";".join(tag[1:-1] for tag in tags) for source, _, tags in test[:10]]
    command = [sys.executable, decode.__file__, "--", folder, *shown]  # a source may start with a hyphen
    reloaded = (
        subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.removesuffix("\n").split("\n")
    )
    if reloaded != outputs[:10]:
        raise RuntimeError(f"{folder} was saved, but a fresh process decodes otherwise: {reloaded}")
    print(f"Saved in {folder}. A fresh process loads it and decodes these ten alike:\n")
    source, output = next((pair for pair in zip(shown, reloaded) if pair[0] != pair[1]), (shown[0], reloaded[0]))
    print(f'$ python recipes/decode.py {folder} "{source}"\n{output}')
