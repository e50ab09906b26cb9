"""Checks judge the distance between predicted and measured."""

import polars as pl
import pytest

from skipline.experiment.checks import judge
from skipline.experiment.definition import Check
from skipline.experiment.table import NUMBERS


def table(pairs: list[tuple[float, float]]) -> pl.DataFrame:
    """Build a result table of one metric from (predicted, measured) pairs."""
    numbers = dict.fromkeys(NUMBERS, 0.0)
    rows = [
        {
            "ring": ring,
            "basis": "predicted",
            "metric": "rate",
            "unit": "percent",
            **numbers,
            "predicted": predicted,
            "measured": measured,
            "error": predicted - measured,
            "relative_error": 100 * (predicted - measured) / measured,
        }
        for ring, (predicted, measured) in enumerate(pairs)
    ]
    return pl.DataFrame(rows)


def check(statistic: str, at_most: float, below: float | None = None) -> Check:
    return Check.model_validate(
        {
            "name": "c",
            "text": "a check",
            "metrics": ["rate"],
            "statistic": statistic,
            "measured_below": below,
            "at_most": at_most,
            "unit": "points",
        }
    )


def test_mean_absolute_error_counts_both_directions() -> None:
    verdict = judge(check("mean_absolute_error", 4.0), table([(54, 50), (48, 50)]), ["ring"])
    assert verdict.value == pytest.approx(3.0)
    assert verdict.holds
    assert (verdict.worst_point, verdict.worst_error) == ({"ring": 0}, 4.0)


def test_points_that_were_measured_high_can_be_left_out() -> None:
    pairs = [(90.0, 99.5), (48.0, 50.0)]
    verdict = judge(check("mean_absolute_error", 1.9, below=99.0), table(pairs), ["ring"])
    assert verdict.value == pytest.approx(2.0)
    assert (verdict.numbers, verdict.holds) == (1, False)


def test_relative_error_is_judged_at_its_worst() -> None:
    pairs = [(110.0, 100.0), (44.0, 50.0)]
    verdict = judge(check("worst_relative_error", 11.0), table(pairs), ["ring"])
    assert verdict.value == pytest.approx(12.0)
    assert not verdict.holds
    assert verdict.worst_error == pytest.approx(-12.0)
