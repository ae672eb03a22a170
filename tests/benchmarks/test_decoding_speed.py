"""Tests of the curves of decoding growth, and of their picture."""

from benchmarks.benchmark_report import draw_growth
from benchmarks.decoding_speed import BATCH_SIZES, CACHE_LENGTHS, growth_curves
from benchmarks.measuring import GROWING, LIMIT, OURS, Settings, Work
from support.recipes import assert_picture


def test_each_work_is_one_point_of_its_curve(tmp_path):
    sizes = GROWING["cpu"]
    count = len(CACHE_LENGTHS) + len(BATCH_SIZES) + len(sizes)
    works = [Work(f"step {number}", "ms", {OURS: [1.0 + number] * 3, LIMIT: [1.0]}) for number in range(count + 1)]
    curves = growth_curves(works, Settings())
    lengths, batches, widths = (of_kind[OURS] for of_kind in curves.values())
    assert lengths[0] == (CACHE_LENGTHS[0], 1.0)
    assert batches[-1] == (BATCH_SIZES[-1], float(len(CACHE_LENGTHS) + len(BATCH_SIZES)))
    assert widths == [(size.width, float(count - len(sizes) + 1 + place)) for place, size in enumerate(sizes)]
    draw_growth(tmp_path / "growth.png", curves, "a title")
    assert_picture(tmp_path / "growth.png", colours=10)
