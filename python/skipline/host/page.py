"""A host beside its model, as an HTML page with figures."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from skipline.host.comparison import EDGE_OCTAVES, TOLERANCE, Comparison, Size
from skipline.host.view import notes, size_text, use_text, verdict
from skipline.report.chart_style import EDGE, FAILS, MEASURED, PAPER, PREDICTED
from skipline.report.charts import chart, specification
from skipline.report.document import Document, Panel, card, cards, escape
from skipline.report.legends import key

_SIZE_LABEL = (
    "datum.value >= 1048576 ? format(datum.value / 1048576, '~r') + ' MiB' : "
    "format(datum.value / 1024, '~r') + ' KiB'"
)
_HEIGHT_PX = 380
_ERROR_HEIGHT_PX = 230
_QUESTION = "How close is the model to this machine?"
_LATENCY_CAPTION = (
    "Load-to-use latency of a pointer chase in ns (vertical, log scale) against its working set "
    "(horizontal, log scale). Dots: measured on this host, hollow where they were fitted; bars: "
    "lowest pass to median. Line: simulated. Shaded: within half an octave of a cache's edge."
)
_ERROR_CAPTION = (
    "Simulated less measured latency in % (vertical) at the working sets that judge the model "
    "(horizontal, log scale), all predicted; diamonds are beyond the tolerance, which the dashed "
    "lines show."
)
_SIZES_CAPTION = "Latency by working set, measured on this host and simulated."
_STREAMS_CAPTION = "GB/s, measured on this host / simulated; not judged."


def page(comparison: Comparison) -> str:
    """Return the HTML page."""
    title = f"{comparison.measurement.processor.name}: measured and simulated"
    document = Document(title, "host")
    document.head(_QUESTION, verdict(comparison))
    document.figure([latency_figure(comparison)], _LATENCY_CAPTION, _legend())
    document.add(cards(_headlines(comparison)))
    document.figure([error_figure(comparison)], _ERROR_CAPTION)
    for line in notes(comparison):
        document.add(f"<p>{escape(line)}</p>")
    document.heading("Working sets")
    header = ["working set", "measured, ns", "min", "median", "simulated, ns", "error", "use"]
    rows = [_row(size) for size in comparison.sizes]
    document.add(document.table(header, rows, _SIZES_CAPTION, range(6)))
    document.heading("Bandwidth")
    streams = _streams(comparison)
    names = ["array", "read", "write", "copy"]
    document.add(document.table(names, streams, _STREAMS_CAPTION, range(4)))
    return document.render()


def _headlines(comparison: Comparison) -> list[str]:
    judged, within, worst = len(comparison.judged), comparison.within, comparison.worst
    good = "good" if judged and within == judged else "bad"
    entries = [
        card("Sizes within 15 %", f"{within} of {judged}", "kept aside, off the edges", good)
    ]
    if worst is not None:
        at = f"at {size_text(worst.working_set_bytes)}"
        entries.append(card("Largest difference", f"{100 * worst.error:+.1f} %", at))
    for edge in comparison.edges:
        held = "with L2" if edge.cache == "LLC" else ""
        entries.append(card(f"{edge.cache} holds", size_text(edge.capacity_bytes), held))
    return entries


def _row(size: Size) -> list[object]:
    measured = (size.measured_ns, size.measured_min_ns, size.measured_median_ns)
    values = [f"{value:.2f}" for value in (*measured, size.simulated_ns)]
    error = f"{100 * size.error:+.1f} %"
    return [size_text(size.working_set_bytes), *values, error, use_text(size)]


def _streams(comparison: Comparison) -> list[list[object]]:
    rows: list[list[object]] = []
    for stream in comparison.streams:
        pairs = (stream.read, stream.write, stream.copy)
        rows.append([size_text(stream.array_bytes), *(f"{m:.1f} / {s:.1f}" for m, s in pairs)])
    return rows


def _legend() -> str:
    def mark(shape: str) -> str:
        return f'<svg width="30" height="22" aria-hidden="true">{shape}</svg>'

    dot = f'<circle cx="15" cy="11" r="4" fill="{MEASURED}"/>'
    ring = f'<circle cx="15" cy="11" r="4" fill="{PAPER}" stroke="{MEASURED}" stroke-width="1.5"/>'
    bar = f'<path d="M15 1V21" stroke="{MEASURED}" stroke-width="1.5" opacity=".6"/>'
    line = f'<path d="M0 11H30" stroke="{PREDICTED}" stroke-width="2"/>'
    return key(
        [
            (mark(bar + dot), "measured, kept aside (bar: lowest pass to median)"),
            (mark(ring), "measured, fitted"),
            (mark(line), "simulated"),
        ]
    )


def latency_figure(comparison: Comparison) -> Panel:
    """Draw latencies over working sets, both on log scales."""
    base = chart([_record(size) for size in comparison.sizes])
    y = _y(comparison.sizes)
    line = base.mark_line(color=PREDICTED, strokeWidth=2).encode(_x(comparison), y("simulated"))
    spread = base.mark_rule(color=MEASURED, opacity=0.6, strokeWidth=1.5).encode(
        _x(comparison), y("low"), alt.Y2("high:Q")
    )
    fill = alt.condition("datum.role == 'fit'", alt.value(PAPER), alt.value(MEASURED))
    points = base.mark_point(stroke=MEASURED, size=38, opacity=1, strokeWidth=1.3).encode(
        _x(comparison), y("measured"), fill=fill, tooltip=_tooltip()
    )
    layers = alt.layer(_bands(comparison), line, spread, points)
    return "Load-to-use latency, ns", specification(layers, height=_HEIGHT_PX)


def error_figure(comparison: Comparison) -> Panel:
    """Draw the difference of each size that judges, with the tolerance."""
    base = chart([_record(size) for size in comparison.sizes])
    scale = alt.Scale(domain=_error_domain(comparison), nice=False, clamp=True)
    y = alt.Y(
        "error:Q", title="simulated less measured, %", scale=scale, axis=alt.Axis(tickCount=6)
    )
    limits = [{"limit": sign * 100 * TOLERANCE} for sign in (-1, 1)]
    rules = chart(limits).mark_rule(color=EDGE, strokeDash=[5, 4]).encode(alt.Y("limit:Q"))
    beyond = f"abs(datum.error) > {100 * TOLERANCE}"
    colour = alt.condition(beyond, alt.value(FAILS), alt.value(PREDICTED))
    shape = alt.condition(beyond, alt.value("diamond"), alt.value("circle"))
    judged = (
        base.transform_filter("datum.use == 'judged'")
        .mark_point(filled=True, size=60, opacity=1)
        .encode(_x(comparison), y, color=colour, shape=shape, tooltip=_tooltip())
    )
    return (
        "Difference at the sizes kept aside, off the edges",
        specification(alt.layer(_bands(comparison), rules, judged), height=_ERROR_HEIGHT_PX),
    )


def _error_domain(comparison: Comparison) -> list[float]:
    largest = max((100 * abs(size.error) for size in comparison.judged), default=0.0)
    end = max(largest * 1.1, 130 * TOLERANCE)
    return [-end, end]


def _bands(comparison: Comparison) -> alt.Chart:
    factor = 2**EDGE_OCTAVES
    bands = [
        {
            "cache": edge.cache,
            "begin": edge.capacity_bytes / factor,
            "end": edge.capacity_bytes * factor,
        }
        for edge in comparison.edges
    ]
    drawn: alt.Chart = (
        chart(bands)
        .mark_rect(color=MEASURED, opacity=0.08)
        .encode(_x(comparison, "begin"), alt.X2("end:Q"), tooltip=["cache:N"])
    )
    return drawn


def _x(comparison: Comparison, field: str = "bytes") -> alt.X:
    sizes = [size.working_set_bytes for size in comparison.sizes]
    scale = alt.Scale(type="log", base=2, domain=[min(sizes) / 1.2, max(sizes) * 1.2], nice=False)
    axis = alt.Axis(labelExpr=_SIZE_LABEL, tickCount=10, grid=False)
    return alt.X(f"{field}:Q", title="working set", scale=scale, axis=axis)


def _y(sizes: Sequence[Size]) -> Any:
    ends = [end for s in sizes for end in (s.measured_min_ns, s.measured_median_ns, s.simulated_ns)]
    scale = alt.Scale(type="log", domain=[min(ends) / 1.2, max(ends) * 1.2], nice=False)
    axis = alt.Axis(tickCount=6, format="~g")
    return lambda field: alt.Y(f"{field}:Q", title="ns", scale=scale, axis=axis)


def _record(size: Size) -> dict[str, Any]:
    return {
        "bytes": size.working_set_bytes,
        "size": size_text(size.working_set_bytes),
        "role": size.role,
        "use": use_text(size),
        "measured": size.measured_ns,
        "low": size.measured_min_ns,
        "high": size.measured_median_ns,
        "simulated": size.simulated_ns,
        "error": 100 * size.error,
    }


def _tooltip() -> list[alt.Tooltip]:
    numbers = [
        alt.Tooltip(f"{name}:Q", title=f"{name}, ns", format=".2f")
        for name in ("measured", "simulated")
    ]
    error = alt.Tooltip("error:Q", title="error, %", format="+.1f")
    return [alt.Tooltip("size:N", title="working set"), *numbers, error, alt.Tooltip("use:N")]
