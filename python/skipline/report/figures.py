"""Figures of an experiment: each is a function of compared numbers."""

import itertools
import math
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import altair as alt

from skipline.experiment.definition import Axis, Experiment
from skipline.experiment.table import Comparison, Simulated
from skipline.report.chart_style import CATEGORIES, EDGE, MEASURED, PAPER, PREDICTED
from skipline.report.charts import chart, specification
from skipline.report.document import Panel

_UNITS = {"percent": "%"}
# Margin of a log axis beside its first and last point, as a factor.
_LOG_MARGIN = 1.25
# A little above 100, so that marks at 100 % are not cut in half.
_PERCENT_TOP = 101.0
PERCENT_TICKS = [0, 20, 40, 60, 80, 100]


def unit_text(unit: str) -> str:
    """Write a unit as figures do."""
    return _UNITS.get(unit, unit)


def along_x(experiment: Experiment, metric: str, rows: Sequence[Simulated]) -> list[Panel]:
    """Draw one metric along the x axis, one panel per combination of the panel axes."""
    rows = [row for row in rows if row.metric == metric]
    if not rows:
        return []
    domain = _value_domain(rows)
    label = next(entry.label for entry in experiment.metric if entry.name == metric)
    # As long as a panel is high; what is longer would be cut off.
    axis_title = textwrap.wrap(f"{label}, {unit_text(rows[0].unit)}", 34)
    panels = []
    axes = experiment.panel_axes
    combinations = itertools.product(*(axis.coordinates for axis in axes))
    for combination in combinations:
        wanted = dict(zip((axis.key for axis in axes), combination, strict=True))
        chosen = [row for row in rows if wanted.items() <= row.axes.items()]
        if not chosen:
            continue
        title = ", ".join(axis.text(wanted[axis.key]) for axis in axes) or label
        title += _basis_in_title(chosen)
        panels.append((title, _line_panel(experiment.x_axis, chosen, axis_title, domain)))
    return panels


def _basis_in_title(rows: list[Simulated]) -> str:
    bases = {row.basis for row in rows}
    return f" ({bases.pop()})" if len(bases) == 1 else ""


def _line_panel(
    axis: Axis, rows: list[Simulated], title: list[str], domain: list[float]
) -> dict[str, Any]:
    unit = unit_text(rows[0].unit)
    base = chart([_record(row, axis) for row in rows])
    x = _x(axis, rows)
    y_axis = alt.Axis(values=PERCENT_TICKS) if rows[0].unit == "percent" else alt.Axis(tickCount=6)
    scale = alt.Scale(domain=domain, nice=False)

    def y(field: str) -> alt.Y:
        return alt.Y(field, title=title, scale=scale, axis=y_axis)

    fill = alt.condition("datum.basis == 'fitted'", alt.value(PAPER), alt.value(PREDICTED))
    simulated = base.mark_point(stroke=PREDICTED, size=26, opacity=1, strokeWidth=1.5).encode(
        x, y("predicted:Q"), fill=fill, tooltip=_tooltip(axis, unit)
    )
    if axis.is_numeric:
        band = base.mark_area(color=PREDICTED, opacity=0.2)
        line = base.mark_line(color=PREDICTED, strokeWidth=2).encode(x, y("predicted:Q"))
    else:
        band = base.mark_rule(color=PREDICTED, opacity=0.3, strokeWidth=7)
        line = base.mark_rule(color=PREDICTED, strokeWidth=1.5, opacity=0.5).encode(
            x, y("predicted:Q"), alt.Y2("zero:Q")
        )
    band = band.encode(x, y("low:Q"), alt.Y2("high:Q"))
    published = _published(base, x, y) if any(isinstance(r, Comparison) for r in rows) else []
    return specification(alt.layer(band, line, *published, simulated))


def _published(base: alt.Chart, x: alt.X, y: Callable[[str], alt.Y]) -> list[alt.Chart]:
    """Draw measured numbers with their lowest and highest run, and stated ones, which have none."""
    known = base.transform_filter("datum.measured != null")
    runs = base.transform_filter("datum.runs > 0")
    spread = runs.mark_rule(color=MEASURED, strokeWidth=1.5).encode(
        x, y("measured_min:Q"), alt.Y2("measured_max:Q")
    )
    ends = [
        runs.mark_tick(color=MEASURED, size=9, thickness=1.5, orient="horizontal").encode(x, y(end))
        for end in ("measured_min:Q", "measured_max:Q")
    ]
    points = known.mark_circle(color=MEASURED, size=60, opacity=1).encode(x, y("measured:Q"))
    return [spread, *ends, points]


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
        .mark_line(color=EDGE, strokeDash=[5, 4])
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


