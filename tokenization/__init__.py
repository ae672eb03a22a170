"""The character tokenizer of all families, fast encoding of corpora, spans in the text, and checks of texts."""
