"""Bounds on a number relative to another run: `latency_ns.p99<=1.05x`, `throughput_gbps>=0.98x`."""

import re
from typing import NamedTuple

from skipline._core import InputError

_TEXT = re.compile(r"(?P<name>[^<>=]+?)\s*(?P<sign><=|>=)\s*(?P<factor>\d+\.?\d*|\.\d+)x")
_HOW = "write NAME<=FACTORx or NAME>=FACTORx, such as latency_ns.p99<=1.05x"
# Percentiles are asked for by their short names, also of a tenant: `b:p99`.
_PERCENTILE = re.compile(r"p\d+(\.\d+)?|min|max|mean")


class Bound(NamedTuple):
    """A number must not be more (`most`), or not less, than `factor` times what it was."""

    name: str
    most: bool
    factor: float

    @property
    def text(self) -> str:
        """The bound as it is written."""
        return f"{self.name}{'<=' if self.most else '>='}{self.factor:g}x"

    def excess(self, before: float, now: float) -> float:
        """Return by how much the bound is broken; at most 0 if it is kept."""
        beyond = now - self.factor * before
        return beyond if self.most else -beyond


def parse(text: str, option: str) -> Bound:
    """Read a bound; InputError for anything else."""
    found = _TEXT.fullmatch(text.strip())
    if found is None:
        raise InputError(f"{option} '{text}': not a bound; {_HOW}")
    return Bound(full_name(found["name"]), found["sign"] == "<=", float(found["factor"]))


def full_name(name: str) -> str:
    """Return the name of a number in results: `tenant.b:p99` is `b:latency_ns.p99`."""
    tenant, colon, metric = name.strip().removeprefix("tenant.").rpartition(":")
    whole = f"latency_ns.{metric}" if _PERCENTILE.fullmatch(metric) else metric
    return f"{tenant}{colon}{whole}"
