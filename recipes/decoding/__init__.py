"""From a trained encoder-decoder to texts: the n best of each source, and several models deciding together."""
