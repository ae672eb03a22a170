"""How a picture is left."""

import matplotlib.image
from matplotlib.figure import Figure

from atenta.recipes.pictures import saving
from atenta.recipes.pictures.saving import save_picture
from support.recipes import assert_picture


def test_the_folder_is_made_and_the_path_printed(tmp_path, capsys):
    figure = Figure()
    figure.subplots().plot([1, 2])
    path = tmp_path / "new" / "picture.png"
    save_picture(figure, path)
    assert_picture(path)
    assert capsys.readouterr().out == f"{path}\n"


def test_a_large_picture_has_fewer_dots(tmp_path, monkeypatch):
    monkeypatch.setattr(saving, "MOST_DOTS", 200)
    figure = Figure(figsize=(4, 1))
    figure.subplots().plot([1, 2])
    save_picture(figure, tmp_path / "picture.png")
    _, width, _ = matplotlib.image.imread(tmp_path / "picture.png").shape
    assert 150 < width <= 210  # but for the margin
