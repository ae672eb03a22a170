"""Pipelines of transformers for models of this package and of others: text to text, questions, restored characters."""

# First: importing it registers the pipelines of this folder, which needs their modules whole.
import transformers.pipelines  # noqa: F401
