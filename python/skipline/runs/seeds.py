"""One scenario with several seeds: side by side in threads, since the core releases Python's lock.

Each run is the one that its seed has alone. Only the seeds share the cores: the batches of a run
follow one another.
"""

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from functools import partial

from skipline import _core
from skipline._core import InputError, RunError

# The seed of runs for which none is stated.
FIRST = 1
# Between two reports of progress, while threads simulate.
_REPORT_S = 0.1
_MOST_SEED = (1 << 64) - 1

Progress = Callable[[float], None]
Settings = Sequence[tuple[str, str]]


class _Stopped(Exception):
    """Raised inside a simulation to end it early."""


def of_repeats(first: int, repeats: int, flag: str = "--repeats") -> range:
    """Return the seeds of `repeats` runs from `first` on; InputError if there are not as many."""
    if repeats - 1 > _MOST_SEED - first:
        raise InputError(
            f"{flag} {repeats}: the seeds from {first} on end at 2^64 - 1; "
            f"at most {_MOST_SEED - first + 1} are left"
        )
    return range(first, first + repeats)


def run(
    scenario: str,
    settings: Settings,
    seeds: range,
    progress: Progress,
    *,
    resolved: Callable[[], None] | None = None,
    miss_kinds: bool = False,
) -> list[str]:
    """Simulate a scenario with each seed; return the results as JSON, in the order of the seeds.

    `resolved` is called once, when the input has been checked and before the simulations begin.
    Raises what ended one of them, an InputError or a RunError with its seed; the others end, too.
    """
    simulate = partial(_core.run, scenario, list(settings), miss_kinds=miss_kinds)
    if len(seeds) == 1:
        alone = simulate(
            seed=seeds[0],
            progress=lambda state: progress(state["fraction"]),
            resolved=resolved,
        )
        return [alone]
    done = [0.0] * len(seeds)
    stop = threading.Event()
    prepare = _Once(resolved)

    def one(number: int) -> str:
        def report(state: dict[str, float]) -> None:
            if stop.is_set():
                raise _Stopped
            done[number] = state["fraction"]

        try:
            text = simulate(seed=seeds[number], progress=report, resolved=prepare)
        except RunError as error:
            raise RunError(f"seed {seeds[number]}: {error}") from error
        done[number] = 1.0
        return text

    with ThreadPoolExecutor(min(len(seeds), os.cpu_count() or 1)) as pool:
        runs = [pool.submit(one, number) for number in range(len(seeds))]
        try:
            _await(runs, lambda: progress(sum(done) / len(seeds)))
        finally:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
    return [run.result() for run in runs]


def _await(runs: Sequence[Future[str]], report: Callable[[], None]) -> None:
    """Wait until all runs have ended, and report repeatedly; raise what has ended one of them."""
    left = set(runs)
    while left:
        ended, left = wait(left, _REPORT_S, FIRST_EXCEPTION)
        # In the order of the seeds: the same input is refused with the same words.
        for run in runs:
            if run in ended:
                run.result()
        report()


class _Once:
    """Calls a function at the first of several calls; the others wait for it."""

    def __init__(self, function: Callable[[], None] | None) -> None:
        self._function = function
        self._lock = threading.Lock()

    def __call__(self) -> None:
        with self._lock:
            function, self._function = self._function, None
            if function is not None:
                function()
