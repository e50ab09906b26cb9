"""Runs a sweep: the one process that writes the store and sends missing points to workers."""

import dataclasses
import os
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from skipline import _core
from skipline._core import InputError
from skipline.runs import identity
from skipline.store import opening, rows
from skipline.store.writing import Writer
from skipline.sweeps.definition import Definition
from skipline.sweeps.dispatch import MOST_DEATHS, Dispatcher
from skipline.sweeps.engine import Engine
from skipline.sweeps.messages import Answer, ChunkProgress, Ready, Refusal
from skipline.sweeps.plan import Plan, plan
from skipline.sweeps.simulate import Chunk, row
from skipline.sweeps.workers import Event, WorkerDeath, Workers

_REFRESH_S = 0.1
# Rows wait so long to be written together: a transaction costs some milliseconds.
_WRITE_EVERY_S = 0.5

# Description of the progress before the first point is simulated.
PLANNING = "looking at the points"

Progress = Callable[[float, str], None]


class Options(NamedTuple):
    """How a sweep runs; none of these options changes its numbers.

    With `impossible_values` a value with which no point is possible is not refused.
    """

    engine: Engine
    limit: int | None = None
    first_failure: bool = False
    retry_failed: bool = False
    impossible_values: bool = False


@dataclasses.dataclass
class Summary:
    """The outcome of a sweep: runs in all, reused ones, and those of this call by status."""

    sweep: int
    points: int
    reused: int
    new: Counter[str]
    first_error: str = ""
    stopped: str = ""

    @property
    def missing(self) -> int:
        """Runs that are still to be simulated."""
        return self.points - self.reused - self.new["done"] - self.new["failed"]

    def summary_line(self, store: str) -> str:
        """Return one line with the counts and the file `store`."""
        facts = [f"{self.new['done']:,} simulated", f"{self.reused:,} reused"]
        facts += [f"{self.new['failed']:,} failed"] if self.new["failed"] else []
        facts += [f"{self.missing:,} still missing"] if self.missing else []
        return f"{store}: sweep {self.sweep}, {self.points:,} points: {', '.join(facts)}"


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in a sweep; `summary` is what it had done by then."""

    def __init__(self, summary: Summary) -> None:
        super().__init__()
        self.summary = summary


def run(definition: Definition, store: str, options: Options, progress: Progress) -> Summary:
    """Simulate what the store does not have; InputError for bad input, before anything runs.

    RunError if the store cannot be written, or no worker starts. What was written stays.
    """
    opening.require_room(store, definition.check())
    with Writer(store) as writer:
        return run_into(writer, definition, options, progress)


def run_into(
    writer: Writer, definition: Definition, options: Options, progress: Progress
) -> Summary:
    """Simulate like `run`, with a store that is open."""
    planned = plan(
        definition,
        writer.known_members,
        os.cpu_count() or 1,
        lambda share: progress(share, PLANNING),
        impossible_values=options.impossible_values,
    )
    number = writer.record_sweep(planned.head, planned.members)
    return _Sweep(writer, planned, options, progress).run(number)


class _Sweep:
    """A sweep that runs."""

    def __init__(self, writer: Writer, planned: Plan, options: Options, progress: Progress) -> None:
        self._writer = writer
        self._plan = planned
        self._options = options
        self._progress = progress
        self._summary = Summary(0, len(planned.requests), 0, Counter())
        self._pending: list[bytes] = []
        self._pending_rows = 0
        self._fractions: dict[int, float] = {}
        self._written_at = time.monotonic()

    def run(self, number: int) -> Summary:
        self._summary.sweep = number
        wanted = self._wanted()
        self._add_refused(wanted)
        wanted = [at for at in wanted if self._plan.requests[at].question not in self._plan.refused]
        if self._options.limit is not None:
            wanted = wanted[: self._options.limit]
        if not wanted or self._summary.stopped:
            return self._summary
        try:
            with Workers(self._options.engine, len(wanted)) as workers:
                self._simulate(wanted, workers)
        except KeyboardInterrupt:
            self._write()
            raise Interrupted(self._summary) from None
        finally:
            self._write()
        return self._summary

    def _wanted(self) -> list[int]:
        """Return the runs that are not there; each question once."""
        statuses = self._writer.statuses(identity.simulator())
        kept = {"done"} if self._options.retry_failed else {"done", "failed"}
        seen: set[str] = set()
        wanted = []
        for at, request in enumerate(self._plan.requests):
            if statuses.get(request.question) in kept or request.question in seen:
                self._summary.reused += 1
                continue
            seen.add(request.question)
            wanted.append(at)
        return wanted

    def _add_refused(self, wanted: list[int]) -> None:
        """Keep points that are not possible as rows with their error."""
        refused = [self._plan.requests[at] for at in wanted]
        found = [
            row(one, {"status": "failed", "error": self._plan.refused[one.question]}, 0.0)
            for one in refused
            if one.question in self._plan.refused
        ]
        if found:
            self._keep(rows.pack(found))
            self._write()

    def _simulate(self, wanted: list[int], workers: Workers) -> None:
        dispatcher = Dispatcher(len(wanted), 0)
        pipes = _core.kept_inputs()
        while not dispatcher.done and not self._summary.stopped:
            while workers.free() and (chunk := dispatcher.take()):
                requests = [self._plan.requests[wanted[point]] for point in chunk.points]
                workers.send(Chunk(chunk.number, requests, self._plan.head.files, pipes))
            for event in workers.events(_REFRESH_S):
                self._handle_event(event, dispatcher, wanted)
            if time.monotonic() - self._written_at >= _WRITE_EVERY_S or dispatcher.done:
                self._write()
            self._report(len(wanted))

    def _handle_event(self, event: Event, dispatcher: Dispatcher, wanted: list[int]) -> None:
        """Apply what a worker has reported."""
        match event:
            case Ready(slots):
                dispatcher.add_slots(slots)
            case ChunkProgress(number, done):
                self._fractions[number] = done
            case Answer(number, b""):
                self._lost(dispatcher, [number], wanted)
            case Answer(number, packed):
                self._fractions.pop(number, None)
                dispatcher.finish(number, self._keep(packed))
            case Refusal(message):
                raise InputError(message)
            case WorkerDeath(numbers, slots):
                dispatcher.add_slots(-slots)
                # Chunks are simulated in the order of their numbers.
                self._lost(dispatcher, numbers[:1], wanted)
                for number in numbers[1:]:
                    dispatcher.put_back(number)

    def _lost(self, dispatcher: Dispatcher, numbers: list[int], wanted: list[int]) -> None:
        for number in numbers:
            self._fractions.pop(number, None)
            for point in dispatcher.record_death(number):
                error = f"its worker died {MOST_DEATHS} times: out of memory, or killed"
                request = self._plan.requests[wanted[point]]
                self._keep(rows.pack([row(request, {"status": "lost", "error": error}, 0.0)]))

    def _keep(self, packed: bytes) -> list[float]:
        """Remember rows until they are written; return how long each point took."""
        table = rows.unpack(packed)
        self._pending.append(packed)
        self._pending_rows += table.num_rows
        times: list[float] = table.column("wall_s").to_pylist()
        return times

    def _write(self) -> None:
        """Write the rows that wait. A point counts as finished once it is written."""
        import pyarrow as pa

        self._written_at = time.monotonic()
        if not self._pending:
            return
        table = pa.concat_tables(map(rows.unpack, self._pending)).combine_chunks()
        self._pending, self._pending_rows = [], 0
        self._writer.add(table)
        columns: dict[str, list[Any]] = table.select(["status", "error"]).to_pydict()
        self._summary.new.update(columns["status"])
        errors = [error for error in columns["error"] if error]
        if errors:
            self._summary.first_error = self._summary.first_error or errors[0]
            if self._options.first_failure:
                self._summary.stopped = errors[0]

    def _report(self, wanted: int) -> None:
        counts = self._summary.new
        # Lost points are not finished: the next sweep tries them again.
        finished = counts["done"] + counts["failed"]
        share = (counts.total() + self._pending_rows + sum(self._fractions.values())) / wanted
        others = [f", {counts[name]} {name}" for name in ("failed", "lost") if counts[name]]
        self._progress(share, f"{finished:,} of {wanted:,} points{''.join(others)}")
