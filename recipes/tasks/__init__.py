"""The tasks, one file each: checked rows, encoding (for `Dataset.map(batched=True)`) and collators."""
