"""Predicted beside measured: one row per point and number of a metric."""

from dataclasses import dataclass
from typing import Any

import polars as pl

from skipline import _core
from skipline.experiment.definition import Basis, Experiment
from skipline.experiment.runner import Finished

NUMBERS = {
    "predicted": pl.Float64,
    "ci95": pl.Float64,
    "predicted_min": pl.Float64,
    "predicted_max": pl.Float64,
    "predicted_runs": pl.Int64,
    "measured": pl.Float64,
    "measured_sd": pl.Float64,
    "measured_min": pl.Float64,
    "measured_max": pl.Float64,
    "measured_runs": pl.Int64,
    "error": pl.Float64,
    "relative_error": pl.Float64,
}


def build(identifier: str, experiment: Experiment, finished: list[Finished]) -> pl.DataFrame:
    """Build the result table.

    Columns: experiment, one per axis, basis, metric, component (null for a scalar), unit, then
    NUMBERS. `predicted` is the mean of the repeats and `ci95` the half width of its interval: over
    the repeats if there are five or more, else the one within the first run. `error` is
    predicted - measured in the metric's unit, `relative_error` in percent of the measured mean;
    both null where nothing was measured.
    """
    rows = [row for done in finished for row in _rows(identifier, done)]
    schema: dict[str, pl.DataType | type[pl.DataType]] = {
        "experiment": pl.String,
        **{axis.key: _axis_type(axis.values) for axis in experiment.axis},
        "basis": pl.String,
        "metric": pl.String,
        "component": pl.String,
        "unit": pl.String,
        **NUMBERS,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _axis_type(values: list[int | float]) -> type[pl.DataType]:
    return pl.Int64 if all(isinstance(value, int) for value in values) else pl.Float64


def _rows(identifier: str, done: Finished) -> list[dict[str, object]]:
    point, results = done
    rows = []
    for repeats in zip(*(result.entries() for result in results), strict=True):
        entry = repeats[0]
        values = [repeat.value for repeat in repeats if repeat.value is not None]
        predicted = sum(values) / len(values) if values else None
        across = _core.half_width_95(values)
        measured = point.measured.get(entry.metric) if entry.component is None else None
        row: dict[str, object] = {
            "experiment": identifier,
            **point.axes,
            "basis": point.basis,
            "metric": entry.metric,
            "component": entry.component,
            "unit": entry.unit,
            "predicted": predicted,
            "ci95": entry.ci95 if across is None else across,
            "predicted_min": min(values, default=None),
            "predicted_max": max(values, default=None),
            "predicted_runs": len(values),
        }
        if measured is not None and predicted is not None:
            error = predicted - measured.mean
            row |= {
                "measured": measured.mean,
                "measured_sd": measured.sd,
                "measured_min": measured.min,
                "measured_max": measured.max,
                "measured_runs": measured.runs,
                "error": error,
                "relative_error": 100 * error / measured.mean if measured.mean else None,
            }
        rows.append(row)
    return rows


@dataclass(frozen=True)
class Comparison:
    """One predicted number beside its measured one, in the metric's unit."""

    axes: dict[str, int | float | str]
    place: str
    basis: Basis
    metric: str
    label: str
    unit: str
    predicted: float
    ci95: float | None
    predicted_min: float
    predicted_max: float
    predicted_runs: int
    measured: float
    measured_sd: float
    measured_min: float
    measured_max: float
    measured_runs: int
    error: float
    relative_error: float | None

    @property
    def predicted_range(self) -> tuple[float, float]:
        """Lowest and highest repeat; of a single run, the ends of its 95 % interval."""
        if self.predicted_runs > 1:
            return self.predicted_min, self.predicted_max
        half = self.ci95 or 0.0
        return self.predicted - half, self.predicted + half


def comparisons(experiment: Experiment, table: pl.DataFrame) -> list[Comparison]:
    """Return every number of the compared metrics that was measured."""
    labels = {metric.name: metric.label for metric in experiment.metric}
    rows = table.filter(pl.col("metric").is_in(list(labels)), pl.col("measured").is_not_null())
    return [
        _comparison(experiment, row, labels[row["metric"]]) for row in rows.iter_rows(named=True)
    ]


def _comparison(experiment: Experiment, row: dict[str, Any], label: str) -> Comparison:
    names = ("basis", "metric", "unit", *NUMBERS)
    return Comparison(
        axes={axis.key: row[axis.key] for axis in experiment.axis},
        place=", ".join(axis.text(row[axis.key]) for axis in experiment.axis),
        label=label,
        **{name: row[name] for name in names},
    )
