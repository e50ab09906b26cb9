"""Simulates points of experiments on several threads (the core releases the GIL)."""

import contextlib
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import NamedTuple

from skipline import _core
from skipline.experiment import store
from skipline.experiment.points import Point
from skipline.experiment.store import PointStore
from skipline.runs.result import Result
from skipline.text.terminal import Bar

_REFRESH_S = 0.1


class Finished(NamedTuple):
    """A point with the results of its repeats, in the order of their seeds."""

    point: Point
    results: list[Result]


class Batch(NamedTuple):
    """Points to run with each of `seeds`, and where their results are kept."""

    points: list[Point]
    seeds: range
    store: PointStore


class Ran(NamedTuple):
    """The finished points of a batch; of those with an index in `simulated` some run is new."""

    finished: list[Finished]
    simulated: frozenset[int]
    simulated_wall_s: float

    @property
    def reused(self) -> int:
        """The number of the experiment's own points that were kept from an earlier run."""
        own = (index for index, done in enumerate(self.finished) if not done.point.null)
        return sum(index not in self.simulated for index in own)


class Task(NamedTuple):
    """One repeat of a point; indices of batch and point, and the seed."""

    batch: int
    point: int
    seed: int


class _StopRun(Exception):
    """Raised inside a simulation to end it early."""


class Runner:
    """Runs the repeats of points that their stores do not have yet."""

    def __init__(self, batches: Sequence[Batch]) -> None:
        self._batches = batches
        self._stop = threading.Event()
        self._fractions: dict[Task, float] = {}

    def run(self, jobs: int, bar: Bar) -> list[Ran]:
        """Return every point of every batch with its results, in order.

        On Ctrl-C, or when a run fails, what was finished stays in the stores.
        """
        tasks = [
            Task(number, index, seed)
            for number, batch in enumerate(self._batches)
            # Points of one seed often begin alike, and the core keeps what their caches hold then.
            for seed in batch.seeds
            for index in range(len(batch.points))
        ]
        results = {
            Task(number, index, seed): kept
            for number, batch in enumerate(self._batches)
            for index, point in enumerate(batch.points)
            for seed, kept in batch.store.read(point, batch.seeds).items()
        }
        missing = [task for task in tasks if task not in results]
        with self._threads(jobs) as pool:
            futures = {pool.submit(self._simulate, task): task for task in missing}
            self._follow(set(futures), len(tasks), len(tasks) - len(missing), bar)
        for future, task in futures.items():
            results[task] = future.result()
        return [_ran(number, batch, results, missing) for number, batch in enumerate(self._batches)]

    def _simulate(self, task: Task) -> Result:
        def progress(state: dict[str, float]) -> None:
            self._fractions[task] = state["fraction"]
            if self._stop.is_set():
                raise _StopRun

        if self._stop.is_set():
            raise _StopRun
        batch = self._batches[task.batch]
        point = batch.points[task.point]
        # Before the run: a file that is edited during it must not pass for the one that was read.
        key = store.keys_of(point, [task.seed])[task.seed]
        text = _core.run(point.scenario, point.overrides, task.seed, None, progress)
        batch.store.write(point, task.seed, key, text)
        self._fractions[task] = 1.0
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


def _ran(number: int, batch: Batch, results: dict[Task, Result], missing: list[Task]) -> Ran:
    finished = [
        Finished(point, [results[Task(number, index, seed)] for seed in batch.seeds])
        for index, point in enumerate(batch.points)
    ]
    new = [task for task in missing if task.batch == number]
    simulated = frozenset(task.point for task in new)
    return Ran(finished, simulated, sum(results[task].wall_s for task in new))
