"""The table by which a user chooses: the same words, the same minutes, the same machine, and several libraries."""
