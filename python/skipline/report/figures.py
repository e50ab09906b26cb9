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
PERCENT_TICKS = [0, 20, 40, 60, 80, 100]


def unit_text(unit: str) -> str:
    """Write a unit as figures do."""
    return _UNITS.get(unit, unit)


def along_x(experiment: Experiment, metric: str, rows: list[Comparison]) -> list[Panel]:
    """Draw one metric along the x axis, one panel per combination of the panel axes."""
    rows = [row for row in rows if row.metric == metric]
    domain = _value_domain(rows)
    label = next(entry.label for entry in experiment.metric if entry.name == metric)
    axis_title = f"{label}, {unit_text(rows[0].unit)}"
    panels = []
    axes = experiment.panel_axes
    combinations = itertools.product(*(axis.values for axis in axes))
    for combination in combinations:
        wanted = dict(zip((axis.key for axis in axes), combination, strict=True))
        chosen = [row for row in rows if wanted.items() <= row.axes.items()]
        title = ", ".join(axis.text(wanted[axis.key]) for axis in axes) or label
        title += _basis_in_title(chosen)
        panels.append((title, _line_panel(experiment.x_axis, chosen, axis_title, domain)))
    return panels


def _basis_in_title(rows: list[Comparison]) -> str:
    bases = {row.basis for row in rows}
    return f" ({bases.pop()})" if len(bases) == 1 else ""


def _line_panel(
    axis: Axis, rows: list[Comparison], title: str, domain: list[float]
) -> dict[str, Any]:
    unit = unit_text(rows[0].unit)
    base = chart([_record(row, axis) for row in rows])
    x = alt.X("x:Q", title=axis.label, scale=_x_scale(axis), axis=_x_axis(axis))
    y_axis = alt.Axis(values=PERCENT_TICKS) if rows[0].unit == "percent" else alt.Axis(tickCount=6)
    scale = alt.Scale(domain=domain, nice=False)

    def y(field: str) -> alt.Y:
        return alt.Y(field, title=title, scale=scale, axis=y_axis)

    band = base.mark_area(color=PREDICTED, opacity=0.2).encode(x, y("low:Q"), alt.Y2("high:Q"))
    line = base.mark_line(color=PREDICTED, strokeWidth=2).encode(x, y("predicted:Q"))
    spread = base.mark_rule(color=MEASURED, strokeWidth=1.5).encode(
        x, y("measured_min:Q"), alt.Y2("measured_max:Q")
    )
    ends = [
        base.mark_tick(color=MEASURED, size=9, thickness=1.5, orient="horizontal").encode(x, y(end))
        for end in ("measured_min:Q", "measured_max:Q")
    ]
    points = base.mark_circle(color=MEASURED, size=60, opacity=1).encode(
        x, y("measured:Q"), tooltip=_tooltip(axis, unit)
    )
    fill = alt.condition("datum.basis == 'fitted'", alt.value("#fff"), alt.value(PREDICTED))
    simulated = base.mark_point(stroke=PREDICTED, size=26, opacity=1, strokeWidth=1.5).encode(
        x, y("predicted:Q"), fill=fill, tooltip=_tooltip(axis, unit)
    )
    return specification(alt.layer(band, line, spread, *ends, points, simulated))


def scatter(experiment: Experiment, metrics: list[str], rows: list[Comparison]) -> Panel:
    """Draw simulated against measured for metrics of one unit; the diagonal is perfection."""
    rows = [row for row in rows if row.metric in metrics]
    unit = unit_text(rows[0].unit)
    domain = _close_domain(rows)
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
    tooltip = ["point:N", "basis:N", *_tooltip(None, unit)]
    points = [
        base.transform_filter(f"datum.basis == '{basis}'")
        .mark_point(filled=basis == "predicted", size=60, opacity=0.9, strokeWidth=1.8)
        .encode(x, y, color=colour, shape=shape, tooltip=tooltip)
        for basis in sorted({row.basis for row in rows})
    ]
    return " and ".join(names), specification(alt.layer(diagonal, spread, *points), height=380)


def _record(row: Comparison, axis: Axis) -> dict[str, Any]:
    low, high = row.predicted_range
    return {
        "x": row.axes[axis.key],
        "point": row.place,
        "basis": row.basis,
        "predicted": row.predicted,
        "low": low,
        "high": high,
        "interval": row.ci95,
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
    """Return the range that all panels share: percentages from 0 to 100, others from zero."""
    if rows[0].unit == "percent":
        return [0.0, _PERCENT_TOP]
    _, high = _extent(rows)
    step = 10.0 ** math.floor(math.log10(high)) / 2
    return [0.0, math.ceil(high * 1.02 / step) * step]


def _close_domain(rows: list[Comparison]) -> list[float]:
    """Return the range that the points fill; percentages end at 100."""
    low, high = _extent(rows)
    step = 10.0 ** math.floor(math.log10(max(high - low, 1e-3)))
    start = max(0.0, math.floor(low / step) * step)
    return [start, _PERCENT_TOP if rows[0].unit == "percent" else math.ceil(high / step) * step]


def _extent(rows: list[Comparison]) -> tuple[float, float]:
    lows = [min(row.measured_min, row.predicted_range[0]) for row in rows]
    highs = [max(row.measured_max, row.predicted_range[1]) for row in rows]
    return min(lows), max(highs)
