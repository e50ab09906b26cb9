"""A run's result for people: grouped table, evictions, story of one packet, CSV."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from skipline import csv_text, metrics, quantity, terminal
from skipline.quantity import Number
from skipline.result import Entry, MissKinds, Result, TraceEvent, natural_order

# Groups that have tables of their own.
_LATENCY, _EVICTIONS = "Latency", "Evictions"
APART = {_LATENCY, _EVICTIONS}
# Least terminal width for a table of latencies with one row each.
_WIDE = 108
# Resources that the busiest are named of.
_MOST_LIMITS = 4
# Figures of a latency that fit in one row.
_MOST_ACROSS = 10


def groups(result: Result) -> Iterator[tuple[str, list[Entry]]]:
    """Yield the result's groups of numbers, all metrics of another tenant as one of them."""
    blocks: dict[str, list[Entry]] = {}
    for name in result.in_order():
        tenant, _, _ = name.rpartition(":")
        if tenant and tenant not in result.tenants():
            continue
        title = f"Tenant {tenant}" if tenant else result.description(name).group
        if title not in APART:
            blocks.setdefault(title, []).extend(result.by_component(name))
    yield from blocks.items()


def readable(component: str) -> str:
    """Write the name of a component for people."""
    return component.replace("_", " ")


def overview(result: Result) -> RenderableType:
    """Show what happened and why, the numbers that matter most, and how the run went."""
    blocks: list[tuple[str, list[Entry]]] = []
    for name in ("", *result.tenants()):
        title = f"Tenant {name}" if name else "Key numbers"
        blocks.append((title, list(result.key_numbers(name))))
    table = _metrics_table(result, blocks, labelled=terminal.width() >= _WIDE)
    more = "--all shows every number; `skipline metrics` tells what each one is."
    return Group(*_headed(result), table, "", *_busiest(result), *run_facts(result), more)


def _headed(result: Result) -> list[RenderableType]:
    title = Text(result.title, style="bold")
    return [title, result.answer] if result.answer else [title]


def _busiest(result: Result) -> list[str]:
    """Name the resources that were busiest."""
    shares = [
        f"{limit.resource} {limit.utilisation_percent:.0f} %"
        for limit in result.limits[:_MOST_LIMITS]
    ]
    return [f"Busiest: {'; '.join(shares)}."] if shares else []


def whole(result: Result) -> RenderableType:
    """Show all of the result: grouped numbers with intervals, latency, how the run went."""
    wide = terminal.width() >= _WIDE
    blocks = list(groups(result))
    across: list[RenderableType] = []
    for label, entries in latencies(result):
        if wide and len(entries) <= _MOST_ACROSS:
            across += ["", _latency_table(label, entries)]
        else:
            blocks.append((label, entries))
    table = _metrics_table(result, blocks, labelled=wide)
    return Group(*_headed(result), table, *across, "", *_busiest(result), *run_facts(result))


def _metrics_table(
    result: Result, blocks: list[tuple[str, list[Entry]]], *, labelled: bool
) -> Table:
    """Show names, which scripts use; `labelled`, what people call them, too."""
    table = Table(box=None, show_header=False, pad_edge=False)
    if labelled:
        table.add_column("label")
    table.add_column("metric", min_width=34, style="dim" if labelled else "")
    table.add_column("value", justify="right", min_width=14)
    table.add_column("ci95", style="dim")
    table.add_column("unit")
    for title, entries in blocks:
        table.add_row()
        table.add_row(Text(title, style="bold cyan"))
        last = ""
        for entry in entries:
            label = "" if entry.metric == last else result.description(entry.metric).label
            last = entry.metric
            name = entry.metric if entry.component is None else f"{entry.metric}.{entry.component}"
            numbers = quantity.text(entry.value, entry.ci95, entry.unit)
            table.add_row(*([f"  {label}", name] if labelled else [f"  {name}"]), *numbers)
    return table


