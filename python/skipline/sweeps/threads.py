"""Threads of this process as workers: they begin at once, and the core releases the GIL.

They share what caches hold at the beginning of points that begin alike, which each process would
fill for itself.
"""

import queue
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Self

from skipline.sweeps.messages import Answer, ChunkProgress, Event
from skipline.sweeps.simulate import Chunk, chunk


class _Stopped(Exception):
    """Raised inside a simulation to end it early."""


class Threads:
    """Simulates chunks in up to `jobs` threads; what ends one ends the run."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._pool = ThreadPoolExecutor(jobs)
        self._running: set[int] = set()
        self._events: queue.SimpleQueue[Event | BaseException] = queue.SimpleQueue()
        self._stop = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the simulations under way at their next report of progress."""
        self._stop.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def free(self) -> bool:
        """Return whether a chunk could be sent."""
        return len(self._running) < self._jobs

    def send(self, work: Chunk) -> None:
        """Give a chunk to the next thread."""
        self._running.add(work.number)
        self._pool.submit(self._simulate, work)

    def events(self, timeout_s: float) -> Iterator[Event]:
        """Yield what threads tell within some time; raise what has ended one."""
        try:
            told = [self._events.get(timeout=timeout_s)]
        except queue.Empty:
            return
        while not self._events.empty():
            told.append(self._events.get())
        # Answers first: what is finished is kept, whatever ends the run.
        for event in sorted(told, key=lambda one: isinstance(one, BaseException)):
            if isinstance(event, BaseException):
                raise event
            if isinstance(event, Answer):
                self._running.discard(event.number)
            yield event

    def _simulate(self, work: Chunk) -> None:
        def report(done: float) -> None:
            if self._stop.is_set():
                raise _Stopped
            self._events.put(ChunkProgress(work.number, done))

        try:
            self._events.put(Answer(work.number, chunk(work, report)))
        except _Stopped:
            return
        except BaseException as error:
            self._events.put(error)
