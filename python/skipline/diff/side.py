"""A side of a comparison: numbers of runs by point and seed, with units and origin."""

from typing import Any, NamedTuple

# The axes of a point as JSON; a single run has none.
Axes = str
SINGLE: Axes = "{}"
# Lines that devices move in a second, by the numbers that count them: no metrics of a result, which
# has counts, but what makes hit rates of a server and of a simulation comparable.
LINE_RATES = {
    "pcie_write_lines_per_s": ("pcie_write_hits", "pcie_write_misses"),
    "pcie_read_lines_per_s": ("pcie_read_hits", "pcie_read_misses"),
}


class Figure(NamedTuple):
    """A number of one run with the half width of its interval, if it has one."""

    value: float
    ci95: float | None


Run = dict[str, Figure]


class Side(NamedTuple):
    """Runs by point and seed; `settings` is what is asked of all of them, as a nested table.

    Of what a server counted (`recording`) no settings are known, and its runs are windows.
    """

    name: str
    runs: dict[Axes, dict[int, Run]]
    units: dict[str, str]
    settings: dict[str, Any] | None
    origin: dict[str, str]
    is_store: bool
