"""The register of predictions: each has bounds, a day, a way to measure it, and a commit."""

import subprocess
from datetime import date
from typing import Any

import pytest

from command_line import REPOSITORY
from skipline.experiment import catalogue, register
from skipline.experiment.prediction import Prediction

PREDICTION: dict[str, Any] = {
    "text": "t",
    "value": "1",
    "predicted": 5.0,
    "low": 4.0,
    "high": 6.0,
    "bounds": "model error of rates",
}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"low": 5.5}, "low <= predicted <= high"),
        ({"measured": 5.0}, "measured and source go together"),
        ({"bounds": ""}, "at least 1 character"),
    ],
)
def test_a_prediction_that_cannot_be_judged_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Prediction.model_validate({**PREDICTION, **wrong})


@pytest.mark.parametrize(
    ("measured", "outcome"), [(None, "open"), (4.0, "within"), (6.1, "missed")]
)
def test_a_measurement_decides(measured: float | None, outcome: str) -> None:
    source = None if measured is None else "somebody"
    known = {**PREDICTION, "measured": measured, "source": source}
    assert Prediction.model_validate(known).outcome == outcome


def test_at_least_five_numbers_are_registered() -> None:
    lines = register.lines()
    assert len(lines) >= 5
    assert {line.registered.on for line in lines} <= {date(2026, 12, 1)}


def test_predictions_were_registered_on_the_day_of_their_commit() -> None:
    shallow = subprocess.run(
        ["git", "rev-parse", "--is-shallow-repository"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    if shallow.stdout.strip() != "false":
        pytest.skip("no whole history here")
    committed = [(line, line.commit) for line in register.lines() if line.commit is not None]
    assert len(committed) >= 5
    for line, commit in committed:
        # Days of different time zones.
        distance = date.fromisoformat(commit.day) - line.registered.on
        assert abs(distance.days) <= 1, line


def test_no_claim_rests_on_what_nobody_has_measured() -> None:
    for path in catalogue.paths(register.FOLDER):
        experiment = catalogue.load(path).experiment
        assert experiment.prediction
        assert not experiment.claim
