"""Restoration of characters: the accents of Portuguese with the model in this package, or any tagger of characters."""

from .portuguese import restore_accents
from .restorer import CharacterRestorer, RestoredText
from .spellings import Spellings

__all__ = ["CharacterRestorer", "RestoredText", "Spellings", "restore_accents"]
