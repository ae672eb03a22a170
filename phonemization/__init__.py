"""Texts as phones: a saved model of words to phones, lexicons, and Portuguese numbers and abbreviations in words."""
