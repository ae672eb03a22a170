"""Options, models, batches, runs, the trainer and checkpoints, shared by the recipes that train."""
