"""Pipelines of transformers for the models of this package and others: text to text, questions, restoration."""
