"""The one-parameter formula gets the best constant that there is."""

from hypothesis import given
from hypothesis import strategies as st

from skipline.experiment.trivial import best_constant

POINTS = st.lists(st.tuples(st.floats(0.05, 20), st.floats(0, 1)), min_size=1, max_size=12)


def squares(c: float, points: list[tuple[float, float]]) -> float:
    return sum((min(1.0, c * ratio) - measured) ** 2 for ratio, measured in points)


@given(POINTS)
def test_no_other_constant_fits_better(points: list[tuple[float, float]]) -> None:
    ratios, measured = zip(*points, strict=True)
    best = squares(best_constant(list(ratios), list(measured)), points)
    assert all(best <= squares(step / 100, points) + 1e-12 for step in range(1, 2500))


def test_points_on_the_formula_give_its_constant_back() -> None:
    ratios = [0.2, 0.5, 1.0, 4.0]
    constant = best_constant(ratios, [min(1.0, 0.7 * ratio) for ratio in ratios])
    assert abs(constant - 0.7) < 1e-9
