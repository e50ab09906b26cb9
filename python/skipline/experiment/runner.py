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
    """A point with the results of its repeats, in the order of their seeds."""

    point: Point
    results: list[Result]


class Task(NamedTuple):
    """One repeat of a point."""

    point: Point
    seed: int


class _StopRun(Exception):
    """Raised inside a simulation to end it early."""


class Runner:
    """Runs the repeats of points that the store does not have yet."""

    def __init__(self, scenario_path: str, seeds: range, store: PointStore) -> None:
        self._scenario_path = scenario_path
        self._seeds = seeds
        self._store = store
        self._stop = threading.Event()
        self._fractions: dict[tuple[str, int], float] = {}

    def run(self, points: list[Point], jobs: int, bar: Bar) -> tuple[list[Finished], int]:
        """Return every point with its results, in order, and how many points were reused.

        On Ctrl-C, or when a run fails, what was finished stays in the store.
        """
        tasks = [Task(point, seed) for point in points for seed in self._seeds]
        results: dict[tuple[str, int], Result] = {}
        for task in tasks:
            if (kept := self._store.read(*task)) is not None:
                results[task.point.label, task.seed] = kept
        missing = [task for task in tasks if (task.point.label, task.seed) not in results]
        with self._threads(jobs) as pool:
            futures = {pool.submit(self._simulate, task): task for task in missing}
            self._follow(set(futures), len(tasks), len(tasks) - len(missing), bar)
        for future, task in futures.items():
            results[task.point.label, task.seed] = future.result()
        done = [Finished(p, [results[p.label, seed] for seed in self._seeds]) for p in points]
        return done, len(points) - len({task.point.label for task in missing})

    def _simulate(self, task: Task) -> Result:
        key = (task.point.label, task.seed)

        def progress(state: dict[str, float]) -> None:
            self._fractions[key] = state["fraction"]
            if self._stop.is_set():
                raise _StopRun

        if self._stop.is_set():
            raise _StopRun
        overrides = task.point.overrides
        text = _core.run(self._scenario_path, overrides, task.seed, None, progress)
        self._store.write(task.point, task.seed, text)
        self._fractions[key] = 1.0
        return Result.model_validate_json(text)

    def _follow(self, pending: set[Future[Result]], total: int, reused: int, bar: Bar) -> None:
        """Show progress until all runs are done; the first failure ends the others."""
        while pending:
            done, pending = wait(pending, timeout=_REFRESH_S, return_when=FIRST_COMPLETED)
            for future in done:
                if (error := future.exception()) is not None:
                    raise error
            finished = total - len(pending)
            work = reused + sum(self._fractions.values())
            bar.update(work / total, f"run {finished} of {total}")

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
