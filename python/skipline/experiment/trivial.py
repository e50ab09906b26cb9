"""Predictors without a model, as the yardstick that a model must beat."""

import math
from collections.abc import Mapping, Sequence

import polars as pl
from pydantic import BaseModel, ConfigDict

from skipline import platforms
from skipline._core import InputError
from skipline.experiment.definition import Experiment, Trivial, Value
from skipline.experiment.table import comparisons

_LINE_BYTES = 64


class TrivialScore(BaseModel):
    """Mean absolute error of a trivial predictor of hit rates over the points of a check."""

    model_config = ConfigDict(frozen=True)

    text: str
    value: float
    fitted_on: str | None = None


def scores(experiment: Experiment, table: pl.DataFrame, platform: str) -> list[TrivialScore]:
    """Score the constant 100 % and each footprint formula with its best constant."""
    trivial = experiment.trivial
    if trivial is None:
        return []
    check = next(check for check in experiment.check if check.name == trivial.check)
    axes = [axis.key for axis in experiment.axis]
    rows = comparisons(table, axes, check.metrics, check.measured_below)
    measured = [row.measured / 100 for row in rows]
    settings = [{**experiment.fixed, **row.axes} for row in rows]
    way_bytes = capacity_of_a_way(trivial, platform)
    constant = TrivialScore(
        text="constant 100 %", value=_mean_absolute_error([1.0] * len(measured), measured)
    )
    return [constant] + [
        _formula_score(settings, measured, way_bytes, backlog)
        for backlog in trivial.backlog_buffers
    ]


def _formula_score(
    rows: Sequence[Mapping[str, Value]], measured: list[float], way_bytes: float, backlog: int
) -> TrivialScore:
    ratios = [_capacity_over_footprint(row, way_bytes, backlog) for row in rows]
    c = best_constant(ratios, measured)
    predicted = [min(1.0, c * ratio) for ratio in ratios]
    buffers = f"(descriptors + {backlog})" if backlog else "descriptors"
    return TrivialScore(
        text=f"min(1, {c:.2f} × DDIO ways' capacity / ({buffers} × packet's lines × 64 B))",
        value=_mean_absolute_error(predicted, measured),
        fitted_on="all points of this check",
    )


def _capacity_over_footprint(row: Mapping[str, Value], way_bytes: float, backlog: int) -> float:
    lines = math.ceil(float(row["packet_bytes"]) / _LINE_BYTES)
    footprint = (float(row["rx_descriptors"]) + backlog) * lines * _LINE_BYTES
    return float(row["ddio_ways"]) * way_bytes / footprint


def best_constant(ratios: list[float], measured: list[float]) -> float:
    """Return the c that makes min(1, c x ratio) the least-squares fit of `measured`.

    Between two neighbouring values of 1 / ratio the set of points at 1 is fixed and the sum of
    squares is a parabola in c, so the best c of each such stretch is known exactly.
    """
    pairs = sorted(zip(ratios, measured, strict=True), reverse=True)
    corners = [1 / ratio for ratio, _ in pairs] + [math.inf]
    candidates = corners[:-1]
    for clipped in range(len(pairs)):
        free = pairs[clipped:]
        low = corners[clipped - 1] if clipped else 0.0
        optimum = sum(r * h for r, h in free) / sum(r * r for r, _ in free)
        candidates.append(min(max(optimum, low), corners[clipped]))
    return min(candidates, key=lambda c: sum((min(1.0, c * r) - h) ** 2 for r, h in pairs))


def capacity_of_a_way(trivial: Trivial, platform: str) -> float:
    """Return the bytes that one way of the LLC holds on `platform`."""
    product = 1.0
    for factor in trivial.way_bytes:
        value = platforms.number(platform, factor) if isinstance(factor, str) else float(factor)
        if value is None:
            raise InputError(
                f"trivial.way_bytes: platform '{platform}' has no number '{factor}'; "
                f"see skipline platforms show {platform}"
            )
        product *= value
    return product


def _mean_absolute_error(predicted: list[float], measured: list[float]) -> float:
    """Return the error in points (0 to 100) of hit rates given as fractions."""
    errors = [abs(p - m) for p, m in zip(predicted, measured, strict=True)]
    return 100 * sum(errors) / len(errors)
