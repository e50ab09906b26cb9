"""The answer of a sweep: where a metric is best, and which metrics its settings do not change."""

import math
from collections.abc import Sequence
from typing import Any

from skipline.report import curve_words
from skipline.report import sweep_figures as figures
from skipline.report.curves import Along, Curve
from skipline.report.document import card
from skipline.scenarios import metrics, scenario_keys
from skipline.store import summary
from skipline.store.curves import CurvePoint
from skipline.store.summary import Summary
from skipline.text import quantity

# Sentences on metrics that change, fewer the more settings each names, and on those that do not.
_MOST_TOLD = 3


def sentence(found: Summary, curves: Sequence[Curve], along: Along | None = None) -> str:
    """Say where the metrics that the settings change are best, and which they do not change.

    Of several curves each is looked at alone: that a setting with curves of its own changes a
    metric is not what the one along the figure does.
    """
    changed: list[str] = []
    unchanged: list[str] = []
    for curve in (curve for curve in curves if not curve.is_nothing):
        best = _best(found, curve.name)
        if best is None:
            continue
        if _changes(curve, along):
            changed.append(_best_of(found, curve, best))
        elif len(curve.points) > 1:
            unchanged.append(_unchanged(curve, best[curve.name], along))
    lost = curve_words.nothing([curve for curve in curves if curve.is_nothing])
    most = max(_MOST_TOLD + 1 - len(_varied(found)), 1)
    told = [*changed[:most], *unchanged[:most], *lost]
    return " ".join(told) or f"{len(found.frame):,} points of {', '.join(found.axes)}."


def _changes(curve: Curve, along: Along | None) -> bool:
    """Return whether the best point of some curve is better than another one of it."""
    by = along.by if along else None
    apart: dict[object, list[CurvePoint]] = {}
    for point in curve.points:
        apart.setdefault(point.axes[by] if by else None, []).append(point)
    return any(_as_good(curve.name, points) < len(points) for points in apart.values())


def _best_of(found: Summary, curve: Curve, best: dict[str, Any]) -> str:
    alike = _as_good(curve.name, curve.points)
    word = "highest" if summary.more_is_better(curve.name) else "lowest"
    others = f"; no worse at {alike - 1} of the others" if alike > 1 else ""
    factor, unit = curve.scale
    values = [point.value / factor for point in curve.points]
    ends = f"{figures.number(min(values))} to {figures.number(max(values))} {unit}".strip()
    return f"{metrics.label(curve.name)}: {ends}, {word} with {_settings(found, best)}{others}."


def _unchanged(curve: Curve, value: float, along: Along | None) -> str:
    name = metrics.label(curve.name)
    if along is None or along.by is None:
        return f"{name}: {_text(value, curve.unit)} at all points, within the intervals."
    setting = scenario_keys.label(along.x).within
    return f"{name}: the same at all values of {setting}, within the intervals."


def _text(value: float, unit: str) -> str:
    shown = quantity.text(value, None, unit)
    return f"{shown.value} {shown.unit}".strip()


def cards(found: Summary, curves: Sequence[Curve]) -> list[str]:
    """Return a tile for the best of each metric of which it is known what is better, as HTML."""
    result = []
    for curve in curves:
        best = _best(found, curve.name)
        if best is None or curve.is_nothing:
            continue
        values: list[float] = found.frame[curve.name].drop_nulls().to_list()
        factor, _ = quantity.scale(best[curve.name], curve.unit)
        ends = [figures.number(end / factor) for end in (min(values), max(values))]
        differs = _as_good(curve.name, curve.points) < len(curve.points)
        where = f"at {_keys(found, best)}" if differs else "no clear difference"
        label = metrics.label(curve.name)
        result.append(
            card(
                f"Best: {label}" if differs else label,
                _text(best[curve.name], curve.unit),
                f"of {ends[0]} to {ends[1]}; {where}",
            )
        )
    return result


def _settings(found: Summary, row: dict[str, Any]) -> str:
    settings = [_setting(axis, row[axis]) for axis in _varied(found)]
    return " and ".join(filter(None, (", ".join(settings[:-1]), settings[-1])))


def _varied(found: Summary) -> list[str]:
    return [axis for axis in found.axes if found.frame[axis].n_unique() > 1] or found.axes


def _setting(axis: str, value: object) -> str:
    label = scenario_keys.label(axis)
    shown = figures.number(value) if isinstance(value, float) else str(value)
    return f"{label.within} = {shown} {label.unit}".strip()


def _keys(found: Summary, row: dict[str, Any]) -> str:
    return ", ".join(f"{axis} {row[axis]}" for axis in found.axes)


def _best(found: Summary, metric: str) -> dict[str, Any] | None:
    better = summary.more_is_better(metric)
    if better is None or found.frame[metric].null_count() == len(found.frame):
        return None
    ordered = found.frame.sort(metric, descending=better, nulls_last=True)
    return ordered.row(0, named=True)


def _as_good(metric: str, points: Sequence[CurvePoint]) -> int:
    """Return how many points the intervals do not tell from the best, itself among them."""
    choose = max if summary.more_is_better(metric) else min
    best = choose(points, key=lambda point: point.value)
    return sum(
        abs(point.value - best.value) <= math.hypot(point.half or 0.0, best.half or 0.0)
        for point in points
    )
