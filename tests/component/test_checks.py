"""Checks judge the distance between predicted and measured, fitted and predicted points apart."""

import pytest

from skipline import RunError
from skipline.experiment.checks import error_verdict, error_verdicts
from skipline.experiment.definition import Basis, Check
from skipline.experiment.table import Comparison


def compared(
    pairs: list[tuple[float, float]], basis: Basis = "predicted", *, is_input: bool = False
) -> list[Comparison]:
    """Build the numbers of one metric from (predicted, measured) pairs."""
    return [
        Comparison(
            axes={"ring": ring},
            point_name=f"ring {ring}",
            basis=basis,
            metric="rate",
            label="Rate",
            unit="percent",
            predicted=predicted,
            ci95=None,
            predicted_min=predicted,
            predicted_max=predicted,
            predicted_runs=1,
            measured=measured,
            measured_sd=0.0,
            measured_min=measured,
            measured_max=measured,
            measured_runs=3,
            error=predicted - measured,
            relative_error=100 * (predicted - measured) / measured,
            is_input=is_input,
        )
        for ring, (predicted, measured) in enumerate(pairs)
    ]


def check(
    statistic: str,
    at_most: float,
    below: float | None = None,
    within_percent: float | None = None,
) -> Check:
    return Check.model_validate(
        {
            "name": "c",
            "text": "a check",
            "metrics": ["rate"],
            "statistic": statistic,
            "measured_below": below,
            "within_percent": within_percent,
            "at_most": at_most,
            "unit": "points",
        }
    )


def test_mean_absolute_error_counts_both_directions() -> None:
    verdict = error_verdict(check("mean_absolute_error", 4.0), compared([(54, 50), (48, 50)]))
    assert verdict.value == pytest.approx(3.0)
    assert verdict.holds
    (group,) = verdict.groups
    assert (group.worst_point, group.worst_error) == ({"ring": 0}, 4.0)
    assert group.worst_text == "Rate at ring 0"


def test_points_that_were_measured_high_can_be_left_out() -> None:
    pairs = [(90.0, 99.5), (48.0, 50.0)]
    verdict = error_verdict(check("mean_absolute_error", 1.9, below=99.0), compared(pairs))
    assert verdict.value == pytest.approx(2.0)
    assert (verdict.numbers, verdict.holds) == (1, False)


def test_relative_error_is_judged_at_its_worst() -> None:
    pairs = [(110.0, 100.0), (44.0, 50.0)]
    verdict = error_verdict(check("worst_relative_error", 11.0), compared(pairs))
    assert verdict.value == pytest.approx(12.0)
    assert not verdict.holds
    assert verdict.groups[0].worst_error == pytest.approx(-12.0)


def test_good_fitted_points_do_not_hide_bad_predictions() -> None:
    rows = compared([(50.0, 50.0)] * 9, "fitted") + compared([(45.0, 50.0)], "predicted")
    verdict = error_verdict(check("mean_absolute_error", 1.0), rows)
    assert verdict.value == pytest.approx(0.5)
    fitted, predicted = verdict.group("fitted"), verdict.group("predicted")
    assert fitted is not None
    assert predicted is not None
    assert (fitted.value, fitted.numbers) == (0.0, 9)
    assert (predicted.value, predicted.numbers) == (5.0, 1)
    assert not verdict.holds


def test_a_check_without_a_number_is_not_called_good() -> None:
    with pytest.raises(RunError, match="no measured number"):
        error_verdict(check("mean_absolute_error", 1.0, below=10.0), compared([(50.0, 50.0)]))


def test_the_share_of_numbers_beyond_a_distance_is_counted() -> None:
    rows = compared([(100.0, 100.0), (109.0, 100.0), (112.0, 100.0), (80.0, 100.0)])
    verdict = error_verdict(check("share_beyond", 40.0, within_percent=10.0), rows)
    assert (verdict.value, verdict.holds) == (50.0, False)
    assert error_verdict(check("share_beyond", 50.0, within_percent=10.0), rows).holds


def test_a_distance_belongs_to_a_share() -> None:
    with pytest.raises(ValueError, match="within_percent goes with"):
        check("share_beyond", 40.0)
    with pytest.raises(ValueError, match="within_percent goes with"):
        check("worst_relative_error", 40.0, within_percent=10.0)


def test_what_was_put_in_is_not_judged() -> None:
    put_in = compared([(99.0, 99.0)] * 9, is_input=True)
    rows = [*put_in, *compared([(90.0, 100.0)])]
    one = check("worst_relative_error", 5.0)
    assert error_verdict(one, rows).numbers == 1
    assert error_verdicts([one], put_in) == []
