"""The command `atenta`."""
