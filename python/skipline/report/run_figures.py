"""Figures of a single run."""

from skipline.report.chart_style import CATEGORIES, MEASURED, PAPER, PREDICTED
from skipline.report.document import Figure
from skipline.report.vega_lite import Mark, layer, nominal, quantitative, specification
from skipline.runs import agents as agent_names
from skipline.runs.result import Entry, Result
from skipline.runs.result_view import evictions, latencies_of_all, readable
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
_OCCUPANCY = "llc_occupancy_bytes"
_SIMULATED = "Simulated, by this run."
_BAND = "shaded: 95 % interval"
# Offered, received and sent rate, from top to bottom.
_LOADS = {"offered_gbps": "offered", "received_gbps": "received", "throughput_gbps": "sent"}


def first_figures(result: Result) -> list[Figure]:
    """Draw what answers the question of most runs: what came and left, and how long it took."""
    latencies = (_latency(label, entries) for label, entries in latencies_of_all(result))
    drawn = [_load(result), *latencies]
    return [figure for figure in drawn if figure is not None]


def more_figures(result: Result) -> list[Figure]:
    """Draw what explains it: evictions, headline breakdowns."""
    drawn = [_evictions(result), *(_bars(result, name) for name in result.all_headlines())]
    return [figure for figure in drawn if figure is not None]


def _load(result: Result) -> Figure | None:
    """Draw loads on the wire of each tenant as bars, with their intervals."""
    rows = []
    names = [name for name in result.in_order() if name.rpartition(":")[2] in _LOADS]
    tenants = ["", "main", *result.tenants()]
    names.sort(key=lambda name: tenants.index(result.tenant_of(name)))
    # A sink sends nothing, and none of its loads is a headline but what it receives.
    names = [name for name in names if not result.is_idle_sender(name)]
    for name in names:
        label = _LOADS[name.rpartition(":")[2]]
        tenant = result.tenant_of(name)
        for entry in result.metrics[name].entries(name):
            if entry.value is not None:
                half = entry.ci95 or 0
                ends = {"low": entry.value - half, "high": entry.value + half}
                load = f"{tenant}: {label}" if tenant else label
                rows.append({"load": load, "value": entry.value, **ends})
    if not rows:
        return None
    unit = result.metrics[names[0]].unit
    y = nominal("load", title=None, sort=None)
    tooltip = [nominal("load"), quantitative("value", title=unit, format=",.2f")]
    x = quantitative("value", title=unit, axis={"tickCount": _TICKS})
    bars = layer({"type": "bar", "color": PREDICTED}, x=x, y=y, tooltip=tooltip)
    mark: Mark = {"type": "rule", "color": MEASURED, "strokeWidth": 2}
    interval = layer(mark, x=quantitative("low"), y=y, x2={"field": "high"})
    mark = {"type": "text", "align": "left", "dx": 6, "color": PAPER, "fontWeight": "bold"}
    numbers = layer(mark, x={"datum": 0}, y=y, text=quantitative("value", format=",.1f"))
    caption = (
        f"Load on the wire in {unit} (horizontal), with FCS, preamble and gap; line at the end of "
        f"a bar: 95 % interval. {_SIMULATED}"
    )
    height = 50 + _ROW_PX * len(rows)
    drawn = specification(rows, bars, numbers, interval, height=height)
    return Figure(("Load on the wire", drawn), caption)


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
    x = quantitative(
        "slower",
        title="packets slower than this, %",
        scale={"type": "log", "reverse": True},
        axis={"values": [50, 10, 1, 0.1, 0.01], "grid": False, "format": "~g"},
    )
    y = quantitative("latency", title="µs", scale={"zero": True})
    mark: Mark = {"type": "area", "color": PREDICTED, "opacity": 0.2}
    band = layer(mark, x=x, y=quantitative("low"), y2={"field": "high"})
    mark = {"type": "line", "color": PREDICTED, "point": {"color": PREDICTED}}
    tooltip = [nominal("percentile"), quantitative("latency", title="latency, µs", format=",.2f")]
    line = layer(mark, x=x, y=y, tooltip=tooltip)
    caption = (
        f"{label} in µs (vertical) that a share of packets or requests exceeds (horizontal, log "
        f"scale): the median is left, the slowest are right; {_BAND}. {_SIMULATED}"
    )
    return Figure((label, specification(points, band, line)), caption)


def _evictions(result: Result) -> Figure | None:
    """Lines evicted from the LLC by evictor and owner, read or unread before."""
    names = agent_names.labels(result, with_built=False)
    pairs = [
        (f"{names.get(row[0], row[0])} → {names.get(row[1], row[1])}", row[2], row[3])
        for row in evictions(result)
    ]
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
    unit, axis = result.metrics["evictions"].unit, {"format": "~s", "tickCount": _TICKS}
    states = {"domain": ["read before", "unread"], "range": CATEGORIES[:2]}
    bars = layer(
        {"type": "bar"},
        x=quantitative("lines", title=unit, axis=axis),
        y=nominal("pair", title=None, sort=None),
        color=nominal("state", scale=states, legend={"orient": "top", "title": None}),
        tooltip=[nominal("pair"), nominal("state"), quantitative("lines", format=",")],
    )
    caption = (
        "Lines evicted from the LLC over the measured time (horizontal), by who allocated and "
        f"whose line it was; colour: whether it had been read before. {_SIMULATED}"
    )
    return Figure((title, specification(rows, bars, height=80 + _ROW_PX * len(pairs))), caption)


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
    agents = agent_names.labels(result) if name == _OCCUPANCY else {}
    rows = [
        {
            "component": readable(agents.get(entry.component or "", entry.component or "")),
            "value": (entry.value or 0) / factor,
        }
        for entry in numbers
    ]
    bars = layer(
        {"type": "bar", "color": PREDICTED},
        x=quantitative("value", title=unit, axis={"tickCount": _TICKS}),
        y=nominal("component", title=None, sort=None),
        tooltip=[nominal("component"), quantitative("value", title=unit, format=",.2f")],
    )
    label, tenant = result.description(name).label, result.tenant_of(name)
    label = f"{label} of {tenant}" if tenant else label
    known = f" {agent_names.ABOUT}" if agents else ""
    caption = f"{_meaning(name) or label}{known} In {unit} (horizontal). {_SIMULATED}"
    return Figure((label, specification(rows, bars, height=50 + _ROW_PX * len(rows))), caption)


def _meaning(name: str) -> str:
    """Return what a metric is, in a sentence, if this version declares it."""
    known = metrics.declared().get(name.rpartition(":")[2])
    return known.about if known else ""
