"""The Hub: the code and the card that are saved with a model, and pushing them."""
