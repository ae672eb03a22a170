"""Rows become ids and labels (functions for `Dataset.map(batched=True)`), and these become batches (collators)."""
