"""Missing accents in the files of a repository: prose, what the model finds in it, reports, changes."""
