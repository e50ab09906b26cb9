"""Do all packets come through whole, and are their header lines where they should be?"""

import socket
from collections import Counter
from pathlib import Path

import pytest

from dpdk import emulated_parts, pcap_packets
from dpdk.emulated_parts import Part
from dpdk.machine import cpu_of
from dpdk.pcap_packets import FEW_PACKETS, Capture, judge
from dpdk.programs import (
    SLICE_POOL,
    STANDARD_POOL,
    Eal,
    Forwarded,
    finish,
    read_placements,
    start_forwarder,
)

pytestmark = pytest.mark.usefixtures("pages")

WHOLE = {"lost": 0, "doubled": 0, "disordered": 0, "damaged": 0}
UNTIL_IDLE = ("--idle-seconds", "3")


def aware(tmp_path: Path, part: Part, **settings: str) -> dict[str, str]:
    table = part.write_table(tmp_path / "table.toml")
    named = {f"SKIPLINE_SLICE_{name.upper()}": value for name, value in settings.items()}
    return {"SKIPLINE_SLICE_TABLE": str(table), **named}


def pcap(ins: list[Path], outs: list[Path]) -> str:
    queues = [f"rx_pcap={path}" for path in ins] + [f"tx_pcap={path}" for path in outs]
    return ",".join(["net_pcap0", *queues])


@pytest.mark.parametrize("mode", ["pa", "va"])
def test_packets_come_through_whole_out_of_the_wanted_slice(
    tmp_path: Path, capture: Capture, haswell: Part, mode: str
) -> None:
    out, placements = tmp_path / "out.pcap", tmp_path / "placements.csv"
    eal = Eal([pcap([capture.path], [out])], aware(tmp_path, haswell, slices="1=5"))
    eal.more.append(f"--iova-mode={mode}")
    forwarder = start_forwarder(eal, SLICE_POOL, placements, "--packets", str(capture.packets))
    assert finish(forwarder) == Forwarded(capture.packets, capture.packets)
    assert judge([out], capture.packets) == WHOLE
    assert read_placements(placements, haswell.slice_of) == {1: {5: capture.packets}}


def test_the_standard_pool_spreads_them_over_all_slices(
    tmp_path: Path, short_capture: Path, haswell: Part
) -> None:
    out, placements = tmp_path / "out.pcap", tmp_path / "placements.csv"
    eal = Eal([pcap([short_capture], [out])], aware(tmp_path, haswell, slices="1=5"))
    finish(start_forwarder(eal, STANDARD_POOL, placements, "--packets", str(FEW_PACKETS)))
    assert judge([out], FEW_PACKETS) == WHOLE
    of_slices = read_placements(placements, haswell.slice_of)[1]
    assert len(of_slices) >= 6
    assert max(of_slices.values()) < FEW_PACKETS / 2


@pytest.mark.parametrize("line", [0, 1, 3])
def test_any_header_line_lies_in_the_nearest_slice_by_measured_latencies(
    tmp_path: Path, short_capture: Path, skylake: Part, line: int
) -> None:
    if cpu_of(worker=1) >= len(emulated_parts.GOLD_6134_CYCLES):
        pytest.skip("the first CPU of this process has no published latencies")
    out, placements = tmp_path / "out.pcap", tmp_path / "placements.csv"
    latencies = emulated_parts.write_gold_6134_latencies(tmp_path / "latencies.toml")
    settings = aware(tmp_path, skylake, latencies=str(latencies), line=str(line))
    eal = Eal([pcap([short_capture], [out])], settings)
    options = ("--packets", str(FEW_PACKETS), "--line", str(line))
    finish(start_forwarder(eal, SLICE_POOL, placements, *options))
    cycles = emulated_parts.GOLD_6134_CYCLES[cpu_of(worker=1)]
    nearest = cycles.index(min(cycles))
    assert read_placements(placements, skylake.slice_of) == {1: {nearest: FEW_PACKETS}}


@pytest.mark.parametrize(
    ("pools", "chosen"),
    [
        ((), {}),
        ((), {"placing": "packets"}),
        (("--pool-per-queue",), {"pollers": "pool_0_0=1;pool_0_1=2"}),
    ],
)
def test_cores_with_a_queue_each_have_header_lines_in_their_own_slices(
    tmp_path: Path, haswell: Part, pools: tuple[str, ...], chosen: dict[str, str]
) -> None:
    each = 100_000
    ins = [pcap_packets.write(tmp_path / f"in{q}.pcap", each, q * each) for q in range(2)]
    outs = [tmp_path / f"out{q}.pcap" for q in range(2)]
    settings = aware(tmp_path, haswell, slices="1=5;2=0,2", **chosen)
    placements = tmp_path / "placements.csv"
    forwarder = start_forwarder(
        Eal([pcap(ins, outs)], settings, workers=2), SLICE_POOL, placements, *UNTIL_IDLE, *pools
    )
    assert finish(forwarder) == Forwarded(2 * each, 2 * each)
    assert judge(outs, 2 * each) == WHOLE
    of_cores = read_placements(placements, haswell.slice_of)
    assert of_cores[1] == {5: each}
    assert set(of_cores[2]) == {0, 2}
    assert of_cores[2].total() == each


def exchange(interface: str, packets: int) -> Counter[str]:
    """Send packets to a kernel interface and judge what comes back, a few at a time."""
    seen: Counter[str] = Counter()
    numbers: set[int] = set()
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as wire:
        wire.bind((interface, 3))
        wire.settimeout(10)
        sent = 0
        while len(numbers) < packets:
            while sent < packets and sent - len(numbers) < 128:
                wire.send(pcap_packets.frame(sent))
                sent += 1
            data, address = wire.recvfrom(2048)
            # The kernel has packets of its own on a new interface.
            if address[2] == socket.PACKET_OUTGOING or data[6:12] != pcap_packets.THERE:
                continue
            number = int.from_bytes(data[42:50])
            expected = pcap_packets.frame(number)
            swapped = expected[6:12] + expected[:6] + expected[12:]
            seen["whole" if data == swapped else "damaged"] += 1
            numbers.add(number)
    return seen


def test_packets_of_a_tap_come_through(tmp_path: Path, haswell: Part) -> None:
    if not Path("/dev/net/tun").exists():
        pytest.skip("the kernel has no /dev/net/tun")
    packets, interface, placements = 5_000, "skipline0", tmp_path / "placements.csv"
    eal = Eal([f"net_tap0,iface={interface}"], aware(tmp_path, haswell, slices="1=6"))
    forwarder = start_forwarder(eal, SLICE_POOL, placements, *UNTIL_IDLE)
    assert exchange(interface, packets) == {"whole": packets}
    finish(forwarder)
    (of_slices,) = read_placements(placements, haswell.slice_of).values()
    assert set(of_slices) == {6}
    assert of_slices[6] >= packets
