"""The start of the command `atenta`, which can be stopped before it imports what takes time."""

from atenta.recipes.terminal import stop_at_once


def main() -> None:
    """Run the command."""
    stop_at_once()
    from atenta.command.main import main as run

    run()