def _latency_table(label: str, entries: list[Entry]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column(Text(label, style="bold cyan"), no_wrap=True)
    for entry in entries:
        table.add_column(entry.component or "", justify="right")
    texts = [quantity.text(entry.value, entry.ci95, entry.unit) for entry in entries]
    table.add_row("  value", *(f"{text.value} {text.unit}" for text in texts))
    table.add_row("  95 %", *(text.ci95 for text in texts), style="dim")
    return table


def latencies(result: Result) -> Iterator[tuple[str, list[Entry]]]:
    """Yield each latency of the main tenant: its label, its figures from shortest to longest."""
    for name in sorted(result.metrics, key=metrics.rank):
        group, label, _ = result.description(name)
        if group == _LATENCY and ":" not in name:
            yield label, sorted(result.metrics[name].entries(name), key=_rank)


def _rank(entry: Entry) -> float:
    """Put `min`, percentiles, `max` and `mean` in this order; what else there is comes last."""
    name = entry.component or ""
    ends = {"min": -1.0, "max": 101.0, "mean": 102.0}
    is_percentile = name.startswith("p")
    return float(name.removeprefix("p")) if is_percentile else ends.get(name, 103.0)


def run_facts(result: Result) -> list[str]:
    """Tell in a few lines how the run went and what was fitted."""
    stop = {
        "interval": "the intervals are tight enough",
        "cap": "the cap on the run length was reached before the intervals were tight",
        "source ended": "the traffic source ended",
        "stalled": "packets came but none left any more",
    }.get(result.stopped_by, result.stopped_by)
    measured_ms = (result.simulated_ns - result.warmup_ns) / 1e6
    part = (
        f"the last {measured_ms:,.2f} ms ({result.batches} batches), what came before is warm-up"
        if result.warmup_ns
        else "all of it"
    )
    work = "packets" if "throughput_gbps" in result.metrics else "units of work"
    unsettled = (
        "It has not settled: queues were still filling, or receive rings had not been used from "
        "end to end, so the metrics tell how it began; raise run.max_batches."
    )
    return [
        f"Simulated {result.packets:,} {work} in {result.simulated_ns / 1e6:,.2f} ms; the metrics "
        f"are of {part}. It ended because {stop}.",
        *([] if result.settled else [unsettled]),
        *(f"{note}." for note in result.notes),
        f"Took {result.wall_s:.2f} s: {result.line_ops_per_s / 1e6:,.1f} million line operations "
        f"per second, {_pace(1e9 * result.wall_s / result.simulated_ns)} than real time.",
        "The intervals (± 95 %) cover this run. Another --seed places the buffers' pages anew, "
        "which moves hit rates near the capacity of the DDIO ways by several points.",
        f"Platform {result.platform}, seed {result.seed}, version {result.version}. "
        f"Slice function: {result.slice_function}.",
        f"Parameters of the platform that were fitted: {fitted_names(result) or 'none'}.",
    ]


def _pace(slowdown: float) -> str:
    if slowdown >= 1:
        return f"{slowdown:,.1f} × slower"
    return f"{1 / slowdown:,.1f} × faster"


def fitted_names(result: Result) -> str:
    """Name the fitted parameters; `skipline platforms show` has the data they were fitted on."""
    return ", ".join(parameter.key for parameter in result.fitted_parameters)


def evictions(result: Result) -> list[tuple[str, str, Number, Number]]:
    """Return rows (evictor, owner, lines evicted after they were read, lines evicted unread).

    Those with most lines come first.
    """
    metric = result.metrics.get("evictions")
    counts: dict[tuple[str, str], dict[str, Number]] = {}
    for entry in metric.entries("evictions") if metric else ():
        pair, _, state = (entry.component or "").rpartition(":")
        evictor, _, owner = pair.partition(">")
        counts.setdefault((evictor, owner), {})[state] = entry.value
    rows = [(*pair, by.get("read") or 0, by.get("unread") or 0) for pair, by in counts.items()]
    rows.sort(key=lambda row: (natural_order(row[0]), natural_order(row[1])))
    return sorted(rows, key=lambda row: -((row[2] or 0) + (row[3] or 0)))


def evictions_table(result: Result) -> RenderableType:
    """Show whose allocation pushed out whose lines, and whether they had been read."""
    rows = evictions(result)
    if not rows:
        return "No line was evicted from the LLC."
    total = sum((read or 0) + (unread or 0) for _, _, read, unread in rows) or 1
    unit = result.metrics["evictions"].unit
    table = Table(title="Who evicted whom from the LLC", box=None, title_justify="left")
    table.add_column("evictor")
    table.add_column("owner of the line")
    for name in (f"read before, {unit}", f"unread, {unit}", "share"):
        table.add_column(name, justify="right")
    for evictor, owner, read, unread in rows:
        share = 100 * ((read or 0) + (unread or 0)) / total
        table.add_row(
            evictor, owner, quantity.count(read), quantity.count(unread), f"{share:.1f} %"
        )
    return table


def miss_kinds_table(kinds: dict[str, MissKinds], title: str, first: str) -> RenderableType:
    """Show why requests missed: compulsory, capacity, conflict; `first` names the rows."""
    table = Table(title=title, box=None, title_justify="left")
    table.add_column(first)
    names = ("requests", "misses", "compulsory", "capacity", "conflict", "invalidated")
    for name in names:
        table.add_column(name, justify="right")
    for name, counts in kinds.items():
        numbers = (
            counts.hits + counts.misses,
            counts.misses,
            counts.compulsory,
            counts.capacity,
            counts.conflict,
            counts.invalidated,
        )
        table.add_row(name, *(quantity.count(number) for number in numbers))
    return Group(
        table,
        "Capacity: a fully associative LRU cache of the same size misses too; conflict: it would "
        "hit (sets, way masks,",
        "replacement); compulsory: never asked for before; invalidated: a device wrote the line "
        "to memory.",
    )


def trace_table(result: Result, packet: int) -> RenderableType:
    """Tell a packet's story, one line operation per row."""
    if not result.trace:
        return f"Packet {packet} was not among those simulated; nothing to trace."
    where = f"; line 0 is at address {result.trace_address:#x}" if result.trace_address else ""
    story = _story(result.trace, f"Packet {packet}, line by line{where}", "line")
    return Group(story, *_stages(result.trace), _totals(result.trace))


# What begins a stage of a packet's life, and the agents and operations that tell it.
_STAGES = (
    ("arrived", "nic", "DMA write"),
    ("was polled by a core", "core", "load"),
    ("was read to be sent", "nic", "DMA read"),
)


def _stages(events: list[TraceEvent]) -> Iterator[str]:
    """Tell when the packet arrived, was polled and was sent, as far as it came."""
    first = events[0].time_ns
    told: list[str] = []
    for stage, agent, operation in _STAGES:
        for event in events:
            if event.agent.startswith(agent) and event.operation.startswith(operation):
                after = f" {event.time_ns - first:,.1f} ns later" if told else ""
                told.append(f"{stage}{after or f' at {first:,.1f} ns'}")
                break
    if told:
        yield f"The packet {', '.join(told)}."


def _totals(events: list[TraceEvent]) -> RenderableType:
    """Count the line operations of each kind by where they found the line."""
    found: dict[tuple[str, str, str], int] = {}
    for event in events:
        agent = event.agent.rstrip("0123456789")
        key = (agent, event.operation, event.found.partition(", way")[0])
        found[key] = found.get(key, 0) + 1
    table = Table(title="In all", box=None, title_justify="left")
    for name in ("agents", "operation", "found"):
        table.add_column(name)
    table.add_column("lines", justify="right")
    for (agent, operation, where), lines in found.items():
        table.add_row(agent, operation, where, str(lines))
    return table


def line_table(result: Result, address: int) -> RenderableType:
    """Tell the story of a line of memory."""
    if not result.line_trace:
        return (
            f"Nobody touched the line at address {address:#x}. "
            "--trace-packet N tells where a packet lies."
        )
    return _story(result.line_trace, f"The line at address {address:#x}", "line address")


def _story(events: list[TraceEvent], title: str, line: str) -> RenderableType:
    table = Table(title=title, box=None, title_justify="left")
    for name in ("time, ns", "agent", "operation", line, "found", "evicted"):
        table.add_column(name, justify="right" if name in ("time, ns", line) else "left")
    for event in events:
        gone = event.evicted
        evicted = f"{gone.owner}, {gone.state}, {'read' if gone.read else 'unread'}" if gone else ""
        table.add_row(
            f"{event.time_ns:,.1f}",
            event.agent,
            event.operation,
            str(event.line),
            event.found,
            evicted,
        )
    return table


def as_csv(result: Result) -> str:
    """Write one row per number: metric, component, value, ci95, unit."""
    return csv_text.of(Entry._fields, result.entries())
