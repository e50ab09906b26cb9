"""Curves of a sweep: metric over setting, one for each value of a second setting."""

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from skipline.report.chart_style import CATEGORIES, MEASURED, PAPER, PREDICTED
from skipline.report.charts import chart, specification
from skipline.report.document import Panel
from skipline.report.measured_points import Measured
from skipline.store.curves import CurvePoint
from skipline.text import quantity

# A setting whose values are spread over so large a factor is drawn on a log scale.
_LOG_FROM = 8
HEIGHT_PX = 300
# With more curves colours can no longer be told apart.
MOST_CURVES = len(CATEGORIES)


def panel(
    title: str, points: Sequence[CurvePoint], x: str, by: str | None, measured: Measured | None
) -> Panel:
    """Draw a metric over a setting, with its interval; hollow marks are points that are unsettled.

    `title` is METRIC, UNIT; with `by` there is a curve for each of its values.
    """
    metric = title.partition(",")[0]
    most = 100.0 if title.endswith(", %") else math.inf
    records = [_record(point, x, by, most) for point in points]
    numeric = all(isinstance(record["x"], int | float) for record in records)
    axis = _axis(records, x, numeric=numeric)
    y_title = alt.Y("value:Q", title=title, scale=alt.Scale(zero=False))
    base = chart(records)
    colour: Any = alt.value(PREDICTED)
    if by is not None:
        names = list(dict.fromkeys(record["curve"] for record in records))
        colour = alt.Color(
            "curve:N",
            sort=names,
            scale=alt.Scale(domain=names, range=CATEGORIES[: len(names)]),
            legend=alt.Legend(orient="top", title=by, symbolOpacity=1, symbolType="stroke"),
        )
    band = (
        base.mark_area(opacity=0.2) if numeric else base.mark_rule(strokeWidth=6, opacity=0.3)
    ).encode(axis, alt.Y("low:Q", scale=alt.Scale(zero=False)), alt.Y2("high:Q"), color=colour)
    line = base.mark_line(strokeWidth=2).encode(axis, y_title, color=colour)
    marks = base.mark_point(size=55, opacity=1, strokeWidth=1.8).encode(
        axis,
        y_title,
        color=colour,
        fill=alt.condition("datum.unsettled", alt.value(PAPER), colour if by else _filled()),
        tooltip=[
            alt.Tooltip("x:N", title=x),
            *([alt.Tooltip("curve:N", title=by)] if by else []),
            alt.Tooltip("value:Q", format=",.5g"),
            alt.Tooltip("half:Q", title="± 95 %", format=",.3g"),
            alt.Tooltip("seeds:Q"),
            alt.Tooltip("state:N", title="run"),
        ],
    )
    layers = [band, line, marks]
    if measured is not None:
        layers += _measured(measured, metric, x, axis)
    return title, specification(alt.layer(*layers), height=HEIGHT_PX)


def _filled() -> Any:
    return alt.value(PREDICTED)


def _record(point: CurvePoint, x: str, by: str | None, most: float) -> dict[str, Any]:
    """Return a point with the ends of its interval; no share is below nothing or above all."""
    half = point.half or 0.0
    low, high = point.value - half, point.value + half
    return {
        "x": point.axes[x],
        "curve": None if by is None else str(point.axes[by]),
        "value": point.value,
        "low": max(low, 0.0) if most < math.inf else low,
        "high": min(high, most),
        "half": point.half,
        "seeds": point.seeds,
        "unsettled": point.unsettled,
        "state": "not settled" if point.unsettled else "settled",
    }


def _axis(records: list[dict[str, Any]], x: str, *, numeric: bool) -> alt.X:
    if not numeric:
        order = list(dict.fromkeys(str(record["x"]) for record in records))
        return alt.X("x:N", title=x, sort=order, axis=alt.Axis(labelAngle=0))
    values = sorted({float(record["x"]) for record in records})
    is_log = values[0] > 0 and values[-1] >= _LOG_FROM * values[0]
    ticks = alt.Axis(values=values, format="~f", labelOverlap="greedy", grid=False)
    if is_log:
        scale = alt.Scale(type="log", base=2, nice=False, padding=12)
        return alt.X("x:Q", title=f"{x} (log scale)", scale=scale, axis=ticks)
    return alt.X("x:Q", title=x, scale=alt.Scale(zero=False, nice=False, padding=12), axis=ticks)


def _measured(measured: Measured, metric: str, x: str, axis: alt.X) -> list[alt.Chart]:
    records = [
        {"x": axes[x], "value": value, "least": least, "most": most}
        for axes, value, least, most in measured.of(metric)
        if x in axes
    ]
    if not records:
        return []
    scale = alt.Scale(zero=False)
    dots = (
        chart(records)
        .mark_point(shape="diamond", filled=True, color=MEASURED, size=80, opacity=1)
        .encode(
            axis,
            alt.Y("value:Q", scale=scale),
            tooltip=[alt.Tooltip("x:N", title=x), alt.Tooltip("value:Q", title="measured")],
        )
    )
    # A layer without any record has no extent, which Vega warns of.
    runs = [one for one in records if one["least"] is not None and one["most"] is not None]
    if not runs:
        return [dots]
    spread = (
        chart(runs)
        .mark_rule(color=MEASURED, strokeWidth=1.5)
        .encode(axis, alt.Y("least:Q", scale=scale), alt.Y2("most:Q"))
    )
    return [spread, dots]


def caption(
    metrics: Sequence[str],
    points: dict[str, list[CurvePoint]],
    x: str,
    by: str | None,
    measured: Measured | None,
) -> str:
    """Say what axes and marks show, which points are unsettled, and where numbers come from."""
    every = [point for name in metrics for point in points[name]]
    seeds = max((point.seeds for point in every), default=1)
    interval = f"of the mean over {seeds} seeds" if seeds > 1 else "within the run"
    curves = f", a curve for each {by}" if by else ""
    unsettled = _where(every, x, by)
    hollow = (
        f" Hollow: points that have not settled ({unsettled}); raise run.max_batches."
        if unsettled
        else ""
    )
    seen = f" Diamonds: measured, from {measured.name}." if measured else " Nothing is measured."
    verticals = ", ".join(metrics)
    return (
        f"{verticals} (vertical) over {x} (horizontal){curves}. Simulated; shaded: 95 % interval "
        f"{interval}.{hollow}{seen}"
    )


def _where(points: Sequence[CurvePoint], x: str, by: str | None) -> str:
    """Name the points that have not settled: of each curve the values along it."""
    found: dict[str, list[str]] = {}
    for point in points:
        if point.unsettled:
            curve = f"{by} {point.axes[by]}, " if by else ""
            values = found.setdefault(f"{curve}{x}", [])
            values += [text] if (text := str(point.axes[x])) not in values else []
    return "; ".join(f"{curve} {', '.join(values)}" for curve, values in found.items())


def legend(points: Sequence[CurvePoint], measured: Measured | None) -> str:
    """Say in a few words what a picture without its caption shows."""
    seeds = max((point.seeds for point in points), default=1)
    of = f"over {seeds} seeds" if seeds > 1 else "within a run; other seeds may differ by more"
    parts = [f"shaded: 95 % interval {of}"]
    if any(point.unsettled for point in points):
        parts.append("hollow: not settled")
    if measured is not None:
        parts.append(f"diamonds: measured ({measured.name})")
    return f"Simulated; {'; '.join(parts)}"


def title(metric: str, unit: str) -> str:
    """Name a metric with its unit."""
    known = quantity.scale(0.0, unit)[1] if unit == "percent" else unit
    return f"{metric}, {known}" if known and known != "1" else metric
