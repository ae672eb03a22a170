"""Pictures of models and runs. Each `draw_…` returns a figure, which a notebook shows and a command saves."""
