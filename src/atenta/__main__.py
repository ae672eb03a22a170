"""`python -m atenta`, the same as the command `atenta`."""

from atenta_command import main

main()
