"""The part that the pipelines of this package share: how one is called and saved."""

import os
from collections.abc import Iterable, Mapping
from typing import Any

from transformers import Pipeline
from transformers.dynamic_module_utils import custom_object_save

from ..tokenization.text_checks import check_texts


class SavedPipeline(Pipeline):
    """A pipeline for texts whose code is saved with models of this package, and only with them.

    transformers would copy the file of a registered pipeline into every folder, without the files that it imports.
    """

    _load_processor = False
    _load_image_processor = False
    _load_video_processor = False  # transformers would ask whether to run the code that such a file of a folder names
    _load_feature_extractor = False
    _load_tokenizer = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        longest = self.tokenizer.model_max_length
        if not isinstance(longest, int | float):
            raise ValueError(f"tokenizer_config.json: model_max_length is {longest!r:.60}; expected a number.")

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the results for an input or several; those of an empty list are an empty list.

        Several are a list, a column or a data set of `datasets`, a tuple, or a generator or data set of torch.
        """
        is_one = isinstance(inputs, str | bytes | Mapping)
        if not is_one and isinstance(inputs, Iterable) and hasattr(inputs, "__getitem__"):  # transformers takes lists
            inputs = list(inputs)
        if isinstance(inputs, list) and not inputs:  # transformers looks at the first
            return []
        if isinstance(inputs, list) and not isinstance(inputs[0], dict):  # of questions
            check_texts(inputs, "inputs")
        return super().__call__(inputs, *args, **kwargs)

    def preprocess(self, inputs: str) -> dict[str, Any]:  # type: ignore[override]
        """Return the text; `_forward` encodes it."""
        if not isinstance(inputs, str):
            raise TypeError(f"Found {inputs!r:.80} ({type(inputs).__name__}); expected a text.")
        check_texts(inputs)
        return {"text": inputs}

    def save_pretrained(self, save_directory: str | os.PathLike, **kwargs: Any) -> None:
        """Save the model and the tokenizer. Models of this package bring the code of their pipeline.

        Arguments are as in transformers. The folder is created if it does not exist.
        """
        os.makedirs(save_directory, exist_ok=True)
        self.model.save_pretrained(save_directory, **kwargs)
        self.tokenizer.save_pretrained(save_directory, **kwargs)
        if type(self).__module__.startswith("transformers_modules"):  # loaded from such a folder
            custom_object_save(self, save_directory)
