"""Model errors cover what was left out; predictions have bounds, a day, and a commit."""

import random
import subprocess
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from command_line import REPOSITORY
from skipline.experiment import catalogue, register
from skipline.experiment.prediction import Prediction
from skipline.model_error import intervals, kinds, rows, view
from skipline.model_error.kinds import KINDS, Kind

_LEAST, _MOST = 85.0, 95.0


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_nine_of_ten_left_out_rows_are_covered(kind: Kind) -> None:
    own = intervals.of_its_rows(kind, rows.kept())
    assert len(own) >= kinds.LEAST_ROWS
    assert len({row.experiment for row in own}) > 1
    assert _LEAST <= intervals.leave_out_each(kind, own).percent <= _MOST


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_intervals_of_half_the_length_cover_too_little(kind: Kind) -> None:
    assert intervals.leave_out_each(kind, rows.kept(), factor=0.5).percent < _LEAST


@pytest.mark.parametrize("name", ["throughput", "p99"])
def test_an_interval_covers_new_numbers_of_the_same_kind(name: str) -> None:
    kind, draw = kinds.named(name), random.Random(1)
    covered = 0
    trials = 2000
    for _ in range(trials):
        errors = [draw.gauss(0.01, 0.03) for _ in range(40)]
        interval = intervals.from_errors(kind, errors)
        low, high = interval.around(100.0)
        covered += low <= 100.0 + kind.scale(100.0) * draw.gauss(0.01, 0.03) <= high
    # The share that is promised is 90 %; two-sided ones promise as much at least.
    assert 0.89 <= covered / trials <= 0.97


def test_bounds_of_hit_rates_are_hit_rates() -> None:
    interval = intervals.of_kind(kinds.named("hit-rate"))
    assert interval is not None
    for percent in (0.0, 0.3, 50.0, 99.9, 100.0):
        low, high = interval.around(percent)
        assert 0.0 <= low <= percent <= high <= 100.0
    # No rate as low as the first was measured, and of a model without misses there is no interval.
    assert not interval.reaches(5.0)
    assert not interval.reaches(99.9)
    assert interval.around(50.0)[1] - 50.0 > interval.around(99.0)[1] - 99.0


def test_too_few_rows_give_no_interval() -> None:
    kind = kinds.named("p50")
    own = [row for row in rows.kept() if row.kind == kind.name]
    assert intervals.from_rows(kind, own[: kinds.LEAST_ROWS]) is not None
    assert intervals.from_rows(kind, own[: kinds.LEAST_ROWS - 1]) is None


def test_what_was_put_in_is_no_row() -> None:
    def number(
        metric: str, predicted: float, measured: float | None, **more: object
    ) -> dict[str, object]:
        known = {"metric": metric, "component": None, "is_input": False, "cores": 2}
        known["basis"] = "predicted"
        return {**known, "predicted": predicted, "measured": measured, **more}

    results = [
        number("throughput_gbps", 99.0, 99.2, is_input=True),
        number("pcie_write_hit_rate", 30.0, 28.0),
        number("latency_ns", 7_000.0, None, component="p50"),
        number("generator_latency_ns", 690.0, 720.0, component="p50"),
        # The same point as one of another experiment.
        number("pcie_write_hit_rate", 30.0, 28.0, cores=1),
    ]
    found = rows.of_results("cores", ["cores"], results)
    assert found == [
        rows.Row("hit-rate", "cores", "cores=2", "predicted", 30.0, 28.0),
        # What the generator adds is the same on both sides.
        rows.Row("p50", "cores", "cores=2", "predicted", 7.0, 37.0),
    ]


def test_the_line_has_what_is_known_and_names_what_is_not() -> None:
    values = {"pcie_write_hit_rate": 60.0, "throughput_gbps": 98.0, "offered_gbps": 99.0}
    text = view.line({**values, "latency_ns.p99": 7_000.0, "dram_read_gbytes_per_s": 3.0})
    assert "write hits" in text
    assert "p99" in text
    assert "not known for DRAM bandwidth" in text
    # No rate is above what is offered.
    assert "to 99 Gbit/s" in text


def test_latencies_of_copies_have_no_interval_of_packets() -> None:
    assert "p99" not in view.line({"latency_ns.p99": 900.0, "offload_mops": 4.0})


def test_a_result_that_nothing_judges_says_so() -> None:
    assert "not known for work rates" in view.line({"work_per_s": 1e6})
    assert "not known" in view.line({"latency_ns.p50": 800.0})


def test_numbers_beyond_all_rows_have_no_interval() -> None:
    values = {"throughput_gbps": 90.0, "latency_ns.p50": 5e6, "pcie_read_hit_rate": 2.0}
    text = view.line(values)
    assert "read hits (nothing measured near it)" in text
    assert "p50 (nothing measured near it)" in text


def test_a_model_without_misses_is_told_with_what_came_of_such() -> None:
    text = view.line({"throughput_gbps": 90.0, "pcie_read_hit_rate": 100.0})
    assert "read hits from 99.5 % on: 40 of 43 such were within 2 pp, the lowest 37 below" in text


def test_a_picture_is_told_the_errors_of_what_it_draws() -> None:
    told = view.general(["main:pcie_write_hit_rate", "rx_loss_rate"])
    assert "hit rates ± pp" in told and "nothing was measured below" in told
    assert "latencies" not in told and "engines" not in told
    assert view.general(["dram_write_gbytes_per_s"]).startswith(
        "Model error (90 %), not known for DRAM bandwidth"
    )
    assert "not known for rx_loss_rate. See" in told and "engines" not in told
    assert "99th percentiles" in view.general(["latency_ns.p99"])


def test_a_rate_of_nothing_has_no_interval() -> None:
    assert "throughput" not in view.line({"throughput_gbps": 0.0, "received_gbps": 20.0})
    assert "received 1" in view.line({"throughput_gbps": 0.0, "received_gbps": 20.0})


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
        ({"modelled": 5.0}, "modelled and modelled_on go together"),
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


def test_what_the_simulator_gave_first_decides_nothing() -> None:
    known = {**PREDICTION, "modelled": 9.0, "modelled_on": date(2026, 12, 1)}
    assert Prediction.model_validate(known).outcome == "open"


def test_at_least_five_numbers_are_registered() -> None:
    lines = register.lines()
    assert len(lines) >= 5
    assert min(line.registered.on for line in lines) >= date(2026, 12, 1)


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


def test_predictions_are_those_of_their_commit() -> None:
    for line in register.lines():
        assert line.commit is None or line.commit.is_unchanged, line


def test_a_prediction_that_was_edited_is_told(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        known = "-c", "user.name=a", "-c", "user.email=a@b"
        subprocess.run(["git", *known, *arguments], cwd=tmp_path, check=True, capture_output=True)

    source = REPOSITORY / register.FOLDER
    for name in ("two-cards.toml", "two-cards-scenario.toml", "two-cards-both-scenario.toml"):
        (tmp_path / name).write_text((source / name).read_text())
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message", "predictions")
    file = tmp_path / "two-cards.toml"
    (first, *_) = register.lines(str(tmp_path))
    assert first.commit is not None
    assert first.commit.is_unchanged
    file.write_text(file.read_text().replace("high = 1.02", "high = 1.2"))
    (first, *_) = register.lines(str(tmp_path))
    assert first.commit is not None
    assert "changed since" in first.commit.text


def test_no_claim_rests_on_what_nobody_has_measured() -> None:
    for path in catalogue.paths(register.FOLDER):
        experiment = catalogue.load(path).experiment
        assert experiment.prediction
        assert not experiment.claim
