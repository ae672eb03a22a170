"""A pipeline of transformers that restores texts. It is saved with the model, and runs without this package."""

from collections.abc import Mapping
from typing import Any

from ..restoration.character_codes import spellings_of
from ..restoration.window_reader import WindowReader, run_in_torch
from .saved_pipeline import SavedPipeline


class CharacterRestorationPipeline(SavedPipeline):
    """The pipeline `character-restoration`, for a tagger of characters: see [`CharacterRestorer`].

    Called with a text or a list of texts of any length, it returns `{"restored_text": …}` for each. Options:
    `min_confidence`, below which no character is changed; `variant`, `"br"` or `"pt"`: words that Brazil and Portugal
    mark differently get its marks; and `return_probabilities`, which adds `probabilities`, a list of floats, one for
    each character of the given text in NFC. With `batch_size`, that many texts are restored together.

    Example:

    ```python
    >>> from transformers import pipeline

    >>> restore = pipeline("character-restoration", "my-tagger", trust_remote_code=True)
    >>> restore("A acao comecou amanha, nao e?")["restored_text"]
    ```
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        options = (getattr(self.model.config, "task_specific_params", None) or {}).get(self.task) or {}
        # As `writes_units` of engines/kinds.py, which is not saved with a model, as this file is.
        if "tag_characters" in options or not getattr(self.model.config, "character_variants", None):
            raise ValueError(
                f"{type(self.model).__name__} does not restore characters, which the pipeline {self.task!r} needs: "
                "give a tagger that finetune_characters.py has trained."
            )
        spellings = spellings_of(self.model)
        self.restorer = WindowReader(run_in_torch(self.model), self.model.config, self.tokenizer, spellings)

    # transformers declares these methods with any options, and lists fewer types than it accepts.
    def _sanitize_parameters(  # type: ignore[override]
        self,
        min_confidence: float | None = None,
        variant: str | None = None,
        return_probabilities: bool | None = None,
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        given = {"min_confidence": min_confidence, "variant": variant}
        forward = {name: value for name, value in given.items() if value is not None}
        after = {} if return_probabilities is None else {"return_probabilities": return_probabilities}
        return {}, forward, after

    def _forward(  # type: ignore[override]
        self, model_inputs: Mapping[str, Any], min_confidence: float = 0.0, variant: str | None = None
    ) -> dict[str, Any]:
        texts = model_inputs["text"]  # a list, if they are a batch
        given = [texts] if isinstance(texts, str) else texts
        restored = self.restorer.restore(given, min_confidence, variant=variant)
        columns = {"text": [each.text for each in restored]}
        columns["probabilities"] = [each.probabilities.tolist() for each in restored]
        return {name: column[0] for name, column in columns.items()} if isinstance(texts, str) else columns

    def postprocess(  # type: ignore[override]
        self, model_outputs: Mapping[str, Any], return_probabilities: bool = False
    ) -> dict[str, Any]:
        """Return `restored_text` and, on request, `probabilities`."""
        answer = {"restored_text": model_outputs["text"]}
        if return_probabilities:
            answer["probabilities"] = model_outputs["probabilities"]
        return answer
