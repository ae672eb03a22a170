import csv
import json

from PIL import Image

from atenta.recipes.reporting import draw_learning_curve, table, write_metrics, write_predictions


def test_table_has_a_line_a_row_and_four_decimals():
    lines = table({"left as it is": {"exact_match": 0.5}, "model": {"exact_match": 0.98765}}).splitlines()
    assert lines[0].split() == ["exact", "match"]
    assert lines[1].split() == ["left", "as", "it", "is", "0.5000"]
    assert lines[2].split() == ["model", "0.9877"]
    assert len({len(line) for line in lines}) == 1


def test_metrics_are_json_that_keeps_accents(tmp_path):
    path = tmp_path / "metrics.json"
    write_metrics(path, {"ação": {"score": 0.25}})
    assert "ação" in path.read_text(encoding="utf-8")
    assert json.loads(path.read_text(encoding="utf-8")) == {"ação": {"score": 0.25}}


def test_predictions_come_back_whole_even_with_tabs_and_line_breaks(tmp_path):
    path = tmp_path / "predictions.tsv"
    columns = {"source": ["a\tb", 'c "d"'], "output": ["é\nx", ""]}
    write_predictions(path, columns)
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t"))
    assert rows == [["source", "output"], ["a\tb", "é\nx"], ['c "d"', ""]]


def test_learning_curve_is_a_picture(tmp_path):
    path = tmp_path / "curve.png"
    history = [{"step": 1, "loss": 3.0}, {"step": 2, "loss": 2.0}, {"step": 2, "eval_loss": 2.5, "eval_exact": 0.5}]
    draw_learning_curve(path, history, "exact")
    with Image.open(path) as picture:
        assert picture.format == "PNG"
        assert len(picture.convert("L").histogram()) == 256
        assert picture.convert("L").getextrema() == (0, 255)
