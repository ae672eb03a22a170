"""A call when another package is imported, whoever imports it, without importing it here."""

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def call_after_import(name: str, call: Callable[[], None]) -> None:
    """Call a function now if a top-level module is imported already, and otherwise right after its import.

    Whoever imports the module then gets it after the call, in other threads too; an error of the call is an error of
    that import. The module need not be installed, and finding it (`importlib.util.find_spec`) calls nothing. If the
    module is executed again, as by `importlib.reload`, the function is called again.
    """
    if sys.modules.get(name) is not None:
        import_module(name)  # waits, if another thread imports it at this moment
        call()
    else:
        sys.meta_path.insert(0, _CallingFinder(name, call))


class _CallingFinder:
    """A finder that asks those after it in `sys.meta_path`, and gives the loader that they find a call to make."""

    def __init__(self, name: str, call: Callable[[], None]) -> None:
        self._name = name
        self._call = call

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the module's spec, or `None` for other modules and if no finder knows it."""
        if name != self._name:
            return None
        for finder in sys.meta_path[sys.meta_path.index(self) + 1 :]:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None:  # a folder of that name without `__init__.py` is not the package
                    self._call_after_execution(spec.loader)
                return spec
        return None

    def _call_after_execution(self, loader: Any) -> None:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            self._call()

        loader.exec_module = exec_module  # of this loader only, whose class stays what inspect and others expect
