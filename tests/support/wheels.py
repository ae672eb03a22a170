"""Build the package, and install it where this repository is not seen."""

import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = {
    "atenta": "hub",
    "atenta.configuration": "configuration",
    "atenta.tokenization": "tokenization",
    "atenta.modeling": "modeling",
    "atenta.recipes": "recipes",
}


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command, and return what it printed.

    Raises:
        AssertionError: it failed; the message shows what it printed.
    """
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def copy_source(copy: Path) -> Path:
    """Copy what the package is made of, for builds to write into; of the sample data all but what is learned."""
    copy.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "hub_card.md"):
        shutil.copy(ROOT / name, copy)
    for folder in FOLDERS.values():
        shutil.copytree(
            ROOT / folder,
            copy / folder,
            symlinks=True,
            ignore=shutil.ignore_patterns("__pycache__", "train", "train.*"),
        )
    return copy


def build(kind: str, source: Path, destination: Path) -> Path:
    """Build a `wheel` or `sdist` through the build backend that pyproject.toml names."""
    destination.mkdir()
    script = f"import sys, setuptools.build_meta as backend; print(backend.build_{kind}(sys.argv[1]))"
    return destination / run(sys.executable, "-c", script, destination, cwd=source).split()[-1]


def install(*what: str | Path, environment: Path) -> Path:
    """Install into an environment that sees this one's packages, all but ours, and return its Python.

    Both `pip` and the build read only what is installed here: nothing is downloaded.
    """
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    purelib = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(run(python, "-c", purelib, cwd=environment).strip())
    # A path in a .pth file brings packages, but not the import hooks of editable installs.
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--ignore-installed", "--quiet"]
    run(sys.executable, "-m", "pip", "--python", python, "install", *options, *what, cwd=environment)
    return python
