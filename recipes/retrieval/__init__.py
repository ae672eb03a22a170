"""Passages found by the vectors of an encoder (document 5), and by the characters that they share with a query."""
