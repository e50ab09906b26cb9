"""Bands of the model's own error along the curves of a sweep, one for each point.

They are the bounds that `skipline run` prints for the main tenant's numbers at the same point.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from skipline.model_error import view
from skipline.store.curves import CurvePoint

# Numbers beside a metric on which its bounds depend.
BESIDE = ("throughput_gbps", "offered_gbps")
_MAIN = "main:"


class Band(NamedTuple):
    """The bounds of a number at a point, or the reason why none are known."""

    low: float | None
    high: float | None
    why_none: str


def along(metric: str, points: Mapping[str, Sequence[CurvePoint]]) -> list[Band]:
    """Return the band of each point of a metric; `points` also has the metrics of BESIDE."""
    judged = metric
    if metric.startswith(_MAIN):
        # A number of the whole machine goes before that of its main tenant, as beside a result.
        own = metric.removeprefix(_MAIN)
        judged = metric if points.get(own) else own
    beside = {
        name: {_place(point): point.value for point in points.get(name, ())} for name in BESIDE
    }
    found = []
    for point in points[metric]:
        values: dict[str, float | None] = {
            name: known.get(_place(point)) for name, known in beside.items()
        }
        values[judged] = point.value
        low, high = view.bounds(judged, values) or (None, None)
        found.append(Band(low, high, view.why_unknown(judged, values)))
    return found


def _place(point: CurvePoint) -> tuple[object, ...]:
    return tuple(point.axes.values())
