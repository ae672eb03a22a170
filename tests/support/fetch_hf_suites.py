"""Fetch Hugging Face's own test files for the installed transformers version, from its source package.

This is run when the environment is set up, so that no test needs a network. It uses only the standard library.
"""

import shutil
import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path

CACHE = Path(__file__).parents[2] / ".cache"


def suites_folder() -> Path:
    """Return the folder for the test files of the installed transformers version. git ignores it."""
    return CACHE / f"transformers-{version('transformers')}" / "tests"


def download_source(requirement: str, folder: Path) -> Path:
    """Download the source package of `requirement` (such as `transformers==5.23.0`) into `folder`.

    Returns:
        The path of the archive.

    Raises:
        subprocess.CalledProcessError: If pip finds no such source package.
    """
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
    subprocess.run([*command, "--dest", str(folder), requirement], check=True)
    return next(folder.glob("*.tar.gz"))


def unpack_tests(archive: Path, destination: Path) -> None:
    """Unpack the `tests` folder of a source package as `destination`, which appears complete or not at all.

    Raises:
        FileNotFoundError: If the archive has no `tests` folder.
    """
    with tempfile.TemporaryDirectory(dir=destination.parent) as unpacked:
        with tarfile.open(archive) as package:
            members = [member for member in package.getmembers() if member.name.split("/")[1:2] == ["tests"]]
            if not members:
                raise FileNotFoundError(f"{archive.name} has no tests folder; its layout has changed.")
            package.extractall(unpacked, members=members, filter="data")
        tests = next(Path(unpacked).glob("*/tests"))
        (tests / "__init__.py").touch()  # the repository has this file, the source package does not
        shutil.move(tests, destination)


def main() -> None:
    """Fetch the test files unless they exist."""
    destination = suites_folder()
    if not destination.exists():
        destination.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as downloads:
            unpack_tests(download_source(f"transformers=={version('transformers')}", Path(downloads)), destination)
    print(f"Hugging Face's test files: {destination}")


if __name__ == "__main__":
    main()
