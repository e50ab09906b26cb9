"""Does an unmodified application get its header lines into the wanted slice?"""

import shutil
from collections import Counter
from pathlib import Path

import pytest

from dpdk import pcap_packets
from dpdk.emulated_parts import Part
from dpdk.pcap_packets import FEW_PACKETS, Capture
from dpdk.programs import (
    SLICE_POOL,
    STANDARD_POOL,
    Eal,
    Forwarded,
    finish,
    read_placements,
    run_testpmd,
    start_forwarder,
)
from dpdk.test_forwarding import UNTIL_IDLE, WHOLE, aware, pcap

pytestmark = [
    pytest.mark.usefixtures("pages"),
    pytest.mark.skipif(
        shutil.which("dpdk-testpmd") is None, reason="dpdk-testpmd is missing: package dpdk-dev"
    ),
]


def forward_by_testpmd(
    tmp_path: Path, haswell: Part, pool: str, capture: Path, packets: int
) -> tuple[Counter[int], object]:
    """Header lines by slice, and what the pool says of itself."""
    out, placements = tmp_path / "out.pcap", tmp_path / "placements.csv"
    eal = Eal([pcap([capture], [out])], aware(tmp_path, haswell, slices="1=3"))
    with run_testpmd(eal, pool, "--forward-mode=macswap") as application:
        application.wait_for_ports(1)
        application.ask("/skipline/watch,0")
        application.tell("start")
        application.wait_for_packets(0, packets)
        application.ask(f"/skipline/placements,{placements}")
        said = application.ask("/skipline/pool,mb_pool_0")["/skipline/pool"]
    assert pcap_packets.judge([out], packets) == WHOLE
    return read_placements(placements, haswell.slice_of)[1], said


def test_testpmd_gets_placement_by_the_name_of_its_pool(
    tmp_path: Path, capture: Capture, haswell: Part
) -> None:
    of_slices, said = forward_by_testpmd(tmp_path, haswell, SLICE_POOL, *capture)
    assert of_slices == {3: capture.packets}
    assert isinstance(said, dict)
    assert (said["slices_of"], said["unplaced"]) == ({"lcore_1": [3]}, 0)


def test_without_it_testpmd_has_header_lines_in_all_slices(
    tmp_path: Path, short_capture: Path, haswell: Part
) -> None:
    standard = (STANDARD_POOL, short_capture, FEW_PACKETS)
    of_slices, said = forward_by_testpmd(tmp_path, haswell, *standard)
    assert of_slices.total() == FEW_PACKETS
    assert len(of_slices) >= 6
    assert said is None


@pytest.mark.parametrize("memory", ["xbuf", "xmem", "xmemhuge"])
def test_testpmd_runs_in_memory_that_it_brings(
    tmp_path: Path, short_capture: Path, haswell: Part, memory: str
) -> None:
    out = tmp_path / "out.pcap"
    eal = Eal([pcap([short_capture], [out])], aware(tmp_path, haswell, slices="1=3"))
    allocation = f"--mp-alloc={memory}"
    with run_testpmd(eal, SLICE_POOL, "--forward-mode=macswap", allocation) as application:
        application.wait_for_ports(1)
        application.tell("start")
        application.wait_for_packets(0, FEW_PACKETS)
        said = application.ask("/skipline/pool,mb_pool_0")["/skipline/pool"]
    assert pcap_packets.judge([out], FEW_PACKETS) == WHOLE
    assert isinstance(said, dict)
    # Only xmemhuge brings huge pages, in which lines can be placed.
    assert said["unplaced"] == (0 if memory == "xmemhuge" else said["objects"])


def test_virtio_user_and_vhost_both_receive_into_the_wanted_slices(
    tmp_path: Path, haswell: Part
) -> None:
    packets = 20_000
    capture = pcap_packets.write(tmp_path / "in.pcap", packets)
    out, wire = tmp_path / "out.pcap", tmp_path / "vhost.sock"
    ends = {name: tmp_path / f"{name}.csv" for name in ("vhost", "virtio")}
    settings = aware(tmp_path, haswell, slices="1=3;2=5", pollers="mb_*=1,2;pool_*=1")
    generator = Eal([pcap([capture], [out]), f"net_vhost0,iface={wire}"], settings, workers=2)
    guest = Eal([f"net_virtio_user0,path={wire}"], settings, more=["--single-file-segments"])
    with run_testpmd(generator, SLICE_POOL, "--nb-cores=2", "--forward-mode=io") as application:
        application.wait_for_ports(2)
        application.ask("/skipline/watch,0")
        forwarder = start_forwarder(guest, SLICE_POOL, ends["virtio"], *UNTIL_IDLE)
        application.tell("set fwd io retry", "set burst tx delay 1 retry 100000000", "start")
        assert finish(forwarder) == Forwarded(packets, packets)
        application.wait_for_packets(0, packets)
        application.ask(f"/skipline/placements,{ends['vhost']}")
    assert pcap_packets.judge([out], packets) == WHOLE
    assert read_placements(ends["virtio"], haswell.slice_of) == {1: {3: packets}}
    # What the generator reads, and what its vhost port takes out of the guest.
    of_cores = read_placements(ends["vhost"], haswell.slice_of)
    assert of_cores == {1: {3: packets}, 2: {5: packets}}


RING_DESCRIPTORS = 256


@pytest.mark.parametrize("pools", [(), ("--pool-per-queue",)])
def test_rings_that_main_fills_hold_objects_of_other_cores_once_unless_pools_are_per_queue(
    tmp_path: Path, haswell: Part, pools: tuple[str, ...]
) -> None:
    each = 10_000
    ins = [pcap_packets.write(tmp_path / f"in{q}.pcap", each, q * each) for q in range(2)]
    outs = [tmp_path / f"out{q}.pcap" for q in range(2)]
    wire, placements = tmp_path / "vhost.sock", tmp_path / "placements.csv"
    pollers = {"pollers": "pool_0_0=1;pool_0_1=2"} if pools else {}
    settings = aware(tmp_path, haswell, slices="1=3;2=5", **pollers)
    generator = Eal([pcap(ins, outs), f"net_vhost0,iface={wire},queues=2"], {}, workers=2)
    guest = Eal([f"net_virtio_user0,path={wire},queues=2"], settings, 2, ["--single-file-segments"])
    queues = ("--nb-cores=2", "--rxq=2", "--txq=2", "--forward-mode=io")
    with run_testpmd(generator, STANDARD_POOL, *queues) as application:
        application.wait_for_ports(2)
        forwarder = start_forwarder(guest, SLICE_POOL, placements, *UNTIL_IDLE, *pools)
        application.tell("set fwd io retry", "set burst tx delay 1 retry 100000000", "start")
        assert finish(forwarder) == Forwarded(2 * each, 2 * each)
        application.wait_for_packets(0, 2 * each)
    assert pcap_packets.judge(outs, 2 * each) == WHOLE
    of_cores = read_placements(placements, haswell.slice_of)
    if pools:
        assert of_cores == {1: {3: each}, 2: {5: each}}
        return
    # Main cannot know which core polls a ring, and takes from both alike; all others are in the
    # wanted slice.
    for core, own, other in ((1, 3, 5), (2, 5, 3)):
        assert set(of_cores[core]) == {own, other}
        assert 0 < of_cores[core][other] <= RING_DESCRIPTORS
