"""Restoration of characters: the accents of Portuguese with the model in this package, or any tagger of characters."""
