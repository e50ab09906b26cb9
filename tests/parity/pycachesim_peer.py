"""The simulator pycachesim (RRZE, Erlangen): a hierarchy of caches in C, driven from Python.

Its stores that hit neither count nor touch a line for LRU, and its stores that miss count a load.
A store is therefore fed as a load and then the store: the line is looked up once, like that of any
other access, and is modified afterwards.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from itertools import islice

from parity.referee import Counts, Machine
from parity.traces import LINE_BYTES, Trace

INSTALLED = find_spec("cachesim") is not None
# References per call: what is alive at the same time.
CHUNK = 1 << 14


def levels_of(trace: Trace, machine: Machine) -> dict[str, Counts]:
    """What it counts per level; of a machine without a level for instructions."""
    from cachesim import Cache, CacheSimulator, MainMemory

    assert machine.instructions is None
    memory = MainMemory()
    caches: list[Cache] = []
    for level in reversed(machine.levels):
        below = {"load_from": caches[0], "store_to": caches[0]} if caches else {}
        policy = machine.replacement.upper()
        caches.insert(0, Cache(level.name, level.sets, level.ways, LINE_BYTES, policy, **below))
    memory.load_to(caches[-1])
    memory.store_from(caches[-1])
    CacheSimulator(caches[0], memory)
    accesses = _accesses(trace)
    while chunk := list(islice(accesses, CHUNK)):
        caches[0].backend.loadstore(chunk)
    return {
        cache.name: Counts(
            cache.backend.HIT_count, cache.backend.MISS_count, cache.backend.EVICT_count
        )
        for cache in caches
    }


def _accesses(trace: Trace) -> Iterator[tuple[tuple[int], tuple[int] | None]]:
    """Of each line its load, and its store if there is one."""
    for reference in trace.references:
        for line in reference.lines:
            address = (line * LINE_BYTES,)
            yield address, address if reference.writes else None
