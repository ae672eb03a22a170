"""Curves of the picture, and the picture."""

from benchmarks.growth import BATCHES, LENGTHS, curves
from benchmarks.pictures import draw_growth
from benchmarks.results import LIMIT, OURS, Work
from benchmarks.settings import Settings
from benchmarks.sizes import GROWING
from support.recipes import assert_picture


def test_each_work_is_a_point_of_its_own_curve(tmp_path):
    sizes = GROWING["cpu"]
    count = len(LENGTHS) + len(BATCHES) + len(sizes)
    works = [Work(f"step {number}", "ms", {OURS: [1.0 + number] * 3, LIMIT: [1.0]}) for number in range(count + 1)]
    lengths, batches, widths = (of_kind[OURS] for of_kind in curves(works, Settings()).values())
    assert lengths[0] == (LENGTHS[0], 1.0)
    assert batches[-1] == (BATCHES[-1], float(len(LENGTHS) + len(BATCHES)))
    assert widths == [(size.width, float(count - len(sizes) + 1 + place)) for place, size in enumerate(sizes)]
    draw_growth(tmp_path / "growth.png", curves(works, Settings()), "a title")
    assert_picture(tmp_path / "growth.png", colours=10)
