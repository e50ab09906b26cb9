"""The simulator libCacheSim (CMU): replacement in caches that are one set."""

from collections.abc import Iterable
from importlib.util import find_spec

INSTALLED = find_spec("libcachesim") is not None
# Of its hash table; the default takes 128 MiB.
TABLE_BITS = 16


def fully_associative_misses(lines: Iterable[int], capacity_lines: int) -> int:
    """Misses of LRU over all lines of a cache: those that no placement could avoid under LRU.

    What a cache of the same capacity misses beyond it are its conflict misses (Hill and Smith,
    IEEE ToC 1989).
    """
    from libcachesim import LRU, Request

    cache = LRU(cache_size=capacity_lines, hashpower=TABLE_BITS)
    request = Request()
    request.obj_size = 1
    misses = 0
    for line in lines:
        request.obj_id = line
        misses += not cache.get(request)
    return misses
