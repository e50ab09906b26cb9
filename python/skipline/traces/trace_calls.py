"""Calls of the compiled core that replay an address trace; each returns the result as JSON."""

from collections.abc import Callable
from os import PathLike
from typing import NamedTuple

from skipline import _core

Progress = Callable[[int, float | None], None]

# By definition: ten million loads each, named by their buffer
# (crates/sim/workload/src/trace/standard.rs).
STANDARD_TRACES = ("4mib-sequential", "4mib-random", "64mib-sequential", "64mib-random")
STANDARD_MACHINE = "three-level-lru"


class Wanted(NamedTuple):
    """The results wanted beside hits and misses, and the seed of random replacement."""

    timed: bool = False
    miss_kinds: bool = False
    seed: int | None = None


def of_file(
    file: str | PathLike[str],
    machine: str | PathLike[str],
    trace_format: str | None,
    wanted: Wanted,
    progress: Progress | None,
) -> str:
    """Replay a file, `-` for standard input."""
    return _core.trace(
        file,
        machine,
        trace_format,
        wanted.miss_kinds,
        wanted.seed,
        progress,
        timed=wanted.timed,
    )


def of_standard(name: str, machine: str, wanted: Wanted, progress: Progress | None) -> str:
    """Replay a standard trace."""
    return _core.trace_standard(
        name, machine, wanted.miss_kinds, wanted.seed, progress, timed=wanted.timed
    )
