"""Benchmarks of the package against its peers and the machine's limit: `python -m benchmarks`, in the root folder."""
