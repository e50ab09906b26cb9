"""A replayed log of descriptors for people: engines beside cores, phase by phase."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from skipline.runs.result import Replay, ReplayedPhase, Result
from skipline.text import quantity
from skipline.text.table import Column, TextTable

# Operations of a phase that its row names.
_MOST_NAMED = 2
_ABSENT = "-"

_COLUMNS = (
    Column("phase"),
    Column("begins", unit="ms", form=",.3f", right=True),
    Column("descriptors", form=quantity.count, right=True),
    Column("MB", form=",.3f", right=True),
    Column("engines", unit="us", form=",.1f", right=True, absent=_ABSENT),
    Column("core", unit="us", form=",.1f", right=True, absent=_ABSENT),
    Column("core / engines", form=".2f", right=True, absent=_ABSENT),
    Column("freed", unit="kcycles", form=",.1f", right=True, absent=_ABSENT),
)
ABOUT = (
    "Engines: time in which they have offloads of the log under way, until a core has read the "
    "last record. Core: time of cores that do the same operations themselves, without the "
    "program's own work. Freed: cycles of those, less those of preparing descriptors, submitting "
    "them and reading records; a program that only waits for its offloads gains the difference of "
    "the two times instead."
)


def table(replay: Replay) -> TextTable:
    """Return a row for each phase, and one for all of them where there are several."""
    shown = TextTable(_COLUMNS)
    for number, phase in enumerate(replay.phases, start=1):
        shown.add(f"{number}: {_what(phase)}", phase.from_ns / 1e6, *_numbers(phase))
    if len(replay.phases) > 1:
        shown.add("all", None, *_numbers(replay.total))
    return shown


def title(result: Result, replay: Replay) -> str:
    """Name the log, and its tenant where there are several."""
    tenant = f" of tenant {replay.tenant}" if result.tenants() else ""
    return f"The log{tenant}, phase by phase"


def tables(result: Result) -> list[RenderableType]:
    """Show the phases of each log that the run replayed."""
    return [part for replay in result.replays for part in ("", _table(result, replay))]


def _table(result: Result, replay: Replay) -> RenderableType:
    notes = (f"{note}." for note in replay.notes)
    heading = Text(title(result, replay), style="bold cyan")
    return Group(heading, table(replay), ABOUT, *notes)


def _what(phase: ReplayedPhase) -> str:
    """Name the operations that the phase has most of, and their sizes if these divide the log."""
    by_count = sorted(phase.operations.items(), key=lambda each: (-each[1], each[0]))
    named = ", ".join(name for name, _ in by_count[:_MOST_NAMED])
    others = len(by_count) - _MOST_NAMED
    what = f"{named}, {others} more" if others > 0 else named
    return what if phase.least_bytes is None else f"{what} from {phase.least_bytes} B"


def _numbers(phase: ReplayedPhase) -> Iterator[float | None]:
    yield phase.descriptors
    yield phase.bytes / 1e6
    for ns in (phase.engines_ns, phase.core_ns):
        yield None if ns is None else ns / 1e3
    yield phase.core_by_engines
    yield None if phase.freed_cycles is None else phase.freed_cycles / 1e3
