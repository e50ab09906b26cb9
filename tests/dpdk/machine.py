"""What DPDK needs of the machine: huge pages that are free, and physical addresses."""

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Two programs of 256 MiB at the same time, one that still gives its pages back, and some.
PAGES = 416
_POOL = Path("/sys/kernel/mm/hugepages/hugepages-2048kB")


class LacksError(Exception):
    """The machine lacks something; the text says what."""


def _pages(name: str) -> int:
    return int((_POOL / name).read_text())


@contextmanager
def huge_pages(needed: int = PAGES) -> Iterator[None]:
    """Have enough free huge pages, and give back what was added.

    The number is not reset afterwards if another program changed it since.
    """
    if not _POOL.exists():
        raise LacksError("the kernel has no huge pages of 2 MiB")
    before = _pages("nr_hugepages")
    missing = needed - _pages("free_hugepages")
    try:
        if missing > 0:
            (_POOL / "nr_hugepages").write_text(str(before + missing))
    except OSError as error:
        raise LacksError(f"huge pages cannot be reserved: {error.strerror}") from error
    reserved = _pages("nr_hugepages")
    try:
        if _pages("free_hugepages") < needed:
            raise LacksError(f"{needed} huge pages of 2 MiB are not available: memory is too full")
        yield
    finally:
        if reserved > before and _pages("nr_hugepages") == reserved:
            (_POOL / "nr_hugepages").write_text(str(before))


def shows_physical_addresses() -> bool:
    """Whether the kernel tells this process where its memory is."""
    here = id(object())  # some address on the heap, which is mapped
    with Path("/proc/self/pagemap").open("rb") as pagemap:
        pagemap.seek(here // os.sysconf("SC_PAGE_SIZE") * 8)
        (entry,) = struct.unpack("<Q", pagemap.read(8))
    return bool(entry % (1 << 55))


def cpu_of(worker: int) -> int:
    """The CPU that a worker runs on, from 1 on; another number than the lcore's where possible."""
    cpus = sorted(os.sched_getaffinity(0))
    return cpus[(worker - 1) % len(cpus)]


def lcores(workers: int) -> str:
    """EAL's --lcores for main, on the last CPU, and for workers."""
    return ",".join(f"{lcore}@{cpu_of(lcore)}" for lcore in range(workers + 1))
