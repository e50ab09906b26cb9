"""Replays address traces in the compiled core: files, standard traces, arrays of addresses."""

from array import array
from dataclasses import asdict, dataclass
from os import PathLike
from typing import TYPE_CHECKING, Literal

from skipline import _core, extras
from skipline.runs.result import MissKinds
from skipline.text import json_record, quantity
from skipline.text.table import Column, TextTable
from skipline.traces import integers, trace_calls
from skipline.traces.trace_calls import STANDARD_MACHINE, STANDARD_TRACES, Progress, Wanted

if TYPE_CHECKING:
    import polars

    from skipline.traces.integers import Integers

__all__ = ["STANDARD_MACHINE", "STANDARD_TRACES", "Level", "TraceResult", "standard_trace", "trace"]


@dataclass(frozen=True)
class Level:
    """Counts of one cache level."""

    name: str
    hits: int
    misses: int
    writebacks: int
    references: dict[str, dict[str, int]]
    miss_kinds: MissKinds | None = None

    @property
    def miss_rate(self) -> float | None:
        """Percent of what was asked for; None if nothing was."""
        requests = self.hits + self.misses
        return 100 * self.misses / requests if requests else None

    def row(self) -> dict[str, str | int | float | None]:
        """Return its row of a data frame, with the misses of each kind if they were asked for."""
        counts = {"hits": self.hits, "misses": self.misses, "writebacks": self.writebacks}
        kinds = ("compulsory", "capacity", "conflict", "invalidated")
        counted = asdict(self.miss_kinds) if self.miss_kinds else {}
        by_kind = {kind: counted[kind] for kind in kinds if counted}
        return {"level": self.name, **counts, "miss_rate": self.miss_rate, **by_kind}


@dataclass(frozen=True, repr=False)
class TraceResult:
    """The result of replaying a trace on a machine, as `skipline trace --format json` prints it.

    `line_ops` are lines of references that reached the caches, `wall_s` is the time of the replay
    with the reading of its file, and without the making of a standard trace. `simulated_ns` and
    `real_time_factor` (simulated seconds per second) are there if time was asked for.
    """

    trace: str
    format: str
    machine: str
    accesses: int
    references: int
    fetches_left_out: int
    levels: list[Level]
    memory_lines_read: int
    memory_lines_written: int
    line_ops: int
    wall_s: float
    line_ops_per_s: float
    simulated_ns: float | None = None
    real_time_factor: float | None = None

    def to_frame(self) -> "polars.DataFrame":
        """Return a data frame of polars with a row per level.

        Its columns are level, hits, misses, writebacks, miss_rate (percent; null where nothing was
        asked for), and with `explain` the misses of each kind.
        """
        extras.require("notebook", "a data frame", ["polars"])
        import polars

        rows = [level.row() for level in self.levels]
        types = {"level": polars.String, "miss_rate": polars.Float64}
        return polars.DataFrame(rows, schema_overrides=types, infer_schema_length=None)

    def __repr__(self) -> str:
        rates = (f"{level.name} {_percent(level.miss_rate)}" for level in self.levels)
        return (
            f"<skipline.TraceResult {self.trace!r} on {self.machine}: {self.references:,} "
            f"references; miss rates {', '.join(rates)}>"
        )

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """Show the levels in a notebook."""
        notes = (
            f"{self.references:,} references ({self.format}); memory: "
            f"{self.memory_lines_read:,} lines read, {self.memory_lines_written:,} written.",
            "As a data frame: .to_frame().",
        )
        return levels_table(self).as_html(notes)


def levels_table(result: TraceResult) -> TextTable:
    """Return the counts of each level, as terminals, CSV and notebooks have them."""
    columns = (
        Column("level", "level"),
        Column("hits", "hits", form=quantity.count, right=True),
        Column("misses", "misses", form=quantity.count, right=True),
        Column("miss rate", form=_percent, right=True, absent="–"),
        Column("write-backs", "writebacks", form=quantity.count, right=True),
    )
    table = TextTable(columns, title=f"{result.trace} on {result.machine}", has_edges=True)
    for level in result.levels:
        table.add(level.name, level.hits, level.misses, level.miss_rate, level.writebacks)
    return table


def _percent(rate: float | None) -> str:
    return "–" if rate is None else f"{rate:.2f} %"


def trace(  # noqa: PLR0913 - one argument for each choice
    source: "str | PathLike[str] | Integers",
    machine: str | PathLike[str],
    *,
    kinds: "Integers | None" = None,
    unit: Literal["byte", "line"] = "byte",
    trace_format: str | None = None,
    timed: bool = False,
    explain: bool = False,
    seed: int | None = None,
    progress: Progress | None = None,
) -> TraceResult:
    """Replay a trace through a machine: hits, misses and write-backs of every level.

    `source` is a file, or an array of addresses: integers of any type of numpy, an `array`, a list,
    a range. They are addresses of bytes, or of lines of 64 bytes if `unit` says so. Unsigned and
    signed 64-bit integers are not copied. `kinds` are as many integers: 0 load, 1 store, 2
    instruction fetch, 3 modify; without them all are loads. Each is one byte in size.
    `timed` also tells the simulated time, `explain` the kinds of misses; both take ten times as
    long and more.
    `progress` is called about ten times a second with references so far and the share of the
    trace; what it raises ends the replay; a pipe then keeps what has not been read for its next
    reader. A process that it forks cannot go on with the replay: RunError.
    Raises InputError for bad input, also for numbers that are no addresses: negative ones,
    fractions.

    >>> import skipline
    >>> replayed = skipline.trace(range(0, 1 << 20, 64), "three-level-lru")
    >>> [(level.name, level.hits, level.misses) for level in replayed.levels]
    [('L1', 0, 16384), ('L2', 0, 16384), ('L3', 0, 16384)]
    """
    wanted = Wanted(timed, explain, seed)
    if isinstance(source, str | PathLike):
        if kinds is not None or unit != "byte":
            raise _core.InputError("kinds, unit: a file says itself what its references are")
        text = trace_calls.of_file(source, machine, trace_format, wanted, progress)
    else:
        if trace_format is not None or unit not in ("byte", "line"):
            raise _core.InputError(
                f"unit: {unit}; an array has addresses of bytes or lines (unit 'byte' or 'line') "
                "and no trace_format"
            )
        text = _core.trace_array(
            integers.unsigned("addresses", source, 64),
            machine,
            None if kinds is None else integers.unsigned("kinds", kinds, 8),
            of_lines=unit == "line",
            miss_kinds=wanted.miss_kinds,
            seed=wanted.seed,
            progress=progress,
            timed=wanted.timed,
        )
    return parse(text)


def parse(text: str) -> TraceResult:
    """Read the JSON of a replay."""
    return json_record.read(TraceResult, text)


def standard_trace(name: str) -> "array[int]":
    """Return the byte addresses of a standard trace (STANDARD_TRACES), unsigned 64-bit.

    `numpy.asarray` makes no copy of them; `.tofile` writes a raw64 trace.
    """
    addresses = array("Q")
    addresses.frombytes(_core.standard_trace(name))
    return addresses
