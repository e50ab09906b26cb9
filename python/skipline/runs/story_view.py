"""Stories for people: of a packet, of a line of memory, of a descriptor."""

from collections.abc import Iterator

from rich.console import Group, RenderableType

from skipline.runs.result import DescriptorTrace, Result, TraceEvent
from skipline.text.table import Column, TextTable, numbers, texts


def trace_table(result: Result, packet: int) -> RenderableType:
    """Show the events of a packet, one line operation per row."""
    if not result.trace:
        return f"Packet {packet} was not among those simulated; nothing to trace."
    where = f"; line 0 is at address {result.trace_address:#x}" if result.trace_address else ""
    story = _story(result.trace, f"Packet {packet}, line by line{where}", "line")
    return Group(story, *_stages(result.trace), _totals(result.trace))


# The stages of a packet, with the agent and the operation that begin each.
_STAGES = (
    ("arrived", "nic", "DMA write"),
    ("was polled by a core", "core", "load"),
    ("was read to be sent", "nic", "DMA read"),
)


def _stages(events: list[TraceEvent]) -> Iterator[str]:
    """Return when the packet arrived, was polled and was sent, as far as it came."""
    first = events[0].time_ns
    stages: list[str] = []
    for stage, agent, operation in _STAGES:
        for event in events:
            if event.agent.startswith(agent) and event.operation.startswith(operation):
                after = f" {event.time_ns - first:,.1f} ns later" if stages else ""
                stages.append(f"{stage}{after or f' at {first:,.1f} ns'}")
                break
    if stages:
        yield f"The packet {', '.join(stages)}."


# Meaning of the phases of a descriptor, for people who do not know the device.
_PHASES = {
    "prepared": "the core has filled it in",
    "submitted": "the core has written it, or its doorbell, to the device",
    "seen": "the device has seen that",
    "dispatched": "an engine or channel has taken it from the queue",
    "translated": "its addresses are translated",
    "started": "its first lines are asked for",
    "read": "its last source data has arrived",
    "written": "its last data is visible",
    "recorded": "its completion is visible",
    "reaped": "the core has read its completion",
}


def descriptor_table(result: Result) -> RenderableType:
    """Show the phases of a descriptor, then its line operations."""
    trace = result.descriptor_trace
    if trace is None:
        return "The descriptor was not among those simulated; nothing to trace."
    story = _story(trace.events, f"Descriptor {trace.descriptor}, line by line", "line")
    parts = [_phases(trace), "", story, _totals(trace.events)]
    if trace.left_out:
        parts.append(f"{trace.left_out:,} further operations are left out.")
    return Group(*parts)


_PHASE_COLUMNS = (
    Column("phase"),
    Column("took", unit="ns", form=",.1f", right=True),
    Column("until", unit="ns", form=",.1f", right=True),
    Column("which means"),
)


def _phases(trace: DescriptorTrace) -> RenderableType:
    title = f"Descriptor {trace.descriptor}, phase by phase; the core began at "
    table = TextTable(_PHASE_COLUMNS, title=f"{title}{trace.begun_ns:,.1f} ns", has_edges=True)
    for phase in trace.phases:
        table.add(phase.phase, phase.took_ns, phase.until_ns, _PHASES.get(phase.phase, ""))
    return table


def _totals(events: list[TraceEvent]) -> RenderableType:
    """Count the line operations of each kind by where they found the line."""
    found: dict[tuple[str, str, str], int] = {}
    for event in events:
        agent = event.agent.rstrip("0123456789")
        key = (agent, event.operation, event.found.partition(", way")[0])
        found[key] = found.get(key, 0) + 1
    columns = (*texts("agents", "operation", "found"), *numbers("lines"))
    rows = ((*kind, lines) for kind, lines in found.items())
    return TextTable(columns, rows, title="In all", has_edges=True)


def line_table(result: Result, address: int) -> RenderableType:
    """Show the events of a line of memory."""
    if not result.line_trace:
        return (
            f"No agent touched the line at address {address:#x}. "
            "--trace-packet N shows the address of a packet."
        )
    return _story(result.line_trace, f"The line at address {address:#x}", "line address")


def _story(events: list[TraceEvent], title: str, line: str) -> RenderableType:
    columns = (
        Column("time", unit="ns", form=",.1f", right=True),
        *texts("agent", "operation"),
        Column(line, right=True),
        *texts("found", "evicted"),
    )
    table = TextTable(columns, title=title, has_edges=True)
    for event in events:
        victim = event.evicted
        evicted = (
            f"{victim.owner}, {victim.state}, {'read' if victim.read else 'unread'}"
            if victim
            else ""
        )
        table.add(
            event.time_ns,
            event.agent,
            event.operation,
            f"{event.part} {event.line}" if event.part else str(event.line),
            event.found,
            evicted,
        )
    return table
