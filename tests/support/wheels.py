"""Build the package, and install it into an environment without this repository."""

import shutil
import sys
import sysconfig
import venv
from pathlib import Path

from support.ranks import run

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "atenta"
FOLDERS = sorted(path.name for path in PACKAGE.iterdir() if path.is_symlink())


def copy_source(copy: Path) -> Path:
    """Copy the package's source, into which builds may write, without the training splits of the sample data."""
    copy.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "hub_card.md"):
        shutil.copy(ROOT / name, copy)
    shutil.copytree(
        ROOT / "src", copy / "src", symlinks=True, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
    )
    for folder in FOLDERS:
        shutil.copytree(
            ROOT / folder,
            copy / folder,
            symlinks=True,
            ignore=shutil.ignore_patterns("__pycache__", "train", "train.*", "portugues", "portugues_2"),
        )
    return copy


def build(kind: str, source: Path, destination: Path) -> Path:
    """Build a `wheel` or `sdist` with the build backend of pyproject.toml."""
    destination.mkdir()
    script = f"import sys, setuptools.build_meta as backend; print(backend.build_{kind}(sys.argv[1]))"
    return destination / run(sys.executable, "-c", script, destination, cwd=source).split()[-1]


def install(*what: str | Path, environment: Path) -> Path:
    """Install into an environment with this one's packages except ours, and return its Python.

    `pip` and the build use only packages that are installed here, so nothing is downloaded.
    """
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    purelib = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(run(python, "-c", purelib, cwd=environment).strip())
    # A path in a .pth file adds packages but not the import hooks of editable installs.
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--ignore-installed", "--quiet"]
    run(sys.executable, "-m", "pip", "--python", python, "install", *options, *what, cwd=environment)
    return python
