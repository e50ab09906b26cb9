"""Figures of an experiment: each is a function of compared numbers."""

import itertools
import math
from typing import Any

import altair as alt

from skipline.experiment.definition import Axis, Experiment
from skipline.experiment.table import Comparison
from skipline.report.chart_style import CATEGORIES, MEASURED, PREDICTED, chart, specification

Panel = tuple[str, dict[str, Any]]
_UNITS = {"percent": "%"}
# A log axis needs room beside its first and last point, as a factor.
_LOG_MARGIN = 1.25
# A little above 100, so that marks at 100 % are not cut in half.
_PERCENT_TOP = 101.0


def unit_text(unit: str) -> str:
    """Write a unit as figures do."""
    return _UNITS.get(unit, unit)


def along_x(experiment: Experiment, metric: str, rows: list[Comparison]) -> list[Panel]:
    """Draw one metric along the x axis, one panel per combination of the panel axes."""
    rows = [row for row in rows if row.metric == metric]
    domain = _value_domain(rows)
    label = next(entry.label for entry in experiment.metric if entry.name == metric)
    panels = []
    axes = experiment.panel_axes
    combinations = itertools.product(*(axis.values for axis in axes))
    for combination in combinations:
        wanted = dict(zip((axis.key for axis in axes), combination, strict=True))
        chosen = [row for row in rows if wanted.items() <= row.axes.items()]
        title = ", ".join(axis.text(wanted[axis.key]) for axis in axes) or label
        panels.append((title, _line_panel(experiment.x_axis, chosen, domain)))
    return panels


def _line_panel(axis: Axis, rows: list[Comparison], domain: list[float]) -> dict[str, Any]:
    unit = unit_text(rows[0].unit)
    base = chart([_record(row, axis) for row in rows])
    x = alt.X("x:Q", title=axis.label, scale=_x_scale(axis), axis=_x_axis(axis))
    y = alt.Y("predicted:Q", title=unit, scale=alt.Scale(domain=domain, nice=False))
    band = base.mark_area(color=PREDICTED, opacity=0.2).encode(
        x, alt.Y("low:Q", title=unit), alt.Y2("high:Q")
    )
    line = base.mark_line(color=PREDICTED, strokeWidth=2).encode(x, y)
    spread = base.mark_rule(color=MEASURED, strokeWidth=1.5).encode(
        x, alt.Y("measured_min:Q"), alt.Y2("measured_max:Q")
    )
    ends = [
        base.mark_tick(color=MEASURED, size=8, thickness=1.5, orient="horizontal").encode(
            x, alt.Y(end)
        )
        for end in ("measured_min:Q", "measured_max:Q")
    ]
    points = base.mark_circle(color=MEASURED, size=46, opacity=1).encode(
        x, alt.Y("measured:Q"), tooltip=_tooltip(axis, unit)
    )
    simulated = base.mark_circle(color=PREDICTED, size=30, opacity=1).encode(
        x, y, tooltip=_tooltip(axis, unit)
    )
    return specification(alt.layer(band, line, spread, *ends, points, simulated))


def scatter(experiment: Experiment, metrics: list[str], rows: list[Comparison]) -> Panel:
    """Draw predicted against measured for metrics of one unit; the diagonal is perfection."""
    rows = [row for row in rows if row.metric in metrics]
    unit = unit_text(rows[0].unit)
    domain = _value_domain(rows)
    labels = {entry.name: entry.label for entry in experiment.metric if entry.name in metrics}
    records = [{**_record(row, experiment.x_axis), "name": labels[row.metric]} for row in rows]
    base = chart(records)
    scale = alt.Scale(domain=domain, nice=False)
    ticks = alt.Axis(tickCount=6)
    x = alt.X("measured:Q", title=f"measured, {unit}", scale=scale, axis=ticks)
    y = alt.Y("predicted:Q", title=f"simulated, {unit}", scale=scale, axis=ticks)
    names = list(labels.values())
    # One legend for colour and shape; Vega merges the two because they are the same.
    key = alt.Legend(orient="top", title=None, labelLimit=400, symbolOpacity=1)
    legend = key if len(names) > 1 else None
    colours = alt.Scale(domain=names, range=CATEGORIES[: len(names)])
    colour = alt.Color("name:N", scale=colours, legend=legend)
    shape = alt.Shape("name:N", scale=alt.Scale(domain=names), legend=legend)
    ends = [{"x": domain[0], "y": domain[0]}, {"x": domain[1], "y": domain[1]}]
    diagonal = (
        chart(ends)
        .mark_line(color="#8c959f", strokeDash=[5, 4])
        .encode(alt.X("x:Q", scale=scale), alt.Y("y:Q", scale=scale))
    )
    spread = base.mark_rule(opacity=0.45).encode(
        alt.X("measured_min:Q"), y, alt.X2("measured_max:Q"), color=colour
    )
    points = base.mark_point(filled=True, size=55, opacity=0.85).encode(
        x, y, color=colour, shape=shape, tooltip=["point:N", *_tooltip(None, unit)]
    )
    return " and ".join(names), specification(alt.layer(diagonal, spread, points), height=380)


def _record(row: Comparison, axis: Axis) -> dict[str, Any]:
    half = row.ci95 or 0.0
    return {
        "x": row.axes[axis.key],
        "point": ", ".join(f"{key} {value}" for key, value in row.axes.items()),
        "predicted": row.predicted,
        "low": row.predicted - half,
        "high": row.predicted + half,
        "interval": half,
        "measured": row.measured,
        "measured_min": row.measured_min,
        "measured_max": row.measured_max,
        "error": row.error,
    }


def _tooltip(axis: Axis | None, unit: str) -> list[alt.Tooltip]:
    first = [alt.Tooltip("x:Q", title=axis.label)] if axis else []
    return [
        *first,
        alt.Tooltip("measured:Q", title=f"measured, {unit}", format=".2f"),
        alt.Tooltip("measured_min:Q", title="lowest run", format=".2f"),
        alt.Tooltip("measured_max:Q", title="highest run", format=".2f"),
        alt.Tooltip("predicted:Q", title=f"simulated, {unit}", format=".2f"),
        alt.Tooltip("interval:Q", title="± 95 %", format=".2f"),
        alt.Tooltip("error:Q", title="error", format="+.2f"),
    ]


def _x_scale(axis: Axis) -> alt.Scale:
    low, high = min(axis.values), max(axis.values)
    if axis.scale == "log2":
        domain = [low / _LOG_MARGIN, high * _LOG_MARGIN]
        return alt.Scale(type="log", base=2, domain=domain, nice=False)
    margin = (high - low) / 20 or 1
    return alt.Scale(domain=[low - margin, high + margin], nice=False, zero=False)


def _x_axis(axis: Axis) -> alt.Axis:
    return alt.Axis(values=list(axis.values), format="~d", grid=False)


def _value_domain(rows: list[Comparison]) -> list[float]:
    """Return the range that all panels share: percentages end at 100, others start at zero."""
    lows = [min(row.measured_min, row.predicted - (row.ci95 or 0.0)) for row in rows]
    highs = [max(row.measured_max, row.predicted + (row.ci95 or 0.0)) for row in rows]
    if rows[0].unit == "percent":
        return [float(math.floor(max(0.0, min(lows)) / 20) * 20), _PERCENT_TOP]
    step = 10.0 ** math.floor(math.log10(max(highs))) / 2
    return [0.0, math.ceil(max(highs) * 1.02 / step) * step]
