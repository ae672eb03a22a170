"""The models: one file per family over shared building blocks (`positions`, `attention`, `block`, `embeddings`).

`cache_layers` speeds up generation. Pair votes use none of this: `modeling_pair_votes` reads a table that is filled by
counting (`vote_table`).
"""

# First, before any file of ours is half imported: `atenta` registers its models when transformers has been imported.
import transformers  # noqa: F401
