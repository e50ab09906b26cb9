"""The worker processes of a sweep, seen from the writer: chunks go out, answers come in."""

import contextlib
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from multiprocessing import connection as connections
from multiprocessing.connection import Connection
from typing import IO, Self

from skipline._core import RunError
from skipline.sweeps.engine import Engine
from skipline.sweeps.messages import Answer, Event, Ready, WorkerDeath
from skipline.sweeps.simulate import Chunk

# Processes that end before they have taken a chunk: then it is not by chance.
_MOST_FALSE_STARTS = 3
_END_WITHIN_S = 5.0


class _Process:
    """A process, the socket to it, and the chunks that it has."""

    def __init__(self, engine: Engine) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            # Of its own session: Ctrl-C is for the writer, which ends its workers itself.
            self.stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `end`
            self.process = subprocess.Popen(
                engine.command(theirs.fileno()),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self.stderr,
                start_new_session=True,
            )
        self.connection = Connection(ours.detach())
        self.slots = 0
        self.chunks: set[int] = set()

    def last_stderr_line(self) -> str:
        """Return the last line that the process wrote to stderr."""
        self.stderr.seek(0)
        lines = self.stderr.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def end(self, *, kill: bool) -> None:
        """End the process; one that hands on to others is given time to end these."""
        with contextlib.suppress(OSError):
            self.connection.close()
        if kill:
            self.process.kill()
        try:
            self.process.wait(_END_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.stderr.close()


class Workers:
    """All processes of an engine; one that dies is replaced."""

    def __init__(self, engine: Engine, most: int) -> None:
        self._engine = engine
        self._false_starts = 0
        self._processes = [_Process(engine) for _ in range(min(engine.processes, most))]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.end(kill=self._engine.name == "local")

    def free(self) -> bool:
        """Return whether a chunk could be sent."""
        return any(len(process.chunks) < process.slots for process in self._processes)

    def send(self, work: Chunk) -> None:
        """Give a chunk to the process with the fewest; a dead one is found by `events`."""
        best = min(
            (process for process in self._processes if len(process.chunks) < process.slots),
            key=lambda process: len(process.chunks),
        )
        best.chunks.add(work.number)
        with contextlib.suppress(OSError):
            best.connection.send(work)

    def events(self, timeout_s: float) -> Iterator[Event]:
        """Yield what processes tell within some time."""
        by_connection: dict[object, _Process] = {
            process.connection: process for process in self._processes
        }
        for ready in connections.wait(
            [process.connection for process in self._processes], timeout_s
        ):
            process = by_connection[ready]
            try:
                message: Event = process.connection.recv()
            except (EOFError, OSError):
                yield self._replace(process)
                continue
            self._note(process, message)
            yield message

    def give_up(self) -> None:
        """Start other processes for those that simulate: who asked does not want to know any more.

        Their answers would be taken for those of later chunks of the same numbers.
        """
        for at, process in enumerate(self._processes):
            if process.chunks:
                process.end(kill=self._engine.name == "local")
                self._processes[at] = _Process(self._engine)

    def _note(self, process: _Process, message: Event) -> None:
        match message:
            case Ready(slots):
                process.slots = slots
            case Answer(number, _):
                process.chunks.discard(number)
                self._false_starts = 0

    def _replace(self, process: _Process) -> WorkerDeath:
        """Start another process for one that has ended; RunError if none gets to work."""
        death = WorkerDeath(sorted(process.chunks), process.slots)
        reason = process.last_stderr_line()
        process.end(kill=True)
        if not death.numbers:
            self._false_starts += 1
        if self._false_starts >= _MOST_FALSE_STARTS:
            self._processes.remove(process)
            raise RunError(f"workers of the engine {self._engine.name} do not start: {reason}")
        self._processes[self._processes.index(process)] = _Process(self._engine)
        return death
