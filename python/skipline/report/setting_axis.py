"""The horizontal axis of curves: a setting with its values, those far apart on a log scale."""

import itertools
import math
import textwrap
from collections.abc import Sequence
from typing import Any

import altair as alt

from skipline.scenarios import scenario_keys

# A setting whose values are spread over so large a factor is drawn on a log scale.
_LOG_FROM = 8
# Factors between values that are taken to be equal: whole numbers are rounded.
_EQUAL = 0.01
_FEWEST_OF_A_SERIES = 3
# Letters of a title along the width of a panel on a phone.
_MOST_ACROSS = 50


def titled(key: str, more: str = "") -> list[str]:
    """Return what a setting is and, on a line of its own if need be, its key."""
    words, name = scenario_keys.label(key).text, f"({key}{more})"
    if len(words) + len(name) < _MOST_ACROSS:
        return [f"{words} {name}"]
    return [*textwrap.wrap(words, _MOST_ACROSS), name]


def drawn(records: list[dict[str, Any]], x: str, *, numeric: bool) -> alt.X:
    """Return the axis with a tick at each value; values that are no numbers are in their order."""
    if not numeric:
        order = list(dict.fromkeys(str(record["x"]) for record in records))
        return alt.X("x:N", title=titled(x), sort=order, axis=alt.Axis(labelAngle=0))
    values = sorted({float(record["x"]) for record in records})
    is_log = _is_log(values)
    ticks = alt.Axis(values=values, format="~f", labelOverlap="greedy", grid=False)
    title = titled(x, ", log scale" if is_log else "")
    if is_log:
        scale = alt.Scale(type="log", base=2, nice=False, padding=12)
    else:
        scale = alt.Scale(zero=False, nice=False, padding=12)
    return alt.X("x:Q", title=title, scale=scale, axis=ticks)


def _is_log(values: Sequence[float]) -> bool:
    """Return whether sorted values are far apart, or each is so many times the one before it."""
    low, high = values[0], values[-1]
    if low <= 0 or high >= _LOG_FROM * low:
        return low > 0
    factors = [after / before for before, after in itertools.pairwise(values)]
    is_series = len(values) >= _FEWEST_OF_A_SERIES
    return is_series and max(factors) - min(factors) <= _EQUAL * max(factors)


def share(value: float, values: Sequence[float]) -> float:
    """Return where a value is along the axis, from 0 to 1."""
    low, high = min(values), max(values)
    if _is_log(sorted(set(values))):
        low, high, value = math.log(low), math.log(high), math.log(value)
    return (value - low) / ((high - low) or 1.0)
