"""How fast the package is, against its peers and the machine's limit: `python -m benchmarks` in the root."""
