"""Judges a result table by the checks of its experiment."""

import polars as pl
from pydantic import BaseModel, ConfigDict

from skipline._core import RunError
from skipline.experiment.definition import Check
from skipline.experiment.table import comparisons


class Verdict(BaseModel):
    """How a check came out. `value` and `at_most` are in `unit`."""

    model_config = ConfigDict(frozen=True)

    name: str
    text: str
    value: float
    at_most: float
    unit: str
    holds: bool
    numbers: int
    worst_point: dict[str, int | float | str]
    worst_metric: str
    worst_error: float


def judge(check: Check, table: pl.DataFrame, axes: list[str]) -> Verdict:
    """Apply `check`; `axes` names the columns that identify a point."""
    rows = comparisons(table, axes, check.metrics, check.measured_below)
    if not rows:
        raise RunError(f"check '{check.name}': no measured number to compare with")
    absolute = check.statistic == "mean_absolute_error"
    errors = [row.error if absolute else row.relative_error or 0.0 for row in rows]
    sizes = [abs(error) for error in errors]
    worst = sizes.index(max(sizes))
    value = sum(sizes) / len(sizes) if absolute else sizes[worst]
    return Verdict(
        name=check.name,
        text=check.text,
        value=value,
        at_most=check.at_most,
        unit=check.unit,
        holds=value <= check.at_most,
        numbers=len(rows),
        worst_point=rows[worst].axes,
        worst_metric=rows[worst].metric,
        worst_error=errors[worst],
    )
