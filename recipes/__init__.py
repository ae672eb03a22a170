"""What is run: a script a recipe, and the parts that recipes share. The package never uses them."""
