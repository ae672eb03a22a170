"""A pipeline of transformers that restores texts. It is saved with the model, and runs without this package."""

import os
from collections.abc import Mapping
from typing import Any

from transformers import Pipeline

from .restorer import CharacterRestorer, load_spellings


class CharacterRestorationPipeline(Pipeline):
    """The pipeline `character-restoration`, for a tagger of characters: see [`CharacterRestorer`].

    Called with a text or a list of texts of any length, it returns `{"restored_text": …}` for each. Options:
    `min_confidence`, from which a character is changed, and `return_probabilities`, which adds `probabilities`, a list
    of floats, one for each character of the restored text.

    Example:

    ```python
    >>> from transformers import pipeline

    >>> restore = pipeline("character-restoration", "my-tagger", trust_remote_code=True)
    >>> restore("A acao comecou amanha, nao e?")["restored_text"]
    ```
    """

    _load_processor = False
    _load_image_processor = False
    _load_feature_extractor = False
    _load_tokenizer = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.restorer = CharacterRestorer(self.model, self.tokenizer, load_spellings(self.model.config))

    def save_pretrained(self, save_directory: str | os.PathLike, **kwargs: Any) -> None:
        """Save the model, the tokenizer and the spellings."""
        self.restorer.save_pretrained(save_directory)

    # transformers declares these methods with any options, and lists fewer types than it accepts.
    def _sanitize_parameters(  # type: ignore[override]
        self, min_confidence: float | None = None, return_probabilities: bool | None = None
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        forward = {} if min_confidence is None else {"min_confidence": min_confidence}
        after = {} if return_probabilities is None else {"return_probabilities": return_probabilities}
        return {}, forward, after

    def preprocess(self, inputs: str) -> dict[str, Any]:  # type: ignore[override]
        """Return the text; `_forward` encodes it."""
        return {"texts": [inputs]}

    def _forward(  # type: ignore[override]
        self, model_inputs: Mapping[str, Any], min_confidence: float = 0.0
    ) -> dict[str, Any]:
        (restored,) = self.restorer.restore(model_inputs["texts"], min_confidence)
        return restored._asdict()

    def postprocess(  # type: ignore[override]
        self, model_outputs: Mapping[str, Any], return_probabilities: bool = False
    ) -> dict[str, Any]:
        """Return `restored_text` and, on request, `probabilities`."""
        answer = {"restored_text": model_outputs["text"]}
        if return_probabilities:
            answer["probabilities"] = model_outputs["probabilities"].tolist()
        return answer
