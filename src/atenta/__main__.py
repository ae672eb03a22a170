"""`python -m atenta`, the same as the command `atenta`."""

from atenta.command.start import main

main()
