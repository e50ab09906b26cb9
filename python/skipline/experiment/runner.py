"""Simulates the points of an experiment on several threads (the core releases the GIL)."""

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import NamedTuple

from skipline import _core
from skipline.experiment.points import Point
from skipline.experiment.store import PointStore
from skipline.result import Result
from skipline.terminal import Bar

_REFRESH_S = 0.1


class Finished(NamedTuple):
    """A point with its result."""

    point: Point
    result: Result


class _StopRun(Exception):
    """Raised inside a simulation to end it early."""


class Runner:
    """Runs points that the store does not have yet."""

    def __init__(self, scenario_path: str, seed: int | None, store: PointStore) -> None:
        self._scenario_path = scenario_path
        self._seed = seed
        self._store = store
        self._stop = threading.Event()
        self._fractions: dict[str, float] = {}

    def run(self, points: list[Point], jobs: int, bar: Bar) -> tuple[list[Finished], int]:
        """Return every point with its result, in order, and how many were reused.

        On Ctrl-C, or when a point fails, what was finished stays in the store.
        """
        results = {point.label: self._store.read(point) for point in points}
        missing = [point for point in points if results[point.label] is None]
        reused = len(points) - len(missing)
        with self._threads(jobs) as pool:
            futures = {pool.submit(self._simulate, point): point for point in missing}
            self._follow(set(futures), len(points), reused, bar)
        for future, point in futures.items():
            results[point.label] = future.result()
        done = [Finished(p, result) for p in points if (result := results[p.label]) is not None]
        return done, reused

    def _simulate(self, point: Point) -> Result:
        def progress(state: dict[str, float]) -> None:
            self._fractions[point.label] = state["fraction"]
            if self._stop.is_set():
                raise _StopRun

        if self._stop.is_set():
            raise _StopRun
        text = _core.run(self._scenario_path, point.overrides, self._seed, None, progress)
        self._store.write(point, text)
        self._fractions[point.label] = 1.0
        return Result.model_validate_json(text)

    def _follow(self, pending: set[Future[Result]], total: int, reused: int, bar: Bar) -> None:
        """Show progress until all points are done; the first failure ends the others."""
        while pending:
            done, pending = wait(pending, timeout=_REFRESH_S, return_when=FIRST_COMPLETED)
            for future in done:
                if (error := future.exception()) is not None:
                    raise error
            finished = total - len(pending)
            work = reused + sum(self._fractions.values())
            bar.update(work / total, f"point {finished} of {total}")

    @contextlib.contextmanager
    def _threads(self, jobs: int) -> Iterator[ThreadPoolExecutor]:
        """Give a pool that is stopped, not waited for, when anything goes wrong."""
        with ThreadPoolExecutor(jobs) as pool:
            try:
                yield pool
            except BaseException:
                self._stop.set()
                pool.shutdown(wait=True, cancel_futures=True)
                raise
