"""Is the Pareto front what no other point beats?"""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipline.store import summary

NAMES = ["throughput_gbps", "latency_ns.p99"]
NUMBERS = st.integers(0, 5) | st.none()


@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=12))
def test_the_front_is_what_no_other_point_beats(rows: list[tuple[int | None, int | None]]) -> None:
    frame = pl.DataFrame(rows, schema=dict.fromkeys(NAMES, pl.Float64), orient="row")
    worst = float("inf")
    costs = [(-a if a is not None else worst, b if b is not None else worst) for a, b in rows]
    beaten = [any(o != c and o[0] <= c[0] and o[1] <= c[1] for o in costs) for c in costs]
    assert summary.pareto(frame, NAMES) == [not one for one in beaten]


def test_metrics_of_unknown_direction_do_not_count() -> None:
    frame = pl.DataFrame({"throughput_gbps": [1.0, 2.0], "evictions": [1.0, 9.0]})
    assert summary.pareto(frame, ["throughput_gbps", "evictions"]) == [False, True]
    assert summary.pareto(frame, ["evictions"]) == [False, False]


@pytest.mark.parametrize(
    ("name", "more"),
    [("throughput_gbps", True), ("b:latency_ns.p99", False), ("dram_read_gbytes_per_s", False)],
)
def test_of_the_common_metrics_it_is_known_what_is_better(name: str, more: bool) -> None:
    assert summary.more_is_better(name) is more
