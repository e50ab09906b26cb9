"""Hits, misses and write-backs of every level are those that pycachesim counts."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from parity import pycachesim_peer, traces, valgrind_peer
from parity.referee import FIFO, LRU, Level, Machine
from parity.subjects import SUBJECTS, Subject
from parity.traces import Reference, Trace
from parity.valgrind_peer import Traced

pytestmark = pytest.mark.skipif(
    not pycachesim_peer.INSTALLED, reason="needs the Python package pycachesim"
)

KIB, MIB = 1 << 10, 1 << 20
SHAPES = {
    "two-levels": (Level("L1", 16, 2), Level("L2", 64, 4)),
    "three-levels": (Level("L1", 8, 2), Level("L2", 16, 4), Level("L3", 32, 11)),
    # Modified lines leave a level for one that has forgotten them.
    "small-below-large": (Level("L1", 16, 4), Level("L2", 8, 4), Level("L3", 4, 4)),
    "direct-mapped": (Level("L1", 16, 1), Level("L2", 128, 1)),
}
STANDARD = (Level("L1", 64, 8), Level("L2", 1024, 16), Level("L3", 32768, 11))
TRACES: dict[str, Callable[[], Iterator[Reference]]] = {
    "sequential-in-L2": lambda: traces.sequential(3 * KIB, 20_000),
    "sequential": lambda: traces.sequential(32 * KIB, 20_000),
    "strided": lambda: traces.strided(1088, 60, 20_000),
    "strided-one-set": lambda: traces.strided(8 * KIB, 12, 20_000),
    "random": lambda: traces.random(32 * KIB, 60_000),
    "skewed": lambda: traces.skewed(64 * KIB, 60_000),
}
PROGRAMS = ["hash_table", "sort"]


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trace]:
    directory = tmp_path_factory.mktemp("generated")
    return {
        name: traces.write(directory / f"{name}.din", references())
        for name, references in TRACES.items()
    }


@pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("name", "replacement"),
    [*((name, LRU) for name in TRACES), ("random", FIFO), ("skewed", FIFO)],
)
def test_generated_traces(
    generated: dict[str, Trace], name: str, shape: str, replacement: str, subject: Subject
) -> None:
    machine = Machine(SHAPES[shape], replacement)
    trace = generated[name]
    assert subject(trace, machine) == pycachesim_peer.levels_of(trace, machine)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["random", "skewed"])
def test_the_traces_work_every_level(generated: dict[str, Trace], name: str, shape: str) -> None:
    for counts in pycachesim_peer.levels_of(generated[name], Machine(SHAPES[shape])).values():
        assert min(counts.hits, counts.misses, counts.writebacks) > 100


@pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)
def test_loads_at_high_addresses(tmp_path: Path, subject: Subject) -> None:
    """Bare addresses, as a program's stack has them."""
    references = (
        Reference(traces.LOAD, 0x7FFC_0000_0000 + each.address)
        for each in traces.random(32 * KIB, 20_000)
    )
    trace = traces.write(tmp_path / "high.raw64", references)
    machine = Machine(SHAPES["three-levels"])
    assert subject(trace, machine) == pycachesim_peer.levels_of(trace, machine)


@pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)
@pytest.mark.parametrize(
    "references",
    [
        lambda: traces.sequential(24 * MIB, 450_000),
        lambda: traces.skewed(64 * MIB, 200_000),
    ],
    ids=["sequential", "skewed"],
)
def test_caches_of_the_size_of_a_server(
    tmp_path: Path, references: Callable[[], Iterator[Reference]], subject: Subject
) -> None:
    trace = traces.write(tmp_path / "large.din", references())
    machine = Machine(STANDARD)
    assert subject(trace, machine) == pycachesim_peer.levels_of(trace, machine)


@pytest.mark.skipif(not valgrind_peer.AVAILABLE, reason=valgrind_peer.NEEDS)
@pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)
@pytest.mark.parametrize("replacement", [LRU, FIFO])
@pytest.mark.parametrize("name", PROGRAMS)
def test_data_of_real_programs(
    traced: Callable[[str], Traced], name: str, replacement: str, subject: Subject
) -> None:
    """Also where a reference straddles two lines, as those of sort do."""
    trace = traced(name).data
    machine = Machine(SHAPES["three-levels"], replacement)
    assert subject(trace, machine) == pycachesim_peer.levels_of(trace, machine)
