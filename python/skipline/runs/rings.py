"""Receive rings and the DDIO ways that they share: sizes, and where the rings fill the ways.

The same sizes are in the first sentence of a run's answer (`run/answer.rs` of the scenario crate).
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

LINE_BYTES = 64
_MAIN, _TENANTS = "main", "tenant"
# Settings that rings, or ways, are proportional to: between two values both are on a line.
PROPORTIONAL = ("rx_descriptors", "cores", "ports", "ddio_ways")
# More of these hold more.
OF_WAYS = ("ddio_ways",)
# Metrics of each tenant that tell sizes.
METRICS = ("rx_packets", "rx_bytes", "ddio_ways")


class Rings(NamedTuple):
    """Bytes of packets in one turn through all receive rings that share ways, and of the ways."""

    ring_bytes: float
    way_bytes: float

    @property
    def beyond_bytes(self) -> float:
        """By how much the rings exceed the ways; negative if they fit."""
        return self.ring_bytes - self.way_bytes


class _Tenant(NamedTuple):
    """Keys of a tenant and its numbers."""

    keys: Mapping[str, Any]
    numbers: dict[str, float]

    @property
    def socket(self) -> object:
        """The socket of its devices."""
        of_card = self.keys.get("nic_socket")
        return self.keys.get("socket") if of_card is None else of_card

    @property
    def ring_bytes(self) -> float:
        """Bytes of one turn through its receive rings; 0 if it receives no packets."""
        packets = self.numbers.get("rx_packets") or 0.0
        if not packets:
            return 0.0
        rings = self.keys["cores"] * (self.keys.get("ports") or 1)
        mean_bytes = self.numbers["rx_bytes"] / packets
        return float(data_bytes(self.keys["rx_descriptors"] * rings, mean_bytes))


def data_bytes(descriptors: float, packet_bytes: float) -> float:
    """Return the bytes of the lines that packets take, one behind each descriptor."""
    return descriptors * math.ceil(packet_bytes / LINE_BYTES) * LINE_BYTES


def of_run(
    resolved: Mapping[str, Any], numbers: Mapping[str, float], way_bytes: float
) -> Rings | None:
    """Return the rings of a run that share ways with the first tenant that has devices.

    `resolved` are the keys of the run's scenario, `numbers` its METRICS by their names, `way_bytes`
    is the capacity of one way. None without DDIO, and without packets.
    """
    writers = [one for one in _tenants(resolved, numbers) if "ddio_ways" in one.numbers]
    if not writers or not writers[0].numbers["ddio_ways"]:
        return None
    first = writers[0]
    sharing = [
        one for one in writers if one.socket == first.socket and one.numbers["ddio_ways"] > 0
    ]
    rings = math.fsum(one.ring_bytes for one in sharing)
    return Rings(rings, first.numbers["ddio_ways"] * way_bytes) if rings else None


def _tenants(resolved: Mapping[str, Any], numbers: Mapping[str, float]) -> Iterator[_Tenant]:
    for keys in (resolved, *(resolved.get(_TENANTS) or ())):
        name = keys.get("name") or _MAIN
        prefix = "" if name == _MAIN else f"{name}:"
        known = {metric: numbers.get(f"{prefix}{metric}") for metric in METRICS}
        yield _Tenant(keys, {metric: one for metric, one in known.items() if one is not None})


def filled_at(points: Sequence[tuple[float, Rings]]) -> float | None:
    """Return the value of a setting in PROPORTIONAL at which rings fill the ways; None if none."""
    ordered = sorted(points)
    for (before, fewer), (after, more) in itertools.pairwise(ordered):
        low, high = fewer.beyond_bytes, more.beyond_bytes
        if low == 0 or high == 0:
            return before if low == 0 else after
        if low * high < 0:
            return before + (after - before) * low / (low - high)
    return None
