"""`atenta` in this process: what it prints, and the line with which it refuses."""

from pathlib import Path

from click.testing import Result
from typer.testing import CliRunner

from atenta.command.main import app


def run(*arguments: object, code: int = 0) -> Result:
    """Run the command and return its result; standard output and error are apart."""
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result


def refusal(*arguments: object, code: int = 1) -> str:
    """Return the line with which the command was refused."""
    result = run(*arguments, code=code)
    line = str(result.exception) if code == 1 else " ".join(result.output.replace("│", "").split())
    assert "\n" not in line
    return line


def write_text(path: Path, text: str) -> Path:
    """Write a text as UTF-8 with the line ends that it has, and return the path."""
    path.write_bytes(text.encode())
    return path
