"""A sweep with one row per settings: means over the seeds, and the command that gives a point."""

import json
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from skipline.store.store import Store

if TYPE_CHECKING:
    import polars as pl

# Beginnings of names of metrics that are better the larger, and the smaller, they are.
_MORE = ("throughput", "tx_mpps", "rx_mpps", "pcie_write_hit_rate", "pcie_read_hit_rate", "iops")
_LESS = (
    "latency_ns",
    "dram_",
    "rx_dropped",
    "rx_loss",
    "llc_misses",
    "pause_frames",
    "cxl_",
    "upi_",
)
_FIRST = ("throughput_gbps", "latency_ns.p99", "pcie_write_hit_rate", "dram_write_gbytes_per_s")


class Summary(NamedTuple):
    """The finished points of a sweep.

    `frame` has the axes, the means of `metrics` over the seeds, `seeds` (how many) and `command`;
    `failed` the points that failed, with the reason.
    """

    number: int
    axes: list[str]
    metrics: list[str]
    units: dict[str, str]
    frame: "pl.DataFrame"
    failed: "pl.DataFrame"


def more_is_better(metric: str) -> bool | None:
    """Return whether more of a metric is better; None where that is not known."""
    name = metric.rpartition(":")[2]
    if name.startswith(_MORE):
        return True
    return False if name.startswith(_LESS) else None


def summarise(store: Store, sweep: int | None, metrics: Sequence[str]) -> Summary:
    """Summarise a sweep; without names, metrics that tell most sweeps apart."""
    import polars as pl

    number = store.number(sweep)
    units = store.units(number)
    names = list(metrics) or [name for name in _FIRST if name in units]
    wide = store.frame(names, number)
    state = store.points(number)
    axes = [name for name in wide.columns if name not in (*names, "seed")]
    commands = [_command(*row) for row in state.select("scenario", "settings", "seed").iter_rows()]
    done = (state["status"] == "done") & ~state["stale"].fill_null(value=False)
    whole = wide.with_columns(pl.Series("command", commands, pl.String)).filter(done)
    means = whole.group_by(axes, maintain_order=True).agg(
        *(pl.col(name).mean() for name in names),
        pl.len().alias("seeds"),
        pl.col("command").first(),
    )
    failed = state.filter(state["status"] == "failed").select(*axes, "seed", "error")
    return Summary(number, axes, names, units, means, failed)


def _command(scenario: str | None, settings: str | None, seed: int) -> str:
    """Return what reproduces a point that is there."""
    if scenario is None or settings is None:
        return ""
    words = ["skipline", "run", scenario]
    for key, value in json.loads(settings):
        words += ["--set", f"{key}={value}"]
    return shlex.join([*words, "--seed", str(seed)])


def pareto(frame: "pl.DataFrame", metrics: Sequence[str]) -> list[bool]:
    """Return which rows no other row beats: in no metric worse, and in one better.

    Metrics of which it is not known what is better do not count.
    """
    signs = {
        name: -1.0 if better else 1.0
        for name in metrics
        if (better := more_is_better(name)) is not None
    }
    if not signs:
        return [False] * len(frame)
    rows = [
        tuple(
            signs[name] * value if value is not None else float("inf")
            for name, value in zip(signs, row, strict=True)
        )
        for row in frame.select(list(signs)).iter_rows()
    ]
    front: set[tuple[float, ...]] = set()
    for row in sorted(set(rows)):
        # Sorted, a row can only be beaten by one before it.
        if not any(_beats(other, row) for other in front):
            front.add(row)
    return [row in front for row in rows]


def _beats(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))
