"""The base class of all models: saving, pushing to the Hub, and the hook that writes model cards."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from transformers import PreTrainedModel


class AtentaPreTrainedModel(PreTrainedModel):
    """Base class of every model of this package, Transformers and pair votes."""

    # Extension point: writes the card of a model into a folder. Its arguments are the model, the folder and, before a
    # push, the repository. The package sets it (hub/card.py). This file may not import the writer, because copies
    # of this file are saved with every model, without the writer. In those copies it stays None: no card is written.
    card_writer: ClassVar[Callable[[PreTrainedModel, Path, str | None], None] | None] = None

    def save_pretrained(
        self, save_directory: str | os.PathLike, is_main_process: bool = True, *args: Any, **kwargs: Any
    ) -> None:
        """Save the model, its configuration, the code of both and, if the folder has none, a model card.

        Args:
            save_directory: folder to save in; created if it does not exist.
            is_main_process: whether this is the process that writes, in distributed training.
            args: as in transformers.
            kwargs: as in transformers.
        """
        super().save_pretrained(save_directory, is_main_process, *args, **kwargs)
        if is_main_process:
            self._write_card(save_directory)

    def _upload_modified_files(self, working_dir: str | os.PathLike, repo_id: str, *args: Any, **kwargs: Any) -> Any:
        # transformers uploads through this method, after it has put the repository's card, or a generic one, in the
        # folder. It offers no later public method to override.
        self._write_card(working_dir, repo_id)
        return super()._upload_modified_files(working_dir, repo_id, *args, **kwargs)

    def _write_card(self, folder: str | os.PathLike, repo_id: str | None = None) -> None:
        writer = type(self).card_writer
        if writer is not None:
            writer(self, Path(folder), repo_id)
