"""Time budgets of a packet on a platform: arithmetic with its facts, nothing is simulated."""

from typing import NamedTuple

from skipline._core import InputError
from skipline.platforms import platform_facts

# IEEE 802.3: the smallest frame with FCS, and preamble and gap around each frame.
SMALLEST_FRAME_BYTES = 64
AROUND_FRAME_BYTES = 8 + 12
LINE_RATES_GBPS = (10, 40, 100, 200)
_BURST_TRANSFERS = 8


class Item(NamedTuple):
    """One time of a budget in ns: its name, and how it is computed."""

    name: str
    value_ns: float
    how: str


def frame_ns(line_rate_gbps: float, frame_bytes: int = SMALLEST_FRAME_BYTES) -> float:
    """Return how long a frame with FCS occupies a wire, preamble and gap included."""
    return (frame_bytes + AROUND_FRAME_BYTES) * 8 / line_rate_gbps


def bare_frame_ns(line_rate_gbps: float, frame_bytes: int = SMALLEST_FRAME_BYTES) -> float:
    """Return how long the bits of a frame with FCS take, without preamble and gap."""
    return frame_bytes * 8 / line_rate_gbps


def memory_access_ns(platform: str) -> float:
    """Return what a load from idle DRAM takes: the way, an activation, a column and a burst."""
    rate = _fact(platform, "dram.mega_transfers_per_s")
    array = _fact(platform, "dram.trcd_ns") + _fact(platform, "dram.tcl_ns")
    return _fact(platform, "dram.path_ns") + array + _BURST_TRANSFERS / rate * 1e3


def items(platform: str | None) -> list[Item]:
    """Return the budgets of a platform that has a NIC; without one those of frames on any wire."""
    frames = [
        Item(f"smallest frame at {rate} Gbit/s", frame_ns(rate), "84 B on the wire")
        for rate in LINE_RATES_GBPS
    ]
    bare = [
        Item(f"the frame alone at {rate} Gbit/s", bare_frame_ns(rate), "64 B")
        for rate in LINE_RATES_GBPS
    ]
    if platform is None:
        return [*frames, *bare]
    return [
        *frames,
        *bare,
        Item("NIC, PCIe forwarding", _fact(platform, "nic.rx_pipeline_ns"), "nic.rx_pipeline_ns"),
        Item("one way over PCIe", _fact(platform, "pcie.propagation_ns"), "pcie.propagation_ns"),
        Item(
            "memory, per access",
            memory_access_ns(platform),
            "dram.path_ns + trcd_ns + tcl_ns + a burst",
        ),
    ]


def _fact(platform: str, key: str) -> float:
    value = platform_facts.number(platform, key)
    if value is None:
        raise InputError(f"{platform}: {key}: missing; a time budget needs it")
    return value
