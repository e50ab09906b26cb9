"""Is a change called significant when it is, and only then?"""

import random

import pytest

from skipline import InputError
from skipline.diff import bound, change, settings
from skipline.diff.change import Change
from skipline.diff.side import Figure


def figures(values: list[float], first: int = 1) -> dict[int, Figure]:
    return {seed: Figure(value, None) for seed, value in enumerate(values, first)}


def test_pairs_of_a_seed_tell_what_the_sides_alone_cannot() -> None:
    # Seeds differ by far more than the sides do.
    before = figures([10.0, 20.0, 30.0, 40.0, 50.0])
    now = figures([10.1, 20.2, 30.1, 40.2, 50.15])
    found = change.between("x", before, now)
    assert found.pairs == 5
    assert found.difference == pytest.approx(0.15)
    # Student's t of four degrees of freedom, 2.776, times 0.05 / sqrt(5).
    assert found.ci95 == pytest.approx(2.776 * 0.05 / 5**0.5, rel=1e-3)
    assert change.mark_significant([found]) == [True]
    apart = change.between("x", before, figures([10.1, 20.2, 30.1, 40.2, 50.15], first=6))
    assert apart.pairs == 0 and change.mark_significant([apart]) == [False]


def test_equal_sides_have_not_changed_and_a_constant_shift_has() -> None:
    same = change.between("x", figures([1.0, 2.0]), figures([1.0, 2.0]))
    shifted = change.between("x", figures([1.0, 2.0]), figures([1.5, 2.5]))
    assert (same.difference, same.ci95, same.chance) == (0, 0, 1)
    assert (shifted.ci95, shifted.chance) == (0, 0)


def test_of_one_run_each_the_intervals_within_decide() -> None:
    def of(before: float, now: float, ci95: float | None) -> Change:
        return change.between("x", {1: Figure(before, ci95)}, {1: Figure(now, ci95)})

    far, near, unknown = of(10, 12, 1.0), of(10, 11, 1.0), of(10, 12, None)
    assert change.mark_significant([far, near, unknown]) == [True, False, False]
    assert unknown.chance is None
    assert far.ci95 == pytest.approx(2**0.5)


def test_of_many_numbers_that_have_not_changed_few_are_called_changed() -> None:
    generator = random.Random(1)
    unchanged = [
        change.between(
            "x",
            figures([generator.gauss(0, 1) for _ in range(5)]),
            figures([generator.gauss(0, 1) for _ in range(5)]),
        )
        for _ in range(400)
    ]
    alone = sum(one.chance is not None and one.chance <= 0.05 for one in unchanged)
    assert alone > 5
    assert sum(change.mark_significant(unchanged)) == 0


@pytest.mark.parametrize(
    ("text", "now", "broken"),
    [
        ("p99<=1.05x", [115, 222, 328], True),
        ("p99<=1.05x", [104, 208, 312], False),
        ("p99>=0.95x", [85, 178, 272], True),
        ("p99>=0.95x", [90, 280, 370], False),
        ("p99<=1x", [99, 230, 290], False),  # more in the mean, but not certainly
    ],
)
def test_a_bound_is_broken_only_beyond_the_interval(
    text: str, now: list[float], broken: bool
) -> None:
    asked = bound.parse(text, "--gate")
    assert change.breaks(asked, figures([100, 200, 300]), figures(now)) is broken


def test_bounds_name_percentiles_and_tenants_shortly() -> None:
    assert bound.parse("tenant.b:p99<=1.1x", "--gate") == ("b:latency_ns.p99", True, 1.1)
    assert bound.parse("throughput_gbps >= .98x", "--gate") == ("throughput_gbps", False, 0.98)
    for text in ("p99", "p99<1x", "p99<=1", "<=1x"):
        with pytest.raises(InputError, match="write NAME<=FACTORx"):
            bound.parse(text, "--gate")


def test_settings_that_differ_are_found_in_tables_and_lists() -> None:
    before = {"title": "a", "cores": 1, "tenant": [{"cores": 1, "name": "b"}], "run": {"x": 1}}
    now = {"title": "b", "cores": 2, "tenant": [{"cores": 3, "name": "b"}], "nic": "e810"}
    assert settings.differing(before, now) == [
        ("cores", 1, 2),
        ("tenant.0.cores", 1, 3),
        ("run.x", 1, None),
        ("nic", None, "e810"),
    ]


def test_one_run_is_compared_with_the_mean_of_all_on_the_other_side() -> None:
    many = figures([10.0, 12.0, 14.0], first=2)
    found = change.between("x", {1: Figure(11.0, 0.5)}, many)
    assert found.pairs == 0
    assert found.difference == pytest.approx(1.0)
    # Student's t of two degrees of freedom, 4.303, times 2 / sqrt(3), beside 0.5.
    assert found.ci95 == pytest.approx((0.25 + (4.303 * 2 / 3**0.5) ** 2) ** 0.5, rel=1e-3)
    assert change.between("x", {1: Figure(11.0, None)}, many).chance is None


def test_a_side_without_spread_is_as_certain_as_the_other_side() -> None:
    constant, spread = figures([5.0, 5.0, 5.0]), figures([6.0, 7.0, 8.0], first=9)
    up, down = change.between("x", constant, spread), change.between("x", spread, constant)
    assert up.difference == pytest.approx(2.0)
    assert down.difference == pytest.approx(-2.0)
    assert up.ci95 == down.ci95 == pytest.approx(4.303 / 3**0.5, rel=1e-3)
    assert up.chance == pytest.approx(down.chance)
