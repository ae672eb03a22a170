"""What the configuration of every model here has: a vocabulary, its special ids, and no misspelt option."""

from dataclasses import fields
from difflib import get_close_matches

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig


@strict
class AtentaConfig(PreTrainedConfig):
    r"""Options shared by every model of this package.

    Args:
        vocab_size (`int`, defaults to 420): number of tokens; the default is the default tokenizer's.
        pad_token_id, bos_token_id, eos_token_id (`int`, default to 0, 1 and 2): ids of `<pad>`, `<bos>`, `<eos>`.

    Raises:
        StrictDataclassError, ValueError: a value of the wrong type or outside its range, a special id outside the
            vocabulary, or a misspelt option. The message says what was given and what is allowed.
    """

    vocab_size: int = 420
    pad_token_id: int | None = 0
    bos_token_id: int | None = 1
    eos_token_id: int | list[int] | None = 2

    def __post_init__(self, **kwargs):
        self._reject_misspelt_options(kwargs)
        super().__post_init__(**kwargs)

    def _reject_misspelt_options(self, options: dict) -> None:
        # transformers keeps options that it does not know, so that `hiden_size=64` would build the default model.
        known = [field.name for field in fields(self)]
        for name in options.keys() - self.attribute_map.keys():
            if close := get_close_matches(name, known, n=1, cutoff=0.9):
                raise ValueError(f"{type(self).__name__} has no option {name!r}. Did you mean {close[0]!r}?")

    def validate_architecture(self) -> None:
        """Check what involves values rather than types. Called by `@strict` after construction.

        Raises:
            ValueError: as described in the class docstring.
        """
        for name in self._sizes():
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}: it must be at least 1.")
        self._validate_special_ids()

    def _sizes(self) -> tuple[str, ...]:
        """Names of the options that count something."""
        return ("vocab_size",)

    def _validate_special_ids(self) -> None:
        for name in ("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id"):
            ids = getattr(self, name, None)
            for token_id in ids if isinstance(ids, list) else [ids]:
                if token_id is not None and not 0 <= token_id < self.vocab_size:
                    raise ValueError(
                        f"{name}={token_id} is outside the vocabulary: ids run from 0 to {self.vocab_size - 1}."
                    )
