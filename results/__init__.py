"""The results of the recipes on published data: runs, their figures, and the table of them."""
