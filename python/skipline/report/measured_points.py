"""Measured values beside a sweep: a CSV file with a column for its axes and for metrics."""

import csv
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from skipline import resources
from skipline._core import InputError
from skipline.sweeps.axis import parse_value
from skipline.text.nearest import did_you_mean

# Columns `METRIC_min` and `METRIC_max` are the ends of the bar of a measured point.
_ENDS = ("_min", "_max")


class Measured(NamedTuple):
    """Measured points: settings of each, and its numbers by metric; `name` is that of the file."""

    name: str
    rows: list[tuple[dict[str, Any], dict[str, float]]]

    def of(self, metric: str) -> list[tuple[dict[str, Any], float, float | None, float | None]]:
        """Return settings, value and ends of the points that have a metric."""
        least, most = (f"{metric}{end}" for end in _ENDS)
        return [
            (axes, numbers[metric], numbers.get(least), numbers.get(most))
            for axes, numbers in self.rows
            if metric in numbers
        ]


def read(path: str, axes: Sequence[str], metrics: Sequence[str]) -> Measured:
    """Read measured points; InputError for a file without an axis, or without any metric."""
    rows = list(csv.DictReader(resources.read_text(path).splitlines()))
    columns = list(rows[0]) if rows else []
    keys = [axis for axis in axes if axis in columns]
    if not keys:
        near = did_you_mean(axes[0], columns) if axes else ""
        raise InputError(f"{path}: no column for an axis{near}; axes: {', '.join(axes)}")
    names = [*metrics, *(f"{name}{end}" for name in metrics for end in _ENDS)]
    if not any(name in columns for name in metrics):
        near = did_you_mean(metrics[0], columns)
        raise InputError(f"{path}: no column for a metric{near}; metrics: {', '.join(metrics)}")
    found = []
    for line, row in enumerate(rows, start=2):
        settings = {key: parse_value(row[key]) for key in keys}
        numbers = {name: _number(path, line, name, row[name]) for name in names if row.get(name)}
        found.append((settings, numbers))
    return Measured(path, found)


def _number(path: str, line: int, column: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{path}: line {line}, column '{column}' = '{text}': should be a number")
    return value
