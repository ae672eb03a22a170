"""Character-level Transformers for Hugging Face transformers (encoder, decoder, encoder-decoder), and pair votes.

Importing the package registers the models with transformers' auto classes and pipelines. Saved models contain the
code that they need, so they also load where the package is not installed. `restore_accents` restores the accents of
Portuguese with the model that comes with the package.

The public names are listed in `__init__.pyi` and imported when they are asked for: the package itself imports neither
torch nor transformers. The models are registered when transformers is there, whoever imports it, and before or after
this package.
"""

import sys
from contextlib import redirect_stdout
from typing import Any

from lazy_loader import attach_stub

from .import_hook import call_after_import

_import_name, _, _names = attach_stub(__name__, __file__)
__all__ = sorted([*_names, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "__version__":
        from importlib.metadata import version  # takes longer than the rest of this file

        value = version(__name__)
    else:
        if name.startswith("Atenta"):
            # Registration imports the same modules. A thread that imports one of them and then waits for transformers,
            # while the thread that imports transformers registers, would each wait for the other.
            import transformers  # noqa: F401
        value = _import_name(name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _register() -> None:
    """Register the models with transformers' auto classes, and set what saves their code and writes their cards."""
    from transformers.utils import is_torch_available

    if is_torch_available():  # transformers has no models without it
        # Under `python -OO` transformers prints which docstrings it lacks: not among the results of a program.
        with redirect_stdout(sys.stderr):
            # Each of these modules does its part at its end, so it may also be what imported transformers first.
            import atenta.hub.bundle
            import atenta.hub.card  # noqa: F401


call_after_import("transformers", _register)
