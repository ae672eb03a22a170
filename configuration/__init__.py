"""Configurations: one file per model family over shared bases. They do not import the modeling code."""

# First, before any file of ours is half imported: `atenta` registers its models when transformers has been imported.
import transformers  # noqa: F401
