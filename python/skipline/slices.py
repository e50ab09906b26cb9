"""Slices of the last-level cache: which one a line is in, and the nearest ones of a core.

>>> from skipline.slices import Latencies, SliceMap
>>> table = SliceMap.read("docs/reference/slices/haswell-e5-2667v3.slices.toml")
>>> table.slice_of(0x40)
1
>>> lines = numpy.arange(0, 1 << 21, 64, dtype="uint64")
>>> numpy.bincount(numpy.asarray(table.slices_of(lines)))
array([4096, 4096, 4096, 4096, 4096, 4096, 4096, 4096])
>>> Latencies.modelled("haswell-e5-2667v3").nearest(0)[:2]
[0, 2]

Addresses that a table does not cover raise InputError: there is no guess.
"""

from skipline._core import InputError, Latencies, SliceMap

__all__ = ["InputError", "Latencies", "SliceMap"]
