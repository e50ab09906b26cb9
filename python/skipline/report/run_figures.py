"""Figures of a single run."""

from typing import Any

import altair as alt

from skipline import quantity
from skipline.quantity import Number
from skipline.report.chart_style import CATEGORIES, PREDICTED, chart, specification
from skipline.result import Entry, Result
from skipline.result_view import evictions, latencies, readable

Panel = tuple[str, dict[str, Any]]
# Evictor and owner, lines that were read before, lines that were not.
Pair = tuple[str, Number, Number]
_ROW_PX = 34
# With many agents most pairs have few evictions, and a row for each would fill many screens.
_MOST_PAIRS = 10
# With more, numbers touch where a panel is narrow.
_TICKS = 4


def panels(result: Result) -> list[Panel]:
    """Draw what the result has: latencies, evictions, headline breakdowns."""
    drawn = [_latency(label, entries) for label, entries in latencies(result)]
    drawn.append(_evictions(result))
    drawn += [_bars(result, name) for name in result.headlines()]
    return [panel for panel in drawn if panel is not None]


def _latency(label: str, entries: list[Entry]) -> Panel | None:
    """Latency against the share of packets that take longer, both on log scales."""
    points = []
    for entry in entries:
        if entry.component and entry.component.startswith("p") and entry.value is not None:
            slower = 100 - float(entry.component[1:])
            points.append(
                {
                    "percentile": entry.component,
                    "slower": slower,
                    "latency": entry.value / 1e3,
                    "low": (entry.value - (entry.ci95 or 0)) / 1e3,
                    "high": (entry.value + (entry.ci95 or 0)) / 1e3,
                }
            )
    if not points:
        return None
    base = chart(points)
    x = alt.X(
        "slower:Q",
        title="packets slower than this, %",
        scale=alt.Scale(type="log", reverse=True),
        axis=alt.Axis(values=[50, 10, 1, 0.1, 0.01], grid=False, format="~g"),
    )
    y = alt.Y("latency:Q", title="µs", scale=alt.Scale(zero=True))
    band = base.mark_area(color=PREDICTED, opacity=0.2).encode(x, alt.Y("low:Q"), alt.Y2("high:Q"))
    line = base.mark_line(color=PREDICTED, point=True).encode(
        x,
        y,
        tooltip=["percentile:N", alt.Tooltip("latency:Q", title="latency, µs", format=",.2f")],
    )
    return label, specification(alt.layer(band, line))


def _evictions(result: Result) -> Panel | None:
    """Lines evicted from the LLC by evictor and owner, read or unread before."""
    pairs = [(f"{row[0]} → {row[1]}", row[2], row[3]) for row in evictions(result)]
    if not pairs:
        return None
    title = "LLC evictions: evictor → owner"
    # A row for others is as high as the only one left.
    if len(pairs) > _MOST_PAIRS + 1:
        title += f", the {_MOST_PAIRS} largest of {len(pairs)} pairs and all others together"
        pairs = [*pairs[:_MOST_PAIRS], _others(pairs[_MOST_PAIRS:])]
    rows = [
        {"pair": pair, "state": state, "lines": lines or 0}
        for pair, read, unread in pairs
        for state, lines in (("read before", read), ("unread", unread))
    ]
    axis = alt.Axis(format="~s", tickCount=_TICKS)
    bars = (
        chart(rows)
        .mark_bar()
        .encode(
            alt.X("lines:Q", title=result.metrics["evictions"].unit, axis=axis),
            alt.Y("pair:N", title=None, sort=None),
            color=alt.Color(
                "state:N",
                scale=alt.Scale(domain=["read before", "unread"], range=CATEGORIES[:2]),
                legend=alt.Legend(orient="top", title=None),
            ),
            tooltip=["pair:N", "state:N", alt.Tooltip("lines:Q", format=",")],
        )
    )
    return title, specification(bars, height=80 + _ROW_PX * len(pairs))


def _others(pairs: list[Pair]) -> Pair:
    """Put pairs together."""
    return "others", sum(pair[1] or 0 for pair in pairs), sum(pair[2] or 0 for pair in pairs)


def _bars(result: Result, name: str) -> Panel | None:
    """Draw a breakdown as horizontal bars, in the unit that suits its largest number."""
    if not isinstance(result.metrics[name].value, dict):
        return None
    numbers = [entry for entry in result.by_component(name) if entry.value is not None]
    largest = max((abs(entry.value or 0) for entry in numbers), default=0)
    factor, unit = quantity.scale(largest, result.metrics[name].unit)
    rows = [
        {"component": readable(entry.component or ""), "value": (entry.value or 0) / factor}
        for entry in numbers
    ]
    bars = (
        chart(rows)
        .mark_bar(color=PREDICTED)
        .encode(
            alt.X("value:Q", title=unit, axis=alt.Axis(tickCount=_TICKS)),
            alt.Y("component:N", title=None, sort=None),
            tooltip=["component:N", alt.Tooltip("value:Q", title=unit, format=",.2f")],
        )
    )
    label = result.description(name).label
    return label, specification(bars, height=50 + _ROW_PX * len(rows))
