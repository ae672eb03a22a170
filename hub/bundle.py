"""Flat copies of the package's code, saved with a model so that it loads without the package.

The dynamic modules of the Hub are files in one folder that import each other with `from .name import`. The package's
modules are in several folders, so their imports are rewritten; everything else is copied unchanged. Importing this
module makes configurations save such copies.
"""

import ast
import importlib.util
from collections.abc import Iterable
from functools import cache
from typing import Any

from transformers import PreTrainedConfig

from .. import registration  # not its names: it is half imported if it is what imports transformers first
from ..configuration.configuration_base import AtentaConfig, SavedCode
from ..engines.kinds import kind_of

PACKAGE = __package__.partition(".")[0]


def collect_code(config: PreTrainedConfig) -> SavedCode | None:
    """Return the code of all models of a configuration's family, and the pipelines of this package for its model.

    `auto_map` has every auto class of the family, whichever model is saved. It is `None` if this package does not
    register the configuration's class, such as a user's own.
    """
    models = registration.AUTO_CLASSES.get(type(config))
    if models is None:
        return None
    classes = {"AutoConfig": type(config), **models}
    auto_map = {name: f"{_stem(each.__module__)}.{each.__name__}" for name, each in classes.items()}
    modules = {each.__module__ for each in classes.values()}
    registered = {each.__name__ for each in models.values()}
    kinds = [kind_of(config.to_dict(), name) for name in config.architectures or [] if name in registered]
    pipelines: dict[str, dict[str, Any]] = {
        kind.name: {"impl": registration.PIPELINES[kind.name], "pt": [kind.auto_class]}
        for kind in kinds
        if kind.name in registration.PIPELINES
    }
    modules |= {f"{PACKAGE}.pipelines.{each['impl'].partition('.')[0]}" for each in pipelines.values()}
    return SavedCode(auto_map, flat_sources(modules), pipelines)


def flat_sources(modules: Iterable[str]) -> dict[str, str]:
    """Return the sources of modules, and of all that they import of this package, by their file names in one folder.

    Raises:
        ValueError: If two modules would have the same file name, or an import cannot be rewritten: `import atenta...`,
            or an import from a package instead of the module that defines the name.
    """
    sources: dict[str, str] = {}
    names: dict[str, str] = {}
    pending = list(modules)
    while pending:
        name = pending.pop()
        stem = _stem(name)
        if names.setdefault(stem, name) != name:
            raise ValueError(f"{name} and {names[stem]} would both be {stem}.py. Rename one of them.")
        if f"{stem}.py" not in sources:
            sources[f"{stem}.py"], imported = _flatten(name)
            pending += imported
    return sources


@cache  # each checkpoint is saved with its code
def _flatten(module: str) -> tuple[str, list[str]]:
    """Return the source of a module with its imports from this package rewritten, and the modules imported there."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.submodule_search_locations is not None:
        raise ValueError(f"{module} is not a file. Import from the module that defines the name.")
    loader: Any = spec.loader
    source = loader.get_source(module)
    lines = source.splitlines(keepends=True)
    imported = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import) and any(_is_ours(alias.name) for alias in node.names):
            raise ValueError(f"{module}, line {node.lineno}: write `from ... import ...`, which can be rewritten.")
        if not isinstance(node, ast.ImportFrom) or not (node.level or _is_ours(node.module or "")):
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


AtentaConfig.code_collector = collect_code
