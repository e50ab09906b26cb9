"""Is what Perfetto shows what the run did, and does it cost the result nothing?"""

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import pytest

from command_line import L2FWD, SHORT, Skipline
from flow import timeline
from flow.capture import Packet, write_pcap
from flow.test_bad_input import assert_refused
from flow.test_run import without_wall_clock
from flow.timeline import Slice, Timeline

FILE = "trace.pftrace"
FIRST, PACKETS = 2000, 50


@dataclass
class Window:
    """A window of a short run, and the run's result."""

    shown: Timeline
    file: Path
    result: str


@pytest.fixture(name="window", scope="module")
def _window(tmp_path_factory: pytest.TempPathFactory) -> Window:
    directory = tmp_path_factory.mktemp("timeline")
    options = ("--perfetto", FILE, "--perfetto-from", str(FIRST), "--perfetto-packets", "50")
    done = Skipline(directory)(
        "run", L2FWD, *SHORT, "--trace-packet", str(FIRST + 7), "--format", "json", *options
    )
    assert done.code == 0, done.err
    assert "line operations; open it at ui.perfetto.dev" in done.err
    file = directory / FILE
    return Window(timeline.read(file), file, done.out)


def operations(shown: Timeline) -> Counter[tuple[str, str, str]]:
    """Operations by agent, name and where they found the line."""
    return Counter(
        (it.agent, it.name, str(it.notes["found"]).partition(", way")[0])
        for it in shown.of("operation")
    )


def test_a_packets_operations_are_those_of_its_trace(window: Window) -> None:
    traced = json.loads(window.result)["trace"]
    told = Counter(
        (event["agent"], event["operation"], event["line"], event["found"]) for event in traced
    )
    shown = Counter(
        (it.agent, it.name, it.notes["line"], it.notes["found"])
        for it in window.shown.of("operation")
        if it.notes.get("packet") == FIRST + 7
    )
    assert shown == told
    assert len({agent for agent, *_ in told}) == 2


def test_every_packet_of_the_window_is_received_and_sent_once(window: Window) -> None:
    names = Counter(it.name for it in window.shown.of("packet"))
    numbers = range(FIRST, FIRST + PACKETS)
    expected = [f"{what} packet {number}" for what in ("receive", "send") for number in numbers]
    assert names == Counter(expected)


def test_flows_begin_and_end_at_slices_and_follow_lines_and_packets(window: Window) -> None:
    flows: dict[int, list[Slice]] = defaultdict(list)
    for it in window.shown.slices:
        for flow in it.flows:
            flows[flow].append(it)
    assert len(flows) > PACKETS
    for flow, passed in flows.items():
        assert len(passed) > 1, "a flow has a beginning and an end"
        assert [flow in it.last_of for it in passed] == [False] * (len(passed) - 1) + [True]
        assert [it.start for it in passed] == sorted(it.start for it in passed)
        addresses = {
            it.notes["address"] for it in passed if it.category not in ("packet", "lookup")
        }
        names = {it.name for it in passed if it.category == "packet"}
        # A line's flow has one address; a packet's begins and ends at the card.
        assert len(addresses) == 1 or len(names) == 2, addresses
    of_packets = [passed for passed in flows.values() if passed[0].category == "packet"]
    assert len(of_packets) == PACKETS
    for passed in of_packets:
        assert {it.agent for it in passed if it.category == "operation"} == {"core0", "nic0"}


def test_every_look_up_is_that_of_an_operation(window: Window) -> None:
    beyond_l2 = Counter(
        (it.agent, it.name, it.notes["found"], it.start, it.end)
        for it in window.shown.of("operation")
        if it.notes["found"] not in ("L1D", "L2", "root complex buffer")
    )
    looked_up = Counter(
        (it.notes["agent"], it.name, it.notes["found"], it.start, it.end)
        for it in window.shown.of("lookup")
    )
    assert looked_up == beyond_l2
    slices = {it.path[-1] for it in window.shown.of("lookup")}
    assert slices == {f"slice {number}" for number in range(18)}


def test_bandwidth_adds_up_to_the_bytes_of_links_and_memory(window: Window) -> None:
    moved: Counter[tuple[str, str]] = Counter()
    for it in (*window.shown.of("link"), *window.shown.of("memory")):
        moved[it.path[1], it.path[2]] += int(it.notes["bytes"])
    counted = {
        path[-1]: sum(value for _, value in values) * (125 if "link" in path[-1] else 1000)
        for path, values in window.shown.counters.items()
        if path[1] == "bandwidth"
    }
    assert counted == {f"{place}, {way}": pytest.approx(n) for (place, way), n in moved.items()}
    assert {"link of nic0, towards memory", "memory of node 0, writes"} <= counted.keys()