def _record(row: Simulated, axis: Axis) -> dict[str, Any]:
    low, high = row.predicted_range
    simulated = {
        "x": row.axes[axis.key] if axis.is_numeric else str(row.axes[axis.key]),
        "point": row.point_name,
        "basis": row.basis,
        "predicted": row.predicted,
        "low": low,
        "high": high,
        "interval": row.ci95,
        "zero": 0,
    }
    if not isinstance(row, Comparison):
        return simulated | {"measured": None, "runs": 0}
    return simulated | {
        "measured": row.measured,
        "runs": row.measured_runs,
        "measured_min": row.measured_min,
        "measured_max": row.measured_max,
        "error": row.error,
    }


def _tooltip(axis: Axis | None, unit: str) -> list[alt.Tooltip]:
    first = [alt.Tooltip("x:Q" if axis.is_numeric else "x:N", title=axis.label)] if axis else []
    return [
        *first,
        alt.Tooltip("measured:Q", title=f"published, {unit}", format=".2f"),
        alt.Tooltip("measured_min:Q", title="lowest run", format=".2f"),
        alt.Tooltip("measured_max:Q", title="highest run", format=".2f"),
        alt.Tooltip("predicted:Q", title=f"simulated, {unit}", format=".2f"),
        alt.Tooltip("interval:Q", title="± 95 %", format=".2f"),
        alt.Tooltip("error:Q", title="error", format="+.2f"),
    ]


def _x(axis: Axis, rows: list[Simulated]) -> alt.X:
    if not axis.is_numeric:
        present = {str(row.axes[axis.key]) for row in rows}
        names = [str(value) for value in axis.coordinates if str(value) in present]
        look = alt.Axis(grid=False, labelAngle=-30, labelLimit=150, labelOverlap=False)
        return alt.X("x:N", title=None, scale=alt.Scale(domain=names, padding=0.5), axis=look)
    numbers = [float(value) for value in axis.coordinates]
    whole = all(number.is_integer() for number in numbers)
    look = alt.Axis(values=numbers, format="~d" if whole else "~g", grid=False)
    return alt.X("x:Q", title=axis.label, scale=_x_scale(axis, numbers), axis=look)


def _x_scale(axis: Axis, numbers: list[float]) -> alt.Scale:
    low, high = min(numbers), max(numbers)
    if axis.scale == "log2":
        domain = [low / _LOG_MARGIN, high * _LOG_MARGIN]
        return alt.Scale(type="log", base=2, domain=domain, nice=False)
    margin = (high - low) / 20 or 1
    return alt.Scale(domain=[low - margin, high + margin], nice=False, zero=False)


def _value_domain(rows: Sequence[Simulated]) -> list[float]:
    """Return the range that all panels share: percentages from 0 to 100, others from zero."""
    if rows[0].unit == "percent":
        return [0.0, _PERCENT_TOP]
    low, high = _extent(rows)
    if high <= 0:
        return [min(low, 0.0), 1.0]
    step = 10.0 ** math.floor(math.log10(high)) / 2
    return [min(0.0, low), math.ceil(high * 1.02 / step) * step]


def _close_domain(rows: Sequence[Comparison]) -> list[float]:
    """Return the range that the points fill; percentages end at 100."""
    low, high = _extent(rows)
    step = 10.0 ** math.floor(math.log10(max(high - low, 1e-3)))
    start = max(0.0, math.floor(low / step) * step)
    return [start, _PERCENT_TOP if rows[0].unit == "percent" else math.ceil(high / step) * step]


def _extent(rows: Sequence[Simulated]) -> tuple[float, float]:
    ends = [end for row in rows for end in row.predicted_range]
    compared = [row for row in rows if isinstance(row, Comparison)]
    ends += [end for row in compared for end in (row.measured_min, row.measured_max)]
    return min(ends), max(ends)
