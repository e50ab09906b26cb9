"""Reference model of caches on a trace: independent levels with LRU or FIFO sets.

The referee between Skipline and the simulators by others: each of them is compared with it, so
that a difference tells who is wrong.

Rules. A miss fetches the line from the level below, which may miss as well; then the line enters,
and the least recently used or oldest of its set leaves if the set is full. A modified line that
leaves is written to the level below, after the fetch from there: if it is there, it becomes
modified, neither counted as a hit nor touched for LRU; if not, it is fetched (and counted) like
any miss and then is modified. A clean line vanishes. No level follows what another one does.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from parity.traces import FETCH, STORE, Reference, Trace

LRU, FIFO = "lru", "fifo"


@dataclass(frozen=True)
class Level:
    """Shape of a cache with lines of 64 bytes."""

    name: str
    sets: int
    ways: int

    @property
    def bytes(self) -> int:
        """Its capacity."""
        return self.sets * self.ways * 64


@dataclass(frozen=True)
class Machine:
    """Caches from the core to memory; instructions have a first level of their own or none."""

    levels: tuple[Level, ...]
    replacement: str = LRU
    instructions: Level | None = None


@dataclass(frozen=True)
class Counts:
    """What a level did: look-ups of lines, and modified lines that it wrote to the level below."""

    hits: int
    misses: int
    writebacks: int


class Cache:
    """One level. A set maps lines to whether they are modified, the next victim first."""

    def __init__(self, shape: Level, replacement: str = LRU, below: "Cache | None" = None) -> None:
        self.shape = shape
        self.sets: list[dict[int, bool]] = [{} for _ in range(shape.sets)]
        self.is_lru = replacement == LRU
        self.below = below
        self.hits = self.misses = self.writebacks = 0

    @property
    def counts(self) -> Counts:
        """So far."""
        return Counts(self.hits, self.misses, self.writebacks)

    def look_up(self, line: int) -> bool:
        """Whether the line was there; it is there afterwards."""
        lines = self.sets[line % self.shape.sets]
        if line in lines:
            self.hits += 1
            if self.is_lru:
                lines[line] = lines.pop(line)
            return True
        self.misses += 1
        if self.below:
            self.below.look_up(line)
        lines[line] = False
        if len(lines) > self.shape.ways:
            victim = next(iter(lines))
            if lines.pop(victim):
                self.writebacks += 1
                if self.below:
                    self.below.write_back(victim)
        return False

    def modify(self, line: int) -> None:
        """The line, which is there, differs from memory."""
        self.sets[line % self.shape.sets][line] = True

    def write_back(self, line: int) -> None:
        """Take a modified line from the level above."""
        if line not in self.sets[line % self.shape.sets]:
            self.look_up(line)
        self.modify(line)


def levels_of(trace: Trace, machine: Machine) -> dict[str, Counts]:
    """What each level counts, line by line: a reference to two lines is two look-ups."""
    caches: list[Cache] = []
    for level in reversed(machine.levels):
        below = caches[0] if caches else None
        caches.insert(0, Cache(level, machine.replacement, below))
    first = {FETCH: caches[0]}
    if machine.instructions:
        first[FETCH] = Cache(machine.instructions, machine.replacement, caches[1])
        caches.insert(0, first[FETCH])
    data = caches[1] if machine.instructions else caches[0]
    for reference in trace.references:
        cache = first.get(reference.kind, data)
        for line in reference.lines:
            cache.look_up(line)
            if reference.writes:
                cache.modify(line)
    return {cache.shape.name: cache.counts for cache in caches}


def cachegrind_of(
    references: Iterable[Reference], i1: Level, d1: Level, ll: Level
) -> dict[str, int]:
    """The events of cachegrind, by its rules for references that straddle lines.

    Such a reference counts one miss if any of its lines misses; if it misses in the first level,
    the last one sees all of its lines, those that hit included. Modifications count as reads.
    """
    first = {True: Cache(i1), False: Cache(d1)}
    last = Cache(ll)
    names = ("Ir", "I1mr", "ILmr", "Dr", "D1mr", "DLmr", "Dw", "D1mw", "DLmw")
    events = dict.fromkeys(names, 0)
    for reference in references:
        side = "I" if reference.kind == FETCH else "D"
        direction = "w" if reference.kind == STORE else "r"
        events[f"{side}{direction}"] += 1
        if not _all_hit(first[side == "I"], reference.lines):
            events[f"{side}1m{direction}"] += 1
            events[f"{side}Lm{direction}"] += not _all_hit(last, reference.lines)
    return events


def _all_hit(cache: Cache, lines: range) -> bool:
    return sum(cache.look_up(line) for line in lines) == len(lines)
