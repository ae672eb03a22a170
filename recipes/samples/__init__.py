"""The sample data of the repository, as the same rows that a user's own files give."""
