"""Predicted beside measured: one row per point and number of a metric."""

import statistics
from dataclasses import dataclass
from typing import Any

import polars as pl

from skipline import _core
from skipline.experiment.definition import Axis, Basis, ComparedMetric, Experiment, Value
from skipline.experiment.reference import Measured
from skipline.experiment.runner import Finished
from skipline.runs.result import Entry

NUMBERS = {
    "predicted": pl.Float64,
    "ci95": pl.Float64,
    "predicted_median": pl.Float64,
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
    "is_input": pl.Boolean,
}
# A measured number of at least so much of its bound has been put in: nothing was left to predict.
_INPUT_SHARE = 0.99
_SIMULATED = ("predicted", "ci95", "predicted_min", "predicted_max", "predicted_runs")
_MEASURED = ("measured", "measured_sd", "measured_min", "measured_max", "measured_runs")


def build(identifier: str, experiment: Experiment, finished: list[Finished]) -> pl.DataFrame:
    """Build the result table.

    Columns: experiment, one per axis, basis, metric, component (null for a scalar), unit, then
    NUMBERS. `predicted` is the mean of the repeats and `ci95` the half width of its interval: over
    the repeats if there are five or more, else the one within the first run. `error` is
    predicted - measured in the metric's unit, `relative_error` in percent of the measured mean;
    both null where nothing was measured. `is_input` is whether the measured number is what the
    experiment puts in. Metrics that the experiment multiplies are multiplied.
    """
    metrics = {metric.name: metric for metric in experiment.metric}
    rows = []
    for done in finished:
        axes = {axis.key: _cell(axis, done.point.axes[axis.key]) for axis in experiment.axis}
        rows += [{"experiment": identifier, **axes, **row} for row in _rows(metrics, done)]
    schema: dict[str, pl.DataType | type[pl.DataType]] = {
        "experiment": pl.String,
        **{axis.key: _axis_type(axis) for axis in experiment.axis},
        "basis": pl.String,
        "metric": pl.String,
        "component": pl.String,
        "unit": pl.String,
        **NUMBERS,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _axis_type(axis: Axis) -> type[pl.DataType]:
    if not axis.is_numeric:
        return pl.String
    whole = all(isinstance(value, int) for value in axis.coordinates)
    return pl.Int64 if whole else pl.Float64


def _rows(metrics: dict[str, ComparedMetric], done: Finished) -> list[dict[str, object]]:
    point = done.point
    rows = []
    for repeats in gather(done):
        name = address(repeats[0].metric, repeats[0].component)
        row: dict[str, object] = {
            "basis": point.basis,
            "metric": repeats[0].metric,
            "component": repeats[0].component,
            **_simulated(repeats, metrics.get(name)),
        }
        row |= _compared(row["predicted"], point.measured.get(name))
        row["is_input"] = _is_input(metrics.get(name), done, row["predicted"])
        rows.append(row)
    return rows


def gather(done: Finished) -> list[list[Entry]]:
    """Return the numbers of a point, each with its repeats; one may miss in some repeats."""
    found: dict[tuple[str, str | None], list[Entry]] = {}
    for result in done.results:
        for entry in result.entries():
            found.setdefault((entry.metric, entry.component), []).append(entry)
    return list(found.values())


def _cell(axis: Axis, value: Value) -> Value:
    """Write a value as the column of its axis does."""
    return value if axis.is_numeric else str(value)


def _simulated(repeats: list[Entry], metric: ComparedMetric | None) -> dict[str, object]:
    times = metric.times if metric else 1.0
    values = [times * repeat.value for repeat in repeats if repeat.value is not None]
    across = _core.half_width_95(values)
    within = repeats[0].ci95
    return {
        "unit": (metric.unit if metric else None) or repeats[0].unit,
        "predicted": sum(values) / len(values) if values else None,
        "ci95": (None if within is None else times * within) if across is None else across,
        "predicted_median": statistics.median(values) if values else None,
        "predicted_min": min(values, default=None),
        "predicted_max": max(values, default=None),
        "predicted_runs": len(values),
    }


def _compared(predicted: object, measured: Measured | None) -> dict[str, object]:
    if measured is None or not isinstance(predicted, float | int):
        return {}
    error = predicted - measured.mean
    return {
        "measured": measured.mean,
        "measured_sd": measured.sd,
        "measured_min": measured.min,
        "measured_max": measured.max,
        "measured_runs": measured.runs,
        "error": error,
        "relative_error": 100 * error / measured.mean if measured.mean else None,
    }


def _is_input(metric: ComparedMetric | None, done: Finished, predicted: object) -> bool:
    """Return whether measured and simulated number are the one that bounds both in the settings.

    A model that loses what the machine did not lose is judged.
    """
    if metric is None or metric.bounded_by is None or metric.name not in done.point.measured:
        return False
    bound = done.point.settings[metric.bounded_by]
    if not isinstance(bound, int | float) or not isinstance(predicted, int | float):
        return False
    return min(done.point.measured[metric.name].mean, predicted) >= _INPUT_SHARE * bound


def address(metric: str, component: str | None) -> str:
    """Name a number of a result as experiments do: metric or metric.component."""
    return metric if component is None else f"{metric}.{component}"


@dataclass(frozen=True)
class Simulated:
    """One predicted number, in the metric's unit."""

    axes: dict[str, Value]
    point_name: str
    basis: Basis
    metric: str
    label: str
    unit: str
    predicted: float
    ci95: float | None
    predicted_min: float
    predicted_max: float
    predicted_runs: int

    @property
    def predicted_range(self) -> tuple[float, float]:
        """Lowest and highest repeat; of a single run, the ends of its 95 % interval."""
        if self.predicted_runs > 1:
            return self.predicted_min, self.predicted_max
        half = self.ci95 or 0.0
        return self.predicted - half, self.predicted + half


@dataclass(frozen=True)
class Comparison(Simulated):
    """One predicted number beside its measured or stated one, in the metric's unit."""

    measured: float
    measured_sd: float
    measured_min: float
    measured_max: float
    measured_runs: int
    error: float
    relative_error: float | None
    is_input: bool


def simulated(experiment: Experiment, table: pl.DataFrame) -> list[Simulated]:
    """Return every number of the experiment's metrics, by point; compared where published."""
    labels = {metric.name: metric.label for metric in experiment.metric}
    found = []
    for row in table.filter(pl.col("predicted").is_not_null()).iter_rows(named=True):
        name = address(row["metric"], row["component"])
        if name in labels:
            found.append(_simulated_row(experiment, row, name, labels[name]))
    return found


def comparisons(rows: list[Simulated]) -> list[Comparison]:
    """Return those numbers that have a published one beside them."""
    return [row for row in rows if isinstance(row, Comparison)]


def _simulated_row(experiment: Experiment, row: dict[str, Any], name: str, label: str) -> Simulated:
    axes = {
        axis.key: next(value for value in axis.coordinates if _cell(axis, value) == row[axis.key])
        for axis in experiment.axis
    }
    facts = {
        "axes": axes,
        "point_name": experiment.point_name(axes),
        "metric": name,
        "label": label,
        **{column: row[column] for column in ("basis", "unit", *_SIMULATED)},
    }
    if row["measured"] is None:
        return Simulated(**facts)
    columns = (*_MEASURED, "error", "relative_error", "is_input")
    return Comparison(**facts, **{column: row[column] for column in columns})
