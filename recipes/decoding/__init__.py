"""Text from trained models: the n best outputs, continuations, ensembles, and searches shown step by step."""
