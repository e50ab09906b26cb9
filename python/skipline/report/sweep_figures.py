"""Figures of a sweep: parallel coordinates, heat maps of two axes, the Pareto front."""

import textwrap
from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from skipline.report.chart_style import CATEGORIES, EDGE, PREDICTED, SOFT
from skipline.report.charts import chart, specification
from skipline.report.document import Panel
from skipline.report.figures import unit_text
from skipline.scenarios import metrics, scenario_keys
from skipline.store import summary
from skipline.store.summary import Summary

# More lines are a grey area, and slow: of more points these are drawn, evenly chosen.
MOST_LINES = 600
# Letters of a title along a panel on a phone.
_MOST_LETTERS = 40
# From here on four digits are whole.
_WHOLE = 1000
_COMMAND = alt.Tooltip("command:N", title="reproduce")
# From little to much, seen on light and dark pages alike.
_SCALE = alt.Scale(scheme="viridis")


def title(found: Summary, name: str) -> str:
    """Name a metric with its unit."""
    unit = unit_text(found.units.get(name, ""))
    return f"{name}, {unit}" if unit else name


def words(found: Summary, name: str) -> str:
    """Return what people call a metric or an axis, with its unit and its name."""
    if name in found.axes:
        return f"{scenario_keys.label(name).text} ({name})"
    unit = unit_text(found.units.get(name, ""))
    return f"{metrics.label(name)}{f', {unit}' if unit else ''} ({name})"


def _wrapped(found: Summary, name: str) -> list[str]:
    """Return `words` in lines that are no longer than a panel on a phone is wide and high."""
    return textwrap.wrap(words(found, name), _MOST_LETTERS)


