"""What a sweep costs beside its points: one worker, two, Ray; and whether all give the same rows.

    python benches/sweeps.py [POINTS [PICTURE.html]]

Short runs of the forwarder, all 10,000 combinations of six axes, with two workers and with Ray; of
fewer POINTS a Sobol sequence draws. A tenth of them also run with one worker and again with two.
Printed are time, rate, the share that was not simulation and the ratios; ends with 1 if engines
differ in a row. The measured times are then dispatched to 1 to 64 simulated workers, whose speed-up
is the picture.
"""

import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import altair as alt
import polars as pl

import skipline
from skipline.sweeps import drive
from skipline.sweeps.dispatch import makespan_s

FORWARDER = "experiments/ddio-bench/l2fwd.toml"
SHORT = {"run.batch_packets": 512, "run.max_batches": 10}
AXES = {
    "rx_descriptors": "256..4096:log:5",
    "ddio_ways": [2, 4, 6, 8],
    "packet_bytes": [64, 256, 512, 1024, 1500],
    "offered_gbps": "20..100:lin:5",
    "core_ghz": "1.5..3.0:lin:4",
    "traffic.flows": "256..4096:log:5",
}
COMBINATIONS = 10_000
WORKERS = (1, 2, 4, 8, 16, 32, 64)
# Between the end of a chunk and the begin of the next one; measured between processes here.
HAND_OVER_S = 0.005


class Measured(NamedTuple):
    """A sweep that has run: its rows, seconds of each point, for the plan, and in all."""

    rows: pl.DataFrame
    points_s: list[float]
    planned_s: float
    took_s: float


def main() -> None:
    """Measure, compare, simulate the dispatcher."""
    stated = dict(enumerate(sys.argv))
    points = int(stated.get(1, "10000"))
    picture = Path(stated.get(2, "reports/sweep-workers.html"))
    few = max(points // 10, 10)
    alone, pair = _measure(few, "local", 1), _measure(few, "local", 2)
    local, ray = _measure(points, "local", 2), _measure(points, "ray", 2)
    print(f"two workers are {alone.took_s / pair.took_s:.2f} times as fast as one")
    print(f"Ray takes {100 * (ray.took_s / local.took_s - 1):+.1f} % of the time of two workers")
    same = local.rows.equals(ray.rows) and alone.rows.equals(pair.rows)
    print("same rows" if same else "rows differ")
    _draw(local, picture)
    sys.exit(not same)


def _measure(points: int, engine: str, jobs: int) -> Measured:
    drawn = points if points < COMBINATIONS else None
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "points.duckdb"
        began = planned = time.perf_counter()

        def watch(_share: float, told: str) -> None:
            nonlocal planned
            if told.startswith(drive.PLANNING):
                planned = time.perf_counter()

        skipline.sweep(
            FORWARDER, AXES, SHORT, sobol=drawn, engine=engine, jobs=jobs, store=store,
            progress=watch,
        )  # fmt: skip
        took_s = time.perf_counter() - began
        with skipline.Store(store) as opened:
            rows = opened.numbers()
            points_s = opened.points()["wall_s"].to_list()
    print(
        f"{engine:5} {jobs} workers: {len(points_s):,} points in {took_s:.1f} s, "
        f"{sum(points_s) / len(points_s):.3f} s each, planned in {planned - began:.1f} s, "
        f"{100 * (took_s * jobs / sum(points_s) - 1):.1f} % beside them",
        flush=True,
    )
    return Measured(rows, points_s, planned - began, took_s)


def _draw(measured: Measured, picture: Path) -> None:
    """Dispatch the measured times to more workers; the plan is made by one process, before."""
    took = {
        workers: measured.planned_s + makespan_s(measured.points_s, workers, HAND_OVER_S)
        for workers in WORKERS
    }
    ups = {workers: took[1] / took[workers] for workers in WORKERS}
    for workers, up in ups.items():
        print(f"{workers:3} simulated workers: {up:.2f} times as fast")
    records = [{"workers": workers, "times as fast": up} for workers, up in ups.items()]
    picture.parent.mkdir(parents=True, exist_ok=True)
    axis = alt.Scale(type="log", base=2)
    alt.Chart(alt.InlineData(values=records)).mark_line(point=True).encode(
        alt.X("workers:Q", scale=axis), alt.Y("times as fast:Q", scale=axis)
    ).save(str(picture), inline=True)
    print(f"wrote {picture}")


if __name__ == "__main__":
    main()
