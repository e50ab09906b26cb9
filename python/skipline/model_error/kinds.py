"""Kinds of numbers, each with the metrics that are of it and the form of its errors."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

# At least so many errors, or an interval that holds in nine of ten cases is not known.
LEAST_ROWS = 20
_PERCENT = 100.0


@dataclass(frozen=True)
class Kind:
    """A kind of numbers.

    An error is (measured - simulated) / `scale(simulated)`; its two sides are apart unless
    `is_even`. Simulated numbers of results are multiplied by `times` to have the unit of the rows.
    `among` is a metric that a result must have: latencies of packets, not of copies. Errors of
    rates are relative and hold for any rate; those of others for numbers that the rows reach. From
    `below` on there is no interval: of a model without misses most errors are nothing, and a few
    are all that there is.
    """

    name: str
    text: str
    metrics: tuple[str, ...]
    unit: str
    scale: Callable[[float], float]
    is_even: bool
    times: float = 1.0
    among: str | None = None
    is_of_any_size: bool = False
    below: float = math.inf


def _of_hit_rate(percent: float) -> float:
    """Rates in the middle may be off by more than those near 0 and 100 %."""
    return percent * (_PERCENT - percent) / _PERCENT


KINDS = (
    Kind(
        "hit-rate",
        "hit rates",
        ("pcie_write_hit_rate", "pcie_read_hit_rate"),
        "percent",
        _of_hit_rate,
        is_even=True,
        among="throughput_gbps",
        below=99.5,
    ),
    Kind(
        "throughput",
        "rates",
        ("throughput_gbps", "received_gbps", "tx_mpps", "rx_mpps"),
        "Gbit/s",
        lambda rate: rate,
        is_even=True,
        is_of_any_size=True,
    ),
    Kind(
        "p50",
        "median latencies",
        ("latency_ns.p50",),
        "us",
        lambda _: 1.0,
        is_even=False,
        times=1e-3,
        among="throughput_gbps",
    ),
    Kind(
        "p99",
        "99th percentiles",
        ("latency_ns.p99",),
        "us",
        lambda _: 1.0,
        is_even=False,
        times=1e-3,
        among="throughput_gbps",
    ),
)

# Numbers that no rows of several experiments judge: their metrics, and why.
UNJUDGED: Mapping[str, tuple[tuple[str, ...], str]] = {
    "DRAM bandwidth": (
        ("dram_read_gbytes_per_s", "dram_write_gbytes_per_s"),
        "five measured numbers are too few",
    ),
    "copy engines": (
        ("offload_gbytes_per_s", "offload_mops"),
        "all measured rows chose parameters",
    ),
    "work rates, SSDs, other latencies and other tenants": (
        ("work_per_s", "ssd_read_gbytes_per_s", "ssd_write_gbytes_per_s"),
        "no rows of several experiments",
    ),
}


def of_metric(name: str) -> Kind | None:
    """Return the kind of a metric by its name without a tenant, None if nothing judges it."""
    return next((kind for kind in KINDS if name in kind.metrics), None)


def named(name: str) -> Kind:
    """Return the kind of this name."""
    return next(kind for kind in KINDS if kind.name == name)
