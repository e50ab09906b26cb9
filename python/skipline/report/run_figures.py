"""Figures of a single run."""

from typing import Any

import altair as alt

from skipline.report.chart_style import CATEGORIES, PREDICTED, chart, specification
from skipline.result import Result
from skipline.result_view import evictions

Panel = tuple[str, dict[str, Any]]
_ROW_PX = 34


def panels(result: Result) -> list[Panel]:
    """Draw what the result has: latency, evictions, occupancy, regimes."""
    drawn = [
        _latency(result),
        _evictions(result),
        _bars(result, "llc_occupancy_bytes", "LLC occupancy by owner", "MiB", 2**20),
        _bars(result, "time_in_regime", "Time in regime", "%", 1),
    ]
    return [panel for panel in drawn if panel is not None]


def _latency(result: Result) -> Panel | None:
    """Latency against the share of packets that take longer, both on log scales."""
    if "latency_ns" not in result.metrics:
        return None
    points = []
    for entry in result.metrics["latency_ns"].entries("latency_ns"):
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
    return "Latency", specification(alt.layer(band, line))


def _evictions(result: Result) -> Panel | None:
    """Lines evicted from the LLC by evictor and owner, read or unread before."""
    rows = [
        {"pair": f"{evictor} → {owner}", "state": state, "lines": lines or 0}
        for evictor, owner, read, unread in evictions(result)
        for state, lines in (("read before", read), ("unread", unread))
    ]
    if not rows:
        return None
    pairs = len(rows) // 2
    bars = (
        chart(rows)
        .mark_bar()
        .encode(
            alt.X("lines:Q", title=result.metrics["evictions"].unit, axis=alt.Axis(format="~s")),
            alt.Y("pair:N", title=None, sort=None),
            color=alt.Color(
                "state:N",
                scale=alt.Scale(domain=["read before", "unread"], range=CATEGORIES[:2]),
                legend=alt.Legend(orient="top", title=None),
            ),
            tooltip=["pair:N", "state:N", alt.Tooltip("lines:Q", format=",")],
        )
    )
    title = "LLC evictions: evictor → owner"
    return title, specification(bars, height=80 + _ROW_PX * pairs)


def _bars(result: Result, name: str, title: str, unit: str, factor: float) -> Panel | None:
    """Draw a breakdown metric as horizontal bars."""
    if name not in result.metrics:
        return None
    rows = [
        {"component": (entry.component or "").replace("_", " "), "value": entry.value / factor}
        for entry in result.metrics[name].entries(name)
        if entry.value is not None
    ]
    bars = (
        chart(rows)
        .mark_bar(color=PREDICTED)
        .encode(
            alt.X("value:Q", title=unit),
            alt.Y("component:N", title=None, sort=None),
            tooltip=["component:N", alt.Tooltip("value:Q", title=unit, format=",.2f")],
        )
    )
    return title, specification(bars, height=50 + _ROW_PX * len(rows))
