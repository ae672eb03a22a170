"""Recipes: one script each, and the steps that they share. The rest of the package never imports them."""
