"""`python -m atenta`, the same as the command `atenta`."""

from atenta.command.main import main

main()
