"""Numbers of a sweep along its axes: means over the seeds, 95 % intervals, what is unsettled."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from skipline.store.store import Store

if TYPE_CHECKING:
    import polars as pl

_LEVEL = 0.95


class CurvePoint(NamedTuple):
    """A number at a point; `half` is the half width of its interval, None if that is unknown.

    The interval is that of the mean over the seeds, of a single seed the one within its run.
    """

    axes: dict[str, Any]
    value: float
    half: float | None
    seeds: int
    unsettled: bool
    # The numbers of the seeds, if there are several.
    singles: tuple[float, ...] = ()


def curve_name(value: object) -> str:
    """Write a value of a setting as the name of its curve; a whole number has no fraction."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def points(store: Store, sweep: int, metrics: Sequence[str]) -> dict[str, list[CurvePoint]]:
    """Return the points of each metric, in the order of the sweep."""
    import polars as pl

    keys = store.keys(sweep)
    names = {name.partition(".")[0] for name in metrics}
    frame = store.numbers(sorted(names), sweep).with_columns(
        pl.concat_str("metric", "component", separator=".", ignore_nulls=True).alias("name")
    )
    settled = store.points(sweep).select(*keys, "seed", "settled", "status", "stale")
    joined = frame.join(settled, on=[*keys, "seed"], how="left", nulls_equal=True)
    found: dict[str, list[CurvePoint]] = {name: [] for name in metrics}
    for name in metrics:
        own = joined.filter(pl.col("name") == name)
        for values, rows in own.group_by(keys, maintain_order=True):
            axes = dict(zip(keys, values, strict=True))
            if (point := _point(axes, rows)) is not None:
                found[name].append(point)
    return found


def _point(axes: dict[str, Any], rows: "pl.DataFrame") -> CurvePoint | None:
    values: list[float] = rows["value"].drop_nulls().to_list()
    if not values:
        return None
    unsettled = not all(rows["settled"].fill_null(value=True).to_list())
    mean = math.fsum(values) / len(values)
    if len(values) == 1:
        half = rows["ci95"].to_list()[0]
        return CurvePoint(axes, mean, half, 1, unsettled)
    from scipy import stats

    variance = math.fsum((one - mean) ** 2 for one in values) / (len(values) - 1)
    student = float(stats.t.ppf((1 + _LEVEL) / 2, len(values) - 1))
    half = student * math.sqrt(variance / len(values))
    return CurvePoint(axes, mean, half, len(values), unsettled, tuple(values))