def choose_points(found: Summary, front: Sequence[bool]) -> pl.DataFrame:
    """Return the points that figures of lines draw: those of the front, and others evenly."""
    frame = found.frame.with_columns(pl.Series("front", list(front), pl.Boolean))
    if len(frame) <= MOST_LINES:
        return frame
    step = -(-len(frame) // MOST_LINES)
    return (
        frame.with_row_index().filter(pl.col("front") | (pl.col("index") % step == 0)).drop("index")
    )


def parallel(found: Summary, frame: pl.DataFrame) -> Panel:
    """Draw each point as a line over all axes and metrics, each from its least to its most."""
    names = [*found.axes, *found.metrics]
    positions = {name: _positions(frame[name]) for name in names}
    first = found.metrics[0]
    records = [
        {
            "point": at,
            "name": name,
            "position": positions[name][at],
            "value": _text(row[name]),
            "colour": row[first],
            "settings": _settings(found, row),
            "command": row["command"],
        }
        for at, row in enumerate(frame.iter_rows(named=True))
        for name in names
    ]
    hover = alt.selection_point(
        on="pointerover", clear="pointerout", fields=["point"], empty=False, nearest=True
    )
    x = alt.X("name:N", sort=names, title=None, axis=_NAMES)
    y = alt.Y("position:Q", title=None, axis=alt.Axis(values=[0, 1], labelExpr=_ENDS))
    base = chart(records).encode(x, y, detail="point:N")
    lines = base.mark_line(strokeWidth=1).encode(
        color=alt.Color("colour:Q", scale=_SCALE, legend=_legend(_wrapped(found, first))),
        opacity=alt.condition(hover, alt.value(1.0), alt.value(0.45)),
        strokeWidth=alt.condition(hover, alt.value(4), alt.value(1)),
    )
    marks = base.mark_circle(size=24, color=SOFT).encode(
        opacity=alt.condition(hover, alt.value(1.0), alt.value(0.25)),
        tooltip=["name:N", "value:N", "settings:N", _COMMAND],
    )
    return "All points", specification(alt.layer(lines, marks.add_params(hover)), height=360)


# Every name is needed to read the figure.
_NAMES = alt.Axis(labelAngle=-30, labelOverlap=False, labelLimit=130, grid=True)
_ENDS = "datum.value === 0 ? 'least' : 'most'"


def _legend(text: list[str]) -> alt.Legend:
    """Return a key to colours above the figure, which leaves it its width."""
    return alt.Legend(orient="top", title=text, titleLimit=0, gradientLength=160, titleColor=SOFT)


def heat_maps(found: Summary, x: str, y: str) -> list[Panel]:
    """Draw each metric over two axes, as the mean over all others."""
    panels = []
    for name in found.metrics:
        cells = (
            found.frame.filter(pl.col(name).is_not_null())
            .group_by(x, y, maintain_order=True)
            .agg(
                pl.col(name).mean().alias("mean"),
                pl.col(name).min().alias("least"),
                pl.col(name).max().alias("most"),
                pl.len().alias("points"),
                pl.col("command").first(),
            )
        )
        base = chart(cells.rename({x: "x", y: "y"}).to_dicts())
        rects = base.mark_rect().encode(
            alt.X(
                "x:O",
                title=_wrapped(found, x),
                sort=_order(found.frame[x]),
                axis=alt.Axis(labelAngle=0),
            ),
            alt.Y("y:O", title=_wrapped(found, y), sort=_order(found.frame[y], reverse=True)),
            alt.Color("mean:Q", scale=_SCALE, title=None),
            tooltip=[
                alt.Tooltip("x:N", title=x),
                alt.Tooltip("y:N", title=y),
                *(alt.Tooltip(f"{part}:Q", format=",.4g") for part in ("mean", "least", "most")),
                "points:Q",
                _COMMAND,
            ],
        )
        panels.append((words(found, name), specification(rects, height=260)))
    return panels


def front(found: Summary, frame: pl.DataFrame, x: str, y: str) -> Panel:
    """Draw two metrics against each other; the points of the front are joined."""
    rows = frame.filter(pl.col(x).is_not_null() & pl.col(y).is_not_null())
    records = [
        {
            "x": row[x],
            "y": row[y],
            "kind": "best trade-off" if row["front"] else "other",
            "settings": _settings(found, row),
            "command": row["command"],
        }
        for row in rows.iter_rows(named=True)
    ]
    scale = alt.Scale(zero=False, nice=True)
    colours = alt.Scale(domain=["best trade-off", "other"], range=[CATEGORIES[1], PREDICTED])
    axis_x = alt.X("x:Q", title=_wrapped(found, x), scale=scale)
    axis_y = alt.Y("y:Q", title=_wrapped(found, y), scale=scale)
    base = chart(records)
    points = base.mark_circle(size=60, opacity=0.8).encode(
        axis_x,
        axis_y,
        alt.Color("kind:N", scale=colours, legend=alt.Legend(orient="top", title=None)),
        tooltip=[
            alt.Tooltip("x:Q", title=x, format=",.4g"),
            alt.Tooltip("y:Q", title=y, format=",.4g"),
            "settings:N",
            _COMMAND,
        ],
    )
    of_two = summary.pareto(rows, [x, y])
    stairs = [record for record, own in zip(records, of_two, strict=True) if own]
    line = (
        chart(stairs)
        .mark_line(color=EDGE, strokeDash=[5, 4], interpolate="step-after")
        .encode(axis_x, axis_y, order="x:Q")
    )
    of_both = f"{metrics.label(y)} ({y}) against {metrics.label(x)} ({x})"
    return of_both, specification(alt.layer(line, points), height=380)


def _positions(values: pl.Series) -> list[float | None]:
    """Return where values are between the least and the most; texts by their order."""
    numbers = _ranked(values) if values.dtype in (pl.String, pl.Boolean) else values.to_list()
    known = [number for number in numbers if number is not None]
    low, high = (min(known), max(known)) if known else (0, 0)
    width = (high - low) or 1
    return [None if number is None else (number - low) / width for number in numbers]


def _ranked(values: pl.Series) -> list[int | None]:
    ranks = {value: rank for rank, value in enumerate(values.unique(maintain_order=True))}
    return [None if value is None else ranks[value] for value in values]


def _order(values: pl.Series, *, reverse: bool = False) -> list[Any]:
    unique = [value for value in values.unique(maintain_order=True) if value is not None]
    ordered = unique if values.dtype == pl.String else sorted(unique)
    return ordered[::-1] if reverse else ordered


def _settings(found: Summary, row: dict[str, Any]) -> str:
    return ", ".join(f"{axis}={_text(row[axis])}" for axis in found.axes)


def number(value: float | None) -> str:
    """Write a number with four digits, none as a power of ten."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= _WHOLE else f"{value:.4g}"


def _text(value: object) -> str:
    return number(value) if isinstance(value, float) else str(value)
