"""The command `atenta`: beside the package, so that Ctrl+C ends it in a line before the package is imported too."""

import sys


def main() -> None:
    """Run the command."""
    try:
        from atenta.recipes.terminal import stop_at_once
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        sys.exit(130)
    stop_at_once()
    from atenta.command.main import main as run

    run()
