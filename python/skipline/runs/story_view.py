"""Stories for people: of a packet, of a line of memory, of a descriptor."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table

from skipline.runs.result import DescriptorTrace, Result, TraceEvent


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


def _phases(trace: DescriptorTrace) -> RenderableType:
    title = f"Descriptor {trace.descriptor}, phase by phase; the core began at "
    table = Table(title=f"{title}{trace.begun_ns:,.1f} ns", box=None, title_justify="left")
    for name in ("phase", "took, ns", "until, ns", "which means"):
        table.add_column(name, justify="right" if name.endswith("ns") else "left")
    for phase in trace.phases:
        took, until = f"{phase.took_ns:,.1f}", f"{phase.until_ns:,.1f}"
        table.add_row(phase.phase, took, until, _PHASES.get(phase.phase, ""))
    return table


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
    """Show the events of a line of memory."""
    if not result.line_trace:
        return (
            f"No agent touched the line at address {address:#x}. "
            "--trace-packet N shows the address of a packet."
        )
    return _story(result.line_trace, f"The line at address {address:#x}", "line address")


def _story(events: list[TraceEvent], title: str, line: str) -> RenderableType:
    table = Table(title=title, box=None, title_justify="left")
    for name in ("time, ns", "agent", "operation", line, "found", "evicted"):
        table.add_column(name, justify="right" if name in ("time, ns", line) else "left")
    for event in events:
        victim = event.evicted
        evicted = (
            f"{victim.owner}, {victim.state}, {'read' if victim.read else 'unread'}"
            if victim
            else ""
        )
        table.add_row(
            f"{event.time_ns:,.1f}",
            event.agent,
            event.operation,
            f"{event.part} {event.line}" if event.part else str(event.line),
            event.found,
            evicted,
        )
    return table
