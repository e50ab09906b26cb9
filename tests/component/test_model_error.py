"""Model errors: intervals cover what was left out, shorter ones do not."""

import random

import pytest

from skipline.model_error import coverage, intervals, kinds, rows, view
from skipline.model_error.kinds import KINDS, Kind

_LEAST, _MOST = 85.0, 95.0


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_nine_of_ten_left_out_rows_are_covered(kind: Kind) -> None:
    own = [row for row in rows.kept() if row.kind == kind.name]
    assert len(own) >= kinds.LEAST_ROWS
    assert len({row.experiment for row in own}) > 1
    assert _LEAST <= coverage.leave_out_each(kind, own).percent <= _MOST


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_intervals_of_half_the_length_cover_too_little(kind: Kind) -> None:
    assert coverage.leave_out_each(kind, rows.kept(), factor=0.5).percent < _LEAST


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
        return {**known, "predicted": predicted, "measured": measured, **more}

    results = [
        number("throughput_gbps", 99.0, 99.2, is_input=True),
        number("pcie_write_hit_rate", 30.0, 28.0),
        number("latency_ns", 7_000.0, None, component="p50"),
        number("generator_latency_ns", 690.0, 720.0, component="p50"),
    ]
    found = rows.of_results("pkt-rate", ["cores"], results)
    assert found == [
        rows.Row("hit-rate", "pkt-rate", "cores=2", 30.0, 28.0),
        # What the generator adds is the same on both sides.
        rows.Row("p50", "pkt-rate", "cores=2", 7.0, 37.0),
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


def test_a_result_without_such_numbers_has_no_line() -> None:
    assert view.line({"work_per_s": 1e6}) == ""
