"""Which points of a curve can be told apart: by their intervals, and by the model's own error."""

import math
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from skipline.report.curves import Along, Curve
from skipline.report.model_bands import Band
from skipline.store import summary
from skipline.store.curves import CurvePoint

# Bands of rates end at what is offered, which single rates exceed by a little: by this share.
_SLACK = 1e-4


class Known(NamedTuple):
    """A point, and what the model may be off by there."""

    point: CurvePoint
    band: Band


def best(metric: str, known: Sequence[Known]) -> Known:
    """Return the best point; of a metric of which that is not known the highest."""
    choose = min if summary.more_is_better(metric) is False else max
    return choose(known, key=lambda one: one.point.value)


def by_intervals(one: Known, other: Known) -> bool:
    """Return whether intervals do not tell two points apart."""
    halves = math.hypot(one.point.half or 0.0, other.point.half or 0.0)
    return abs(one.point.value - other.point.value) <= halves


def by_model(one: Known, other: Known) -> bool:
    """Return whether the model does not tell two points apart: each may be the other."""
    return _within(one, other) and _within(other, one)


def _within(one: Known, other: Known) -> bool:
    low, high = other.band.low, other.band.high
    if low is None or high is None:
        return False
    return low <= one.point.value <= high * (1.0 + _SLACK)


def known(curve: Curve) -> list[Known]:
    """Return the points of a curve with their bands."""
    return [Known(*pair) for pair in zip(curve.points, curve.bands, strict=True)]


def why_alike(curve: Curve, along: Along | None) -> Literal["intervals", "model"] | None:
    """Say what hides how a metric changes along a setting; None if it is seen to change.

    Of several curves each is looked at alone: that a setting with curves of its own changes a
    metric is not what the one along the figure does.
    """
    groups = [(best(curve.name, group), group) for group in _apart(curve, along)]
    if all(by_intervals(one, first) for first, group in groups for one in group):
        return "intervals"
    if all(by_model(one, other) for _, group in groups for one in group for other in group):
        return "model"
    return None


def _apart(curve: Curve, along: Along | None) -> Iterator[list[Known]]:
    by = along.by if along else None
    found: dict[object, list[Known]] = {}
    for one in known(curve):
        found.setdefault(one.point.axes[by] if by else None, []).append(one)
    yield from found.values()


def as_good(curve: Curve) -> list[Known]:
    """Return the points that neither intervals nor the model tell from the best one."""
    every = known(curve)
    first = best(curve.name, every)
    return [one for one in every if by_intervals(one, first) or by_model(one, first)]