def test_ways_and_rings_stay_within_the_machine(window: Window) -> None:
    values = window.shown.counters
    ways = {path[-1]: series for path, series in values.items() if path[1] == "LLC ways by owner"}
    assert set(ways) == {"core0", "nic0"}
    totals = [sum(value for _, value in at) for at in zip(*ways.values(), strict=True)]
    assert all(0 < total <= 11 for total in totals)
    posted = next(
        s for path, s in values.items() if path[1:] == ("rings of nic0", "buffers posted")
    )
    assert len(posted) > PACKETS / 4
    assert all(0 <= value <= 4096 for _, value in posted)


def test_the_result_is_the_same_with_and_without(window: Window, skipline: Skipline) -> None:
    plain = skipline("run", L2FWD, *SHORT, "--trace-packet", str(FIRST + 7), "--format", "json")
    assert without_wall_clock(plain.out) == without_wall_clock(window.result)


def test_an_operation_takes_fewer_than_forty_bytes(window: Window) -> None:
    assert window.file.stat().st_size < 40 * len(window.shown.of("operation"))


def test_a_whole_run_has_as_many_operations_as_its_metrics(
    skipline: Skipline, tmp_path: Path
) -> None:
    frame = bytes(12) + b"\x08\x00" + bytes(300)
    write_pcap(tmp_path / "c.pcap", [Packet(1000 * number, frame) for number in range(40)])
    replay = ("--set", "traffic.pcap=c.pcap", "--set", "traffic.loops=50")
    window = ("--perfetto", FILE, "--perfetto-packets", "100000", "--explain")
    done = skipline("run", L2FWD, *replay, *window, "--format", "json")
    assert done.code == 0, done.err
    result, shown = done.json, timeline.read(tmp_path / FILE)
    found = operations(shown)
    metrics = result["metrics"]
    for metric, name in (("write", "DMA write (ItoM)"), ("read", "DMA read (PCIRdCur)")):
        own = {key: n for key, n in found.items() if key[:2] == ("nic0", name)}
        misses = sum(n for key, n in own.items() if key[2] in ("LLC allocated", "DRAM"))
        assert metrics[f"pcie_{metric}_misses"]["value"] == misses
        assert metrics[f"pcie_{metric}_hits"]["value"] == sum(own.values()) - misses
    memory = Counter(it.name for it in shown.of("memory"))
    for way in ("read", "write"):
        rate = metrics[f"dram_{way}_gbytes_per_s"]["value"]
        assert 64 * memory[way] / result["simulated_ns"] == pytest.approx(rate, rel=1e-9)
    kinds = result["miss_kinds"]["core0"]
    # Hits that a fully associative cache would miss are among the hits.
    del kinds["anti_conflict_hits"]
    beyond_l2 = sum(
        n
        for (agent, name, at), n in found.items()
        if agent == "core0" and name in ("load", "store", "prefetch") and at not in ("L1D", "L2")
    )
    assert sum(kinds.values()) == beyond_l2


def test_a_descriptors_life_is_shown_phase_by_phase(skipline: Skipline, tmp_path: Path) -> None:
    command = ("run", "examples/previous-copy-engine.toml", *SHORT, "--trace-descriptor", "500")
    done = skipline(*command, "--perfetto", FILE, "--format", "json")
    story, shown = done.json["descriptor_trace"], timeline.read(tmp_path / FILE)
    phases = {it.name: it.end for it in shown.of("descriptor")}
    assert phases == {it["phase"]: int(it["until_ns"]) for it in story["phases"]}
    of_lines = Counter(
        (it.agent, it.name, it.notes["part"]) for it in shown.of("operation") if "part" in it.notes
    )
    told = Counter((it["agent"], it["operation"], it["part"]) for it in story["events"])
    assert of_lines == told


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--perfetto-from", "3"), "--perfetto-from 3: this is the window of --perfetto FILE"),
        (("--perfetto-packets", "3"), "--perfetto-packets 3: this is the window of --perfetto"),
        (("--perfetto", FILE, "--perfetto-from", "99999999"), "packet 99999999 never came"),
        (("--perfetto", "."), "this is a directory; name a file"),
    ],
)
def test_a_window_that_cannot_be_shown_is_refused(
    skipline: Skipline, tmp_path: Path, options: tuple[str, ...], reason: str
) -> None:
    assert_refused(skipline("run", L2FWD, *SHORT, *options), reason)
    assert not (tmp_path / FILE).exists()


def test_a_window_has_a_packet_and_no_more_than_memory_holds(skipline: Skipline) -> None:
    for packets in ("0", "100001"):
        options = ("--perfetto", FILE, "--perfetto-packets", packets)
        done = skipline("run", L2FWD, *SHORT, *options)
        assert (done.code, done.out) == (2, "")
        assert f"{packets} is not in the range 1<=x<=100000" in done.err
