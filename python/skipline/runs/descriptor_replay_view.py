"""A replayed log of descriptors for people: engines beside cores, phase by phase."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from skipline.runs.result import Replay, ReplayedPhase, Result
from skipline.text import quantity

# Operations of a phase that its row names.
_MOST_NAMED = 2
_ABSENT = "-"

HEADER = (
    "phase",
    "begins, ms",
    "descriptors",
    "MB",
    "engines, us",
    "core, us",
    "core / engines",
    "freed, kcycles",
)
ABOUT = (
    "Engines: time in which they have offloads of the log under way, until a core has read the "
    "last record. Core: time of cores that do the same operations themselves, without the "
    "program's own work. Freed: cycles of those, less those of preparing descriptors, submitting "
    "them and reading records; a program that only waits for its offloads gains the difference of "
    "the two times instead."
)


def rows(replay: Replay) -> Iterator[tuple[str, ...]]:
    """Yield the texts of each phase, and of all of them where there are several."""
    for number, phase in enumerate(replay.phases, start=1):
        yield (f"{number}: {_what(phase)}", f"{phase.from_ns / 1e6:,.3f}", *_numbers(phase))
    if len(replay.phases) > 1:
        yield ("all", "", *_numbers(replay.total))


def title(result: Result, replay: Replay) -> str:
    """Name the log, and its tenant where there are several."""
    tenant = f" of tenant {replay.tenant}" if result.tenants() else ""
    return f"The log{tenant}, phase by phase"


def tables(result: Result) -> list[RenderableType]:
    """Show the phases of each log that the run replayed."""
    return [part for replay in result.replays for part in ("", _table(result, replay))]


def _table(result: Result, replay: Replay) -> RenderableType:
    table = Table(box=None, pad_edge=False)
    for name in HEADER:
        table.add_column(name, justify="left" if name == HEADER[0] else "right")
    for row in rows(replay):
        table.add_row(*row)
    notes = (f"{note}." for note in replay.notes)
    heading = Text(title(result, replay), style="bold cyan")
    return Group(heading, table, ABOUT, *notes)


def _what(phase: ReplayedPhase) -> str:
    """Name the operations that the phase has most of."""
    by_count = sorted(phase.operations.items(), key=lambda each: (-each[1], each[0]))
    named = ", ".join(name for name, _ in by_count[:_MOST_NAMED])
    others = len(by_count) - _MOST_NAMED
    return f"{named}, {others} more" if others > 0 else named


def _numbers(phase: ReplayedPhase) -> Iterator[str]:
    yield quantity.count(phase.descriptors)
    yield f"{phase.bytes / 1e6:,.3f}"
    for ns in (phase.engines_ns, phase.core_ns):
        yield _ABSENT if ns is None else f"{ns / 1e3:,.1f}"
    ratio, freed = phase.core_by_engines, phase.freed_cycles
    yield _ABSENT if ratio is None else f"{ratio:.2f}"
    yield _ABSENT if freed is None else f"{freed / 1e3:,.1f}"
