"""Writes a number with its interval the way an engineer would."""

import math
from typing import NamedTuple

from skipline.result import Number

# Largest scale first; a value below the last limit keeps the last scale.
_SCALES: dict[str, list[tuple[float, float, str]]] = {
    "ns": [(1e7, 1e6, "ms"), (1e4, 1e3, "µs"), (0, 1, "ns")],
    "bytes": [(2**20, 2**20, "MiB"), (2**10, 2**10, "KiB"), (0, 1, "B")],
    "1/s": [(1e6, 1e6, "M/s"), (1e3, 1e3, "k/s"), (0, 1, "/s")],
    "percent": [(0, 1, "%")],
}
_DIGITS = 4


class Text(NamedTuple):
    """A number ready to print: value, half width of the 95 % interval, unit."""

    value: str
    ci95: str
    unit: str


def text(value: Number, ci95: Number, unit: str) -> Text:
    """Scale the unit to the value and round the value to what its interval can tell."""
    factor, shown = _scale(value, unit)
    if value is None:
        return Text("–", "", shown)
    if isinstance(value, int) and factor == 1 and ci95 is None:
        return Text(f"{value:,}", "", shown)
    scaled = value / factor
    interval = None if ci95 is None else ci95 / factor
    decimals = _decimals(scaled, interval)
    return Text(
        f"{scaled:,.{decimals}f}",
        "" if interval is None else f"± {interval:,.{decimals}f}",
        shown,
    )


def _scale(value: Number, unit: str) -> tuple[float, str]:
    size = abs(value or 0)
    for limit, factor, shown in _SCALES.get(unit, []):
        if size >= limit:
            return factor, shown
    return 1, unit


def _decimals(value: float, interval: float | None) -> int:
    """Two significant digits of the interval, but never more than the value is worth."""
    by_value = _DIGITS - 1 - _magnitude(value)
    by_interval = by_value if not interval else 1 - _magnitude(interval)
    return max(0, min(by_value, by_interval, _DIGITS))


def _magnitude(value: float) -> int:
    return math.floor(math.log10(abs(value))) if value else 0
