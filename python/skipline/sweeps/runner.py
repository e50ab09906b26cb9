"""Simulates what stores lack: hands out points to workers, and is the one writer of their answers.

It knows neither sweeps nor experiments, only points, each with the stores that it belongs in.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from skipline import _core
from skipline._core import InputError
from skipline.store.writing import Writer
from skipline.sweeps.dispatch import MOST_DEATHS, MOST_IN_CHUNK, ChunkPoints, Dispatcher
from skipline.sweeps.messages import Answer, ChunkProgress, Event, Ready, Refusal, WorkerDeath
from skipline.sweeps.simulate import Chunk, Request, row

if TYPE_CHECKING:
    import pyarrow as pa

    from skipline.sweeps.threads import Threads
    from skipline.sweeps.workers import Workers

_REFRESH_S = 0.1
# A single run says nothing of the others.
_LEAST_KNOWN = 2
# Rows wait so long to be written together: a transaction costs some milliseconds.
_WRITE_EVERY_S = 0.5


class Wanted(NamedTuple):
    """A run to simulate: the digests of its files, and the stores that lack its answer."""

    request: Request
    files: dict[str, str]
    stores: tuple[Writer, ...]


@dataclass
class Tally:
    """Runs that were simulated and written, by status; `stopped` is why the others were not."""

    new: Counter[str] = field(default_factory=Counter)
    first_error: str = ""
    stopped: str = ""

    def add(self, statuses: Sequence[str], errors: Sequence[str | None]) -> None:
        """Count rows that were written."""
        self.new.update(statuses)
        self.first_error = self.first_error or next(filter(None, errors), "")


class Policy(NamedTuple):
    """How points are handed out, and what the first one that fails ends.

    `fail_fast` raises its error and keeps no row of it, which threads do; `first_failure` keeps it
    and stops. At `until`, in seconds of `time.monotonic`, no run is waited for any more.
    """

    first_failure: bool = False
    fail_fast: bool = False
    largest_chunk: int = MOST_IN_CHUNK
    until: float | None = None


class Pace(NamedTuple):
    """How far a runner is: runs with the shares of those under way, finished ones, those under way.

    A run may end long before its share is one: as soon as its numbers are precise enough.
    """

    simulated: float
    finished: int
    under_way: int

    @property
    def known(self) -> int:
        """The runs that a forecast may count: none until each worker has had time to finish one."""
        return self.finished if self.finished >= max(_LEAST_KNOWN, self.under_way) else 0


ReportPace = Callable[[Pace, Tally], None]


class Runner:
    """Runs that are wanted, each once. Those that are written stay, whatever ends the rest."""

    def __init__(self, wanted: Sequence[Wanted], policy: Policy, report: ReportPace) -> None:
        self._wanted = wanted
        self._policy = policy
        self._report = report
        self.tally = Tally()
        self._stores = {one.request.question: one.stores for one in wanted}
        self._pending: list[bytes] = []
        self._pending_rows = 0
        self._fractions: dict[int, float] = {}
        self._written_at = time.monotonic()

    def run(self, workers: "Workers | Threads") -> None:
        """Simulate all; RunError if a store cannot be written, InputError if a file has changed."""
        dispatcher = Dispatcher(len(self._wanted), 0, self._policy.largest_chunk)
        pipes = _core.kept_inputs()
        try:
            while not dispatcher.done and not self.tally.stopped and not self._is_over:
                while workers.free() and (points := dispatcher.take()):
                    workers.send(self._chunk(points, pipes))
                for event in workers.events(_REFRESH_S):
                    self._handle_event(event, dispatcher)
                if time.monotonic() - self._written_at >= _WRITE_EVERY_S or dispatcher.done:
                    self._write()
                self._report(self._pace(), self.tally)
        finally:
            self._write()

    def _pace(self) -> Pace:
        answered = self.tally.new.total() + self._pending_rows
        finished = sum(int(done) for done in self._fractions.values())
        shares = sum(self._fractions.values())
        return Pace(answered + shares, answered + finished, len(self._fractions))

    @property
    def _is_over(self) -> bool:
        return self._policy.until is not None and time.monotonic() >= self._policy.until

    def _chunk(self, points: ChunkPoints, pipes: dict[str, bytes]) -> Chunk:
        wanted = [self._wanted[point] for point in points.points]
        files = {name: digest for one in wanted for name, digest in one.files.items()}
        requests = [one.request for one in wanted]
        return Chunk(points.number, requests, files, pipes, self._policy.fail_fast)

    def _handle_event(self, event: Event, dispatcher: Dispatcher) -> None:
        """Apply what a worker has reported."""
        match event:
            case Ready(slots):
                dispatcher.add_slots(slots)
            case ChunkProgress(number, done):
                self._fractions[number] = done
            case Answer(number, b""):
                self._lose(dispatcher, [number])
            case Answer(number, packed):
                self._fractions.pop(number, None)
                dispatcher.finish(number, self._keep(packed))
            case Refusal(message):
                raise InputError(message)
            case WorkerDeath(numbers, slots):
                dispatcher.add_slots(-slots)
                # Chunks are simulated in the order of their numbers.
                self._lose(dispatcher, numbers[:1])
                for number in numbers[1:]:
                    dispatcher.put_back(number)

    def _lose(self, dispatcher: Dispatcher, numbers: list[int]) -> None:
        for number in numbers:
            self._fractions.pop(number, None)
            for point in dispatcher.record_death(number):
                error = f"its worker died {MOST_DEATHS} times: out of memory, or killed"
                self._keep_errors("lost", [(self._wanted[point].request, error)])

    def refuse(self, refused: Sequence[tuple[Wanted, str]]) -> None:
        """Write rows with the error of runs that cannot be."""
        self._stores |= {one.request.question: one.stores for one, _ in refused}
        if refused:
            self._keep_errors("failed", [(one.request, error) for one, error in refused])
            self._write()

    def _keep_errors(self, status: str, errors: Sequence[tuple[Request, str]]) -> None:
        """Remember runs that have no numbers, and why."""
        from skipline.store import rows

        found = [row(one, {"status": status, "error": error}, 0.0) for one, error in errors]
        self._keep(rows.pack(found))

    def _keep(self, packed: bytes) -> list[float]:
        """Remember rows until they are written; return how long each point took."""
        from skipline.store import rows

        table = rows.unpack(packed)
        self._pending.append(packed)
        self._pending_rows += table.num_rows
        times: list[float] = table.column("wall_s").to_pylist()
        return times

    def _write(self) -> None:
        """Write the rows that wait. A point counts as finished once it is written."""
        self._written_at = time.monotonic()
        if not self._pending:
            return
        import pyarrow as pa

        from skipline.store import rows

        table = pa.concat_tables(map(rows.unpack, self._pending)).combine_chunks()
        self._add(table)
        # Not before: Ctrl-C may end what adds them, and rows that are there are not added twice.
        self._pending, self._pending_rows = [], 0
        columns = table.select(["status", "error"]).to_pydict()
        self.tally.add(columns["status"], columns["error"])
        if self._policy.first_failure:
            self.tally.stopped = self.tally.first_error

    def _add(self, table: "pa.Table") -> None:
        """Add each row to the stores that lack it."""
        lacking = [self._stores[question] for question in table.column("question").to_pylist()]
        for store in dict.fromkeys(store for stores in lacking for store in stores):
            own = [at for at, stores in enumerate(lacking) if store in stores]
            store.add(table if len(own) == len(lacking) else table.take(own))
