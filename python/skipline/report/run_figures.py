"""Figures of a single run."""

import altair as alt

from skipline.report.chart_style import CATEGORIES, MEASURED, PAPER, PREDICTED, chart, specification
from skipline.report.document import Figure
from skipline.runs.result import Entry, Result
from skipline.runs.result_view import evictions, latencies, readable
from skipline.scenarios import metrics
from skipline.text import quantity
from skipline.text.quantity import Number

# Evictor and owner, lines that were read before, lines that were not.
Pair = tuple[str, Number, Number]
_ROW_PX = 34
# With many agents most pairs have few evictions, and a row for each would fill many screens.
_MOST_PAIRS = 10
# With more, numbers touch where a panel is narrow.
_TICKS = 4
_SIMULATED = "Simulated, by this run."
_BAND = "shaded: 95 % interval"
# Offered, received and sent rate, from top to bottom.
_LOADS = {"offered_gbps": "offered", "received_gbps": "received", "throughput_gbps": "sent"}


def first_figures(result: Result) -> list[Figure]:
    """Draw what answers the question of most runs: what came and left, and how long it took."""
    drawn = [_load(result), *(_latency(label, entries) for label, entries in latencies(result))]
    return [figure for figure in drawn if figure is not None]


def more_figures(result: Result) -> list[Figure]:
    """Draw what explains it: evictions, headline breakdowns."""
    drawn = [_evictions(result), *(_bars(result, name) for name in result.headlines())]
    return [figure for figure in drawn if figure is not None]


def _load(result: Result) -> Figure | None:
    """Draw loads on the wire as bars, with their intervals."""
    rows = []
    for name, label in _LOADS.items():
        for entry in result.metrics[name].entries(name) if name in result.metrics else ():
            if entry.value is not None:
                half = entry.ci95 or 0
                ends = {"low": entry.value - half, "high": entry.value + half}
                rows.append({"load": label, "value": entry.value, **ends})
    if not rows:
        return None
    unit = next(result.metrics[name].unit for name in _LOADS if name in result.metrics)
    base = chart(rows)
    y = alt.Y("load:N", title=None, sort=None)
    tooltip = ["load:N", alt.Tooltip("value:Q", title=unit, format=",.2f")]
    axis = alt.Axis(tickCount=_TICKS)
    bars = base.mark_bar(color=PREDICTED).encode(
        alt.X("value:Q", title=unit, axis=axis), y, tooltip=tooltip
    )
    interval = base.mark_rule(color=MEASURED, strokeWidth=2).encode(
        alt.X("low:Q"), y, alt.X2("high:Q")
    )
    numbers = base.mark_text(align="left", dx=6, color=PAPER, fontWeight="bold").encode(
        alt.X(datum=0), y, text=alt.Text("value:Q", format=",.1f")
    )
    caption = (
        f"Load on the wire in {unit} (horizontal), with FCS, preamble and gap; line at the end of "
        f"a bar: 95 % interval. {_SIMULATED}"
    )
    height = 50 + _ROW_PX * len(rows)
    return Figure(
        ("Load on the wire", specification(alt.layer(bars, numbers, interval), height)), caption
    )


def _latency(label: str, entries: list[Entry]) -> Figure | None:
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
    line = base.mark_line(color=PREDICTED, point=alt.OverlayMarkDef(color=PREDICTED)).encode(
        x,
        y,
        tooltip=["percentile:N", alt.Tooltip("latency:Q", title="latency, µs", format=",.2f")],
    )
    caption = (
        f"{label} in µs (vertical) that a share of packets or requests exceeds (horizontal, log "
        f"scale): the median is left, the slowest are right; {_BAND}. {_SIMULATED}"
    )
    return Figure((label, specification(alt.layer(band, line))), caption)


def _evictions(result: Result) -> Figure | None:
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
    caption = (
        "Lines evicted from the LLC over the measured time (horizontal), by who allocated and "
        f"whose line it was; colour: whether it had been read before. {_SIMULATED}"
    )
    return Figure((title, specification(bars, height=80 + _ROW_PX * len(pairs))), caption)


def _others(pairs: list[Pair]) -> Pair:
    """Put pairs together."""
    return "others", sum(pair[1] or 0 for pair in pairs), sum(pair[2] or 0 for pair in pairs)


def _bars(result: Result, name: str) -> Figure | None:
    """Draw a breakdown as horizontal bars, in the unit that suits its largest number."""
    if not isinstance(result.metrics[name].value, dict):
        return None
    numbers = [entry for entry in result.by_component(name) if entry.value is not None]
    largest = max((abs(entry.value or 0) for entry in numbers), default=0)
    if largest == 0:
        return None
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
    caption = f"{_meaning(name) or label} In {unit} (horizontal). {_SIMULATED}"
    return Figure((label, specification(bars, height=50 + _ROW_PX * len(rows))), caption)


def _meaning(name: str) -> str:
    """Return what a metric is, in a sentence, if this version declares it."""
    known = metrics.declared().get(name)
    return known.about if known else ""
