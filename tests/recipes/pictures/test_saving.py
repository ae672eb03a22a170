"""How a picture is left."""

from matplotlib.figure import Figure

from atenta.recipes.pictures.saving import save_picture
from support.recipes import assert_picture


def test_the_folder_is_made_and_the_path_printed(tmp_path, capsys):
    figure = Figure()
    figure.subplots().plot([1, 2])
    path = tmp_path / "new" / "picture.png"
    save_picture(figure, path)
    assert_picture(path)
    assert capsys.readouterr().out == f"{path}\n"
