"""Wheel, sdist and editable installs give `import atenta`, with its card, from any directory."""

import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

import atenta

ROOT = Path(__file__).parents[2]
FOLDERS = {
    "atenta": "hub",
    "atenta.configuration": "configuration",
    "atenta.tokenization": "tokenization",
    "atenta.modeling": "modeling",
    "atenta.recipes": "recipes",
}
# Saves a model, whose card and code come from the package's files, and loads a recipe's configuration.
USE = """
import importlib.resources, pathlib, sys, atenta, atenta.recipes.pairs
assert pathlib.Path(atenta.__file__).resolve().is_relative_to(sys.argv[1]), atenta.__file__
config = atenta.AtentaDecoderConfig(hidden_size=8, num_attention_heads=2, intermediate_size=8, num_hidden_layers=1)
atenta.AtentaDecoderForCausalLM(config).save_pretrained("model")
assert "## Limits" in pathlib.Path("model/README.md").read_text(encoding="utf-8")
assert pathlib.Path("model/modeling_decoder.py").exists()
assert importlib.resources.files("atenta.recipes").joinpath("configs/accents.yaml").is_file()
print(atenta.__version__)
"""


def test_version_is_the_distribution_s():
    assert atenta.__version__ == version("atenta")
    assert (
        atenta.__version__
        == tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    )


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture
def source(tmp_path) -> Path:
    """A copy of the source tree without data that only the repository holds, for builds to write into."""
    copy = tmp_path / "source"
    copy.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "hub_card.md"):
        shutil.copy(ROOT / name, copy)
    for folder in FOLDERS.values():
        shutil.copytree(
            ROOT / folder, copy / folder, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", "train")
        )
    return copy


@pytest.fixture
def install(tmp_path):
    """Install into an environment that sees this one's packages, all but ours, and use the package there.

    Both `pip` and the build read only what is installed here: nothing is downloaded.
    """

    def install_and_use(*what: str | Path, package_folder: Path | None = None) -> None:
        environment, elsewhere = tmp_path / "environment", tmp_path / "elsewhere"
        venv.create(environment, with_pip=False)
        elsewhere.mkdir()
        python = environment / "bin" / "python"
        packages = Path(
            run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path).strip()
        )
        # A path in a .pth file brings packages, but not the import hooks of editable installs.
        (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
        options = ["--no-deps", "--no-build-isolation", "--no-index", "--ignore-installed", "--quiet"]
        run(sys.executable, "-m", "pip", "--python", python, "install", *options, *what, cwd=elsewhere)
        printed = run(python, "-c", USE, (package_folder or environment).resolve(), cwd=elsewhere)
        assert printed.split()[-1] == version("atenta")

    return install_and_use


def build(kind: str, source: Path, destination: Path) -> Path:
    """Build a `wheel` or `sdist` through the build backend that pyproject.toml names."""
    destination.mkdir()
    script = f"import sys, setuptools.build_meta as backend; print(backend.build_{kind}(sys.argv[1]))"
    return destination / run(sys.executable, "-c", script, destination, cwd=source).split()[-1]


@pytest.mark.slow
def test_wheel(source, install, tmp_path):
    wheel = build("wheel", source, tmp_path / "dist")
    install(wheel)
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    modules = {
        f"{package.replace('.', '/')}/{path.name}"
        for package, folder in FOLDERS.items()
        for path in (source / folder).glob("*.py")
    }
    configs = {f"atenta/recipes/configs/{path.name}" for path in (source / "recipes" / "configs").iterdir()}
    assert names == modules | configs | {"atenta/hub_card.md"}


@pytest.mark.slow
def test_sdist(source, install, tmp_path):
    sdist = build("sdist", source, tmp_path / "dist")
    with tarfile.open(sdist) as archive:
        names = {Path(name).relative_to(Path(name).parts[0]).as_posix() for name in archive.getnames()}
    assert {"hub/hub_card.md", "LICENSE", "README.md", "recipes/configs/accents.yaml"} <= names
    assert not [name for name in names if name.startswith("recipes/data")]
    install(sdist)


@pytest.mark.slow
def test_editable(source, install):
    install("--editable", source, package_folder=source)
