"""What full associativity would miss is what libCacheSim misses; the rest are conflicts."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from parity import libcachesim_peer, traces, valgrind_peer
from parity.referee import Level, Machine
from parity.subjects import SUBJECTS, Subject
from parity.traces import LINE_BYTES, Reference
from parity.valgrind_peer import Traced

pytestmark = pytest.mark.skipif(
    not libcachesim_peer.INSTALLED, reason="needs the Python package libcachesim"
)

KIB = 1 << 10
# 32 KiB in 64 sets, as the first level of most servers.
L1 = Level("L1", 64, 8)
CAPACITY_LINES = L1.bytes // LINE_BYTES
REFERENCES = 60_000
TRACES: dict[str, Callable[[], Iterator[Reference]]] = {
    "sequential": lambda: traces.sequential(48 * KIB, REFERENCES),
    "strided": lambda: traces.strided(4 * KIB, 100, REFERENCES),
    "random": lambda: traces.random(48 * KIB, REFERENCES),
    "skewed": lambda: traces.skewed(256 * KIB, REFERENCES),
}


def misses_of(subject: Subject, level: Level, directory: Path, name: str) -> int:
    trace = traces.write(directory / f"{name}.din", TRACES[name]())
    return subject(trace, Machine((level,)))[level.name].misses


def bound(name: str, capacity_lines: int) -> int:
    lines = (line for reference in TRACES[name]() for line in reference.lines)
    return libcachesim_peer.fully_associative_misses(lines, capacity_lines)


@pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)
@pytest.mark.parametrize("ways", [2, 16, 32])
@pytest.mark.parametrize("name", TRACES)
def test_a_cache_of_one_set_misses_as_often(
    tmp_path: Path, name: str, ways: int, subject: Subject
) -> None:
    assert misses_of(subject, Level("L1", 1, ways), tmp_path, name) == bound(name, ways)


@pytest.mark.skipif(not valgrind_peer.AVAILABLE, reason=valgrind_peer.NEEDS)
@pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)
@pytest.mark.parametrize("name", ["interpreter", "sort"])
def test_the_data_of_a_real_program_in_a_cache_of_one_set(
    traced: Callable[[str], Traced], name: str, subject: Subject
) -> None:
    data = traced(name).data
    misses = subject(data, Machine((Level("L1", 1, 16),)))["L1"].misses
    lines = (line for reference in data.references for line in reference.lines)
    assert misses == libcachesim_peer.fully_associative_misses(lines, 16)


@pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)
def test_a_trace_that_meets_one_set_has_nothing_but_conflicts(
    tmp_path: Path, subject: Subject
) -> None:
    """100 lines fit 512 lines, but not the 8 ways of the set that all of them share."""
    assert bound("strided", CAPACITY_LINES) == 100
    assert misses_of(subject, L1, tmp_path, "strided") == REFERENCES


@pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)
def test_a_trace_that_meets_all_sets_alike_has_no_conflicts(
    tmp_path: Path, subject: Subject
) -> None:
    """768 lines in turn: LRU throws each away before it is used again, with any placement."""
    assert bound("sequential", CAPACITY_LINES) == REFERENCES
    assert misses_of(subject, L1, tmp_path, "sequential") == REFERENCES


@pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)
def test_more_ways_come_closer_to_full_associativity(tmp_path: Path, subject: Subject) -> None:
    """At equal capacity, each doubling of the ways takes away more than half of the conflicts."""
    full = bound("skewed", CAPACITY_LINES)
    direct, two, four = (
        misses_of(subject, Level("L1", CAPACITY_LINES // ways, ways), tmp_path, "skewed") - full
        for ways in (1, 2, 4)
    )
    assert 0 < 4 * four < 2 * two < direct
