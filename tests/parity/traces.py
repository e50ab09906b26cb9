"""References for the comparison with other simulators, and the files that hold them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import NamedTuple

LINE_BYTES = 64
FETCH, LOAD, STORE, MODIFY = "I", "L", "S", "M"
_DIN_LABELS = {LOAD: 0, STORE: 1, FETCH: 2}
_KINDS = {str(label): kind for kind, label in _DIN_LABELS.items()}


class Reference(NamedTuple):
    """What an instruction touches at one address; the kind is lackey's letter."""

    kind: str
    address: int
    bytes: int = 1

    @property
    def lines(self) -> range:
        """All lines that it has a byte in."""
        last = self.address + self.bytes - 1
        return range(self.address // LINE_BYTES, last // LINE_BYTES + 1)

    @property
    def writes(self) -> bool:
        """Whether its lines are modified."""
        return self.kind in (STORE, MODIFY)


@dataclass(frozen=True)
class Trace:
    """A file and the name of its format."""

    path: Path
    format: str

    @cached_property
    def references(self) -> list[Reference]:
        """What the file holds."""
        if self.format == "lackey":
            return list(_lackey(self.path))
        if self.format == "din":
            return list(_din(self.path))
        assert self.format == "raw64", self.format
        content = memoryview(self.path.read_bytes()).cast("Q")
        return [Reference(LOAD, address) for address in content]


def write(path: Path, references: Iterable[Reference]) -> Trace:
    """A trace in the format that the suffix of `path` names."""
    trace = Trace(path, path.suffix.removeprefix("."))
    if trace.format == "raw64":
        with path.open("wb") as file:
            for reference in references:
                assert reference.kind == LOAD
                file.write(reference.address.to_bytes(8, "little"))
        return trace
    with path.open("w") as file:
        for kind, address, size in references:
            if trace.format == "din":
                file.write(f"{_DIN_LABELS[kind]} {address:x}\n")
            else:
                assert trace.format == "lackey", trace.format
                file.write(f"{kind if kind == FETCH else ' ' + kind:<2} {address:08x},{size}\n")
    return trace


def data_only(trace: Trace, path: Path) -> Trace:
    """The trace without its instruction fetches."""
    return write(path, (each for each in trace.references if each.kind != FETCH))


def with_loads_for_stores(trace: Trace, path: Path) -> Trace:
    """The trace of a program that touches the same and modifies nothing."""
    references = trace.references
    return write(path, (each._replace(kind=LOAD) if each.writes else each for each in references))


def splitmix64(seed: int = 42) -> Iterator[int]:
    """Random 64-bit numbers (Steele, Lea, Flood, OOPSLA 2014)."""
    mask = 2**64 - 1
    state = seed
    while True:
        state = (state + 0x9E3779B97F4A7C15) & mask
        mixed = state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & mask
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & mask
        yield mixed ^ (mixed >> 31)


def sequential(footprint_bytes: int, references: int) -> Iterator[Reference]:
    """Every line of an array in order, again and again; every third reference stores."""
    addresses = (at * LINE_BYTES % footprint_bytes for at in range(references))
    return _with_stores(addresses, every=3)


def strided(stride_bytes: int, slots: int, references: int) -> Iterator[Reference]:
    """`slots` addresses at a fixed distance, again and again; every fourth reference stores."""
    addresses = (at % slots * stride_bytes for at in range(references))
    return _with_stores(addresses, every=4)


def random(footprint_bytes: int, references: int) -> Iterator[Reference]:
    """Addresses without any order; one in eight stores."""
    for number in islice(splitmix64(), references):
        yield Reference(STORE if number >> 61 == 0 else LOAD, number % footprint_bytes)


def skewed(footprint_bytes: int, references: int) -> Iterator[Reference]:
    """Addresses of which some are touched much more often than others; one in four stores."""
    for number in islice(splitmix64(), references):
        address = (number & 0xFFFFFFFF) ** 3 >> 64
        kind = STORE if number >> 62 == 0 else LOAD
        yield Reference(kind, address * footprint_bytes >> 32)


def _with_stores(addresses: Iterable[int], every: int) -> Iterator[Reference]:
    for at, address in enumerate(addresses):
        yield Reference(STORE if at % every == 0 else LOAD, address)


def _lackey(path: Path) -> Iterator[Reference]:
    with path.open() as file:
        for line in file:
            if not line.startswith("=="):
                address, size = line[3:].split(",")
                yield Reference(line[:2].strip(), int(address, 16), int(size))


def _din(path: Path) -> Iterator[Reference]:
    with path.open() as file:
        for line in file:
            label, address = line.split()
            yield Reference(_KINDS[label], int(address, 16))
