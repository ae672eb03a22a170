"""Each recipe that trains is a script with its dependencies in a header (PEP 723), so that `uv run` runs it alone."""

import re
import tomllib

import pytest
from packaging.requirements import Requirement

from support.recipe_cases import CASES
from support.recipes import RECIPES, ROOT

# As PEP 723 defines it.
_BLOCK = re.compile(r"(?m)^# /// (?P<type>[a-zA-Z0-9-]+)$\s(?P<content>(^#(| .*)$\s)+)^# ///$")
TRAINING = sorted(
    path.name
    for path in RECIPES.glob("*.py")
    if re.search(r"save_(run|tests|decoded|metrics_and_card)\(", path.read_text())
)


def header(name: str) -> dict:
    (block,) = (each for each in _BLOCK.finditer((RECIPES / name).read_text(encoding="utf-8")))
    assert block.group("type") == "script"
    lines = block.group("content").splitlines(keepends=True)
    return tomllib.loads("".join(line[2:] if line.startswith("# ") else line[1:] for line in lines))


def test_all_recipes_that_train_are_tested():
    assert {*CASES, "fit_pair_votes"} == {name.removesuffix(".py") for name in TRAINING}


@pytest.mark.parametrize("name", TRAINING)
def test_the_header_names_the_package_and_its_python(name):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = header(name)
    assert found["requires-python"] == project["requires-python"]
    (dependency,) = map(Requirement, found["dependencies"])
    assert dependency.name == project["name"]
    assert dependency.extras - {"search"} == {"recipes"}
    assert dependency.extras <= project["optional-dependencies"].keys()
    source = found["tool"]["uv"]["sources"][dependency.name]
    assert (RECIPES / source["path"]).resolve() == ROOT
