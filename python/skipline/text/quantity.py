"""Writes a number with its interval the way an engineer would."""

import math
from typing import NamedTuple

# A number of a result; None where nothing was counted.
Number = float | int | None

# Largest scale first; a value below the last limit keeps the last scale.
_SCALES: dict[str, list[tuple[float, float, str]]] = {
    "ns": [(1e7, 1e6, "ms"), (1e4, 1e3, "µs"), (0, 1, "ns")],
    "bytes": [(2**20, 2**20, "MiB"), (2**10, 2**10, "KiB"), (0, 1, "B")],
    "1/s": [(1e6, 1e6, "M/s"), (1e3, 1e3, "k/s"), (0, 1, "/s")],
    "percent": [(0, 1, "%")],
}
# Units of what is counted; a mean of counts may still be a fraction.
_COUNTS = {"lines", "packets", "frames"}
_DIGITS = 4


class Text(NamedTuple):
    """A number ready to print: value, half width of the 95 % interval, unit."""

    value: str
    ci95: str
    unit: str


def text(value: Number, ci95: Number, unit: str) -> Text:
    """Scale the unit to the value and round the value to what its interval can tell."""
    factor, shown = scale(value, unit)
    if value is None:
        return Text("–", "", shown)
    interval = None if ci95 is None else ci95 / factor
    whole = unit in _COUNTS and float(value).is_integer()
    return _rounded(value / factor, interval, shown, whole=whole)


def _rounded(value: float, interval: float | None, unit: str, *, whole: bool = False) -> Text:
    """Round a number to what its interval can tell."""
    decimals = 0 if whole else _decimals(value, interval)
    return Text(f"{value:,.{decimals}f}", _half_width(interval, decimals), unit)


def text_beside(name: str, value: Number, ci95: Number, unit: str) -> Text:
    """Write a number beside its name: in nanoseconds if the name says so, else scaled."""
    if unit != "ns" or not name.endswith("_ns"):
        return text(value, ci95, unit)
    return _rounded(value, ci95, unit) if value is not None else Text("–", "", unit)


def count(value: Number) -> str:
    """Write a count, with a dash for none."""
    return "–" if value is None else f"{value:,.0f}"


def _half_width(interval: float | None, decimals: int) -> str:
    """Write an interval; one that is smaller than the last digit shown is not called zero."""
    if interval is None:
        return ""
    if interval == 0:
        return "± 0"
    last = 10.0**-decimals
    return f"± {interval:,.{decimals}f}" if interval >= last / 2 else f"± <{last:.{decimals}f}"


def scale(value: Number, unit: str) -> tuple[float, str]:
    """Return by what to divide a value so that it reads well, and the unit that it has then."""
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
