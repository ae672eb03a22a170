"""What makes a saved model load where the package is not installed: flat copies of its code, and the `auto_map`.

The Hub's dynamic modules are files side by side that import each other by `from .name import`. The package's modules
are laid out in folders, so their imports are rewritten; everything else in them stays as it is.
"""

import ast
import functools
import importlib.util
from collections.abc import Iterable
from pathlib import Path

from transformers import PreTrainedConfig, PreTrainedModel

from .configuration import AtentaConfig

PACKAGE = __package__


def flat_sources(modules: Iterable[str]) -> dict[str, str]:
    """Collect modules and all that they import from this package, as files that import each other.

    Args:
        modules: full names, such as `"atenta.modeling.modeling_encoder"`.

    Returns:
        The source of each file by its name, such as `"modeling_encoder.py"`.

    Raises:
        ValueError: two modules would have one file name, or an import cannot be rewritten: `import atenta...`, or
            names taken from a package rather than from the module that defines them.
    """
    sources: dict[str, str] = {}
    names: dict[str, str] = {}
    pending = list(modules)
    while pending:
        name = pending.pop()
        stem = _stem(name)
        if names.setdefault(stem, name) != name:
            raise ValueError(f"{name} and {names[stem]} would both be {stem}.py: rename one of them.")
        if f"{stem}.py" not in sources:
            sources[f"{stem}.py"], imported = _flatten(name)
            pending += imported
    return sources


def _flatten(module: str) -> tuple[str, list[str]]:
    """The source of a module with its imports from this package made flat, and the modules that these name."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.submodule_search_locations is not None:
        raise ValueError(f"{module} is not a file: import from the module that defines the name.")
    source = spec.loader.get_source(module)
    lines = source.splitlines(keepends=True)
    imported = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import) and any(_is_ours(alias.name) for alias in node.names):
            raise ValueError(f"{module}, line {node.lineno}: write `from ... import ...`, which can be made flat.")
        if not isinstance(node, ast.ImportFrom) or not (node.level or _is_ours(node.module)):
            continue
        target = importlib.util.resolve_name("." * node.level + (node.module or ""), spec.parent)
        imported.append(target)
        line = lines[node.lineno - 1]
        _, found, names = line[node.col_offset :].partition(" import ")
        if not found:
            raise ValueError(f"{module}, line {node.lineno}: keep `from ... import` on one line.")
        lines[node.lineno - 1] = f"{line[: node.col_offset]}from .{_stem(target)} import {names}"
    return "".join(lines), imported


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == PACKAGE


def _stem(module: str) -> str:
    return module.rpartition(".")[2]


def save_code_with(auto_classes: dict[type[PreTrainedConfig], dict[str, type[PreTrainedModel]]]) -> None:
    """Let `config.save_pretrained`, which `model.save_pretrained` calls, write the code of the family beside it.

    `auto_map` names every auto class of the family, whichever model is saved. Only the classes given do so: what was
    loaded from a saved folder, without the package, saves the code that it came with, as transformers sees to.

    Args:
        auto_classes: for each configuration, its models by the name of the auto class that makes them.
    """
    save_configuration = AtentaConfig.save_pretrained

    @functools.wraps(save_configuration)
    def save_pretrained(self, save_directory, push_to_hub=False, **kwargs):
        if type(self) not in auto_classes:
            return save_configuration(self, save_directory, push_to_hub=push_to_hub, **kwargs)
        classes = {"AutoConfig": type(self), **auto_classes[type(self)]}
        sources = flat_sources({each.__module__ for each in classes.values()})  # raises before a file is written
        self.auto_map = {name: f"{_stem(each.__module__)}.{each.__name__}" for name, each in classes.items()}
        save_configuration(self, save_directory)
        for file, source in sources.items():
            (Path(save_directory) / file).write_text(source, encoding="utf-8")
        if push_to_hub:  # only now is there the code to upload
            self.push_to_hub(kwargs.pop("repo_id", Path(save_directory).name), **kwargs)

    AtentaConfig.save_pretrained = save_pretrained
