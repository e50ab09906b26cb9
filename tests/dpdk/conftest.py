"""What every test here needs; what the machine lacks is said, and its tests are skipped."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpdk import emulated_parts, pcap_packets
from dpdk.emulated_parts import Part
from dpdk.machine import LacksError, huge_pages, shows_physical_addresses
from dpdk.pcap_packets import FEW_PACKETS, PACKETS, Capture
from dpdk.programs import BUILD


@pytest.fixture(scope="session")
def pages() -> Iterator[None]:
    """Huge pages, and a driver that was built."""
    if not (BUILD / "librte_mempool_skipline.so").exists():
        pytest.skip("the mempool driver is not built: make dpdk")
    if os.geteuid() != 0 or not shows_physical_addresses():
        pytest.skip("physical addresses are hidden from this process: run as root")
    try:
        with huge_pages():
            yield
    except LacksError as lacks:
        pytest.skip(str(lacks))


@pytest.fixture(
    scope="session", params=[FEW_PACKETS, pytest.param(PACKETS, marks=pytest.mark.soak)]
)
def capture(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Capture:
    """Packets with a number and a checksum each, a million of them in a soak."""
    path = tmp_path_factory.mktemp("capture") / "in.pcap"
    return Capture(pcap_packets.write(path, request.param), request.param)


@pytest.fixture(scope="session")
def short_capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first of these packets."""
    return pcap_packets.write(tmp_path_factory.mktemp("short") / "in.pcap", FEW_PACKETS)


@pytest.fixture(scope="session")
def haswell() -> Part:
    return emulated_parts.haswell_8()


@pytest.fixture(scope="session")
def skylake() -> Part:
    return emulated_parts.skylake_18()
