"""Runs the standard traces through Skipline and simulators by others, in turn, in one run.

Prints a table in Markdown: million accesses per second, median and range over the rounds. Where two
simulators model the same caches, their counts are compared; a difference ends the run.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from time import perf_counter
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "docs/tables")]

import performance  # noqa: E402
import skipline  # noqa: E402
from parity import valgrind_peer  # noqa: E402
from parity.referee import Level, Machine  # noqa: E402
from parity.skipline_trace import machine_toml  # noqa: E402
from skipline.traces.replay import STANDARD_MACHINE, STANDARD_TRACES  # noqa: E402

LINE_BYTES = 64
LOADS = 10_000_000
MIB = 1 << 20
# Hits of L1, L2 and L3, and lines from memory: what the traces give by their definition.
KNOWN = {
    "4mib-sequential": (0, 0, 9_934_464, 65_536),
    "4mib-random": (77_824, 2_420_876, 7_435_764, 65_536),
    "64mib-sequential": (0, 0, 0, 10_000_000),
    "64mib-random": (4_829, 151_485, 3_203_042, 6_640_644),
}
L1, L2, L3 = Level("L1", 64, 8), Level("L2", 1024, 16), Level("L3", 32768, 11)

_THREE, _TWO = "three levels", "two levels (32 KiB, 22 MiB)"
# Simulators by name, and the caches that they model.
SIMULATORS = [
    ("Skipline, file", _THREE),
    ("Skipline, array", _THREE),
    ("Skipline, array, one processor", _THREE),
    ("Skipline, array", _TWO),
    ("pycachesim, batch call", _THREE),
    ("cachegrind", _TWO),
    ("libCacheSim, file", "one set of 22 MiB"),
]


@dataclass(frozen=True)
class Measured:
    """Seconds for one trace, and what was counted."""

    seconds: float
    counts: tuple[int, ...]


Run = Callable[[str], Measured]
Expected = Callable[[str], tuple[int, ...] | None]


@dataclass
class Subject:
    """A simulator, and what its counts on a trace must be; None where it models something else."""

    name: str
    models: str
    run: Run
    expected: Expected
    rates: dict[str, list[float]] = field(default_factory=dict)

    def measure(self, trace: str) -> None:
        """Run once and keep the rate."""
        measured = self.run(trace)
        expected = self.expected(trace)
        if expected is not None and measured.counts != expected:
            sys.exit(f"{self.name} on {trace}: counts {measured.counts}, expected {expected}")
        self.rates.setdefault(trace, []).append(LOADS / measured.seconds / 1e6)


class Bench:
    """The traces, as every simulator takes them, and the simulators that are installed."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.addresses = {name: skipline.standard_trace(name) for name in STANDARD_TRACES}
        for name in STANDARD_TRACES:
            with self.raw64(name).open("wb") as file:
                self.addresses[name].tofile(file)
        self.two_levels = directory / "two-levels.toml"
        self.two_levels.write_text(machine_toml(Machine((L1, L3))))
        self.of_two_levels = cache(self._of_two_levels)

    def raw64(self, trace: str) -> Path:
        """Return the trace as a file."""
        return self.directory / f"{trace}.raw64"

    def subjects(self) -> list[Subject]:
        """List Skipline and the other simulators that are installed."""
        checked: list[tuple[Run, Expected, bool]] = [
            (self.skipline_file, KNOWN.get, True),
            (self.skipline_array, KNOWN.get, True),
            (self.on_one_processor, KNOWN.get, True),
            (self.skipline_two_levels, lambda _: None, True),
            (self.pycachesim, KNOWN.get, _installed("cachesim")),
            (self.cachegrind, self.of_two_levels, valgrind_peer.AVAILABLE),
            (self.libcachesim, self.of_full_associativity, _installed("libcachesim")),
        ]
        return [
            Subject(*simulator, run, expected)
            for simulator, (run, expected, is_here) in zip(SIMULATORS, checked, strict=True)
            if is_here
        ]

    def skipline_file(self, trace: str) -> Measured:
        """Read from a file in the host's page cache."""
        return _skipline(partial(skipline.trace, self.raw64(trace), STANDARD_MACHINE))

    def skipline_array(self, trace: str) -> Measured:
        """Taken from an array of Python."""
        return _skipline(partial(skipline.trace, self.addresses[trace], STANDARD_MACHINE))

    def on_one_processor(self, trace: str) -> Measured:
        """Take an array while the host has one processor for it, as all others here."""
        all_of_them = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(all_of_them)})
        try:
            return self.skipline_array(trace)
        finally:
            os.sched_setaffinity(0, all_of_them)

    def skipline_two_levels(self, trace: str) -> Measured:
        """Take the caches that cachegrind models; a third level is behind them."""
        machine = str(self.two_levels)
        return _skipline(partial(skipline.trace, self.addresses[trace], machine))

    def pycachesim(self, trace: str) -> Measured:
        """Make one call for the whole trace, of numbers that Python has already."""
        from cachesim import Cache, CacheSimulator, MainMemory

        memory = MainMemory()
        caches: list[Cache] = []
        for level in (L3, L2, L1):
            below = {"load_from": caches[0], "store_to": caches[0]} if caches else {}
            cache = Cache(level.name, level.sets, level.ways, LINE_BYTES, "LRU", **below)
            caches.insert(0, cache)
        memory.load_to(caches[-1])
        memory.store_from(caches[-1])
        CacheSimulator(caches[0], memory)
        numbers = self.addresses[trace].tolist()
        started = perf_counter()
        caches[0].backend.iterload(numbers, 1)
        seconds = perf_counter() - started
        hits = tuple(cache.backend.HIT_count for cache in caches)
        return Measured(seconds, (*hits, caches[-1].backend.MISS_count))

    def cachegrind(self, trace: str) -> Measured:
        """Watch a program that loads what the trace says; its time without loads is taken off."""
        idle = self._under_cachegrind(trace, loads=0)
        busy = self._under_cachegrind(trace, loads=LOADS)
        return Measured(busy.seconds - idle.seconds, busy.counts)

    def _under_cachegrind(self, trace: str, loads: int) -> Measured:
        program = self._compiled(trace, loads)
        started = perf_counter()
        events = program.cachegrind(Level("I1", 64, 8), Level("D1", 64, 8), Level("LL", 32768, 11))
        seconds = perf_counter() - started
        return Measured(seconds, (events["Dr"], events["D1mr"], events["DLmr"]))

    def _compiled(self, trace: str, loads: int) -> valgrind_peer.Program:
        path = self.directory / f"{trace}-{loads}"
        size, order = trace.split("-")
        window = int(size.removesuffix("mib")) * MIB
        macros = {"WINDOW_BYTES": window, "LOADS": f"{loads}UL", "RANDOM": int(order == "random")}
        if not path.exists():
            source = ROOT / "benches" / "programs" / "standard_trace.c"
            defined = [f"-D{name}={value}" for name, value in macros.items()]
            include = f"-I{valgrind_peer.PROGRAMS}"
            command = [*valgrind_peer.COMPILER, *defined, include, "-o", str(path), str(source)]
            subprocess.run(command, check=True)
        return valgrind_peer.Program((str(path),), self.directory)

    def _of_two_levels(self, trace: str) -> tuple[int, ...]:
        """Tell what cachegrind must count: Skipline's misses with the same caches."""
        result = skipline.trace(self.addresses[trace], str(self.two_levels))
        # The program reads its random state once.
        others = self._under_cachegrind(trace, loads=0).counts
        counted = (LOADS, result.levels[0].misses, result.levels[1].misses)
        return tuple(own + other for own, other in zip(counted, others, strict=True))

    def libcachesim(self, trace: str) -> Measured:
        """Let its own reader and loop do it, in C."""
        from libcachesim import LRU, ReaderInitParam, TraceReader, TraceType

        form = ReaderInitParam(
            binary_fmt_str="<Q", ignore_obj_size=True, ignore_size_zero_req=False
        )
        form.obj_id_field = 1
        reader = TraceReader(str(self.raw64(trace)), TraceType.BIN_TRACE, form)
        cache = LRU(cache_size=L3.bytes // LINE_BYTES, hashpower=20)
        started = perf_counter()
        misses, _ = cache.process_trace(reader)
        return Measured(perf_counter() - started, (round(misses * LOADS),))

    def of_full_associativity(self, trace: str) -> tuple[int, ...] | None:
        """Tell its misses where all lines fit or none comes again in time: sets do not matter."""
        return None if trace == "64mib-random" else KNOWN[trace][3:]


def _installed(package: str) -> bool:
    from importlib.util import find_spec

    return find_spec(package) is not None


def _skipline(run: Callable[[], skipline.TraceResult]) -> Measured:
    started = perf_counter()
    result = run()
    seconds = perf_counter() - started
    hits = tuple(level.hits for level in result.levels)
    return Measured(seconds, (*hits, result.memory_lines_read))


def results(subjects: list[Subject], rounds: int) -> dict[str, Any]:
    """Return million accesses per second: median, and the slowest and fastest round."""
    return {
        "command": "make bench-peers",
        "host": _host(),
        "rounds": rounds,
        "simulators": [
            {
                "name": subject.name,
                "models": subject.models,
                "rates": {trace: _spread(subject.rates[trace]) for trace in STANDARD_TRACES},
            }
            for subject in subjects
        ],
    }


def _spread(rates: list[float]) -> list[float]:
    return [statistics.median(rates), min(rates), max(rates)]


def _host() -> str:
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        for line in facts.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def main() -> None:
    """Measure round by round and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON, too")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="skipline-peers-") as directory:
        subjects = Bench(Path(directory)).subjects()
        for _ in range(arguments.rounds):
            for trace in STANDARD_TRACES:
                for subject in subjects:
                    subject.measure(trace)
    measured = results(subjects, arguments.rounds)
    print(performance.peers(measured))
    if arguments.json:
        arguments.json.write_text(json.dumps(measured), encoding="utf-8")


if __name__ == "__main__":
    main()
