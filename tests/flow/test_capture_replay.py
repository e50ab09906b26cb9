"""Traffic captured between a real client and a real server is replayed through the simulator."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from command_line import L2FWD, Outcome, Skipline
from flow.capture import Packet, echo_over_tcp, echo_over_udp, start_capture, write_pcap

RUN = ["run", L2FWD, "--format", "json"]

# Names in the scenario and in the result.
PCAP_KEY = "traffic.pcap"
LOOPS_KEY = "traffic.loops"
SCALE_KEY = "traffic.scale_to_gbps"
RX_PACKETS = "rx_packets"
RX_BYTES = "rx_bytes"
OFFERED = "offered_gbps"
RX_DROPPED = "rx_dropped"

ASKED_GBPS = 40
# The run ends anywhere within a loop of the capture.
OFFERED_TOLERANCE = 0.02

UDP_CLIENTS = 8
UDP_PAYLOADS = [18, 64, 300, 700, 1400] * 10
TCP_PAYLOADS = [1, 200, 1000] * 20
UDP_HEADERS_BYTES = 14 + 20 + 8


@dataclass(frozen=True)
class Captured:
    """A capture file and what is in it."""

    path: Path
    packets: list[Packet]
    udp_port: int
    tcp_port: int

    def frames_of(self, port: int) -> list[bytes]:
        return [packet.frame for packet in self.packets if port in (packet.ports or ())]


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Captured:
    try:
        capture = start_capture()
    except PermissionError as error:
        pytest.skip(f"capturing on the loopback interface is not permitted: {error}")
    with capture:
        udp_port = echo_over_udp(UDP_CLIENTS, UDP_PAYLOADS)
        tcp_port = echo_over_tcp(TCP_PAYLOADS)
        packets = capture.packets_of({udp_port, tcp_port})
    path = tmp_path_factory.mktemp("capture") / "echo.pcap"
    write_pcap(path, packets)
    return Captured(path, packets, udp_port, tcp_port)


def metrics_of(done: Outcome) -> dict[str, float]:
    assert done.code == 0, done.err
    return {name: metric["value"] for name, metric in done.json["metrics"].items()}


def test_the_capture_holds_every_datagram_once_in_each_direction(captured: Captured) -> None:
    sizes = Counter(len(frame) for frame in captured.frames_of(captured.udp_port))
    expected = Counter(UDP_HEADERS_BYTES + size for size in UDP_PAYLOADS)
    assert sizes == Counter({size: count * 2 * UDP_CLIENTS for size, count in expected.items()})


def test_the_capture_holds_every_byte_of_the_connection(captured: Captured) -> None:
    payload_bytes = 0
    for frame in captured.frames_of(captured.tcp_port):
        ip_bytes = int.from_bytes(frame[16:18], "big")
        tcp_header_bytes = (frame[34 + 12] >> 4) * 4
        payload_bytes += ip_bytes - 20 - tcp_header_bytes
    assert payload_bytes == 2 * sum(TCP_PAYLOADS)


def test_one_loop_of_a_replay_receives_what_was_captured(
    captured: Captured, skipline: Skipline
) -> None:
    done = skipline(*RUN, "--set", f"{PCAP_KEY}={captured.path}", "--set", f"{LOOPS_KEY}=1")
    metrics = metrics_of(done)
    assert metrics[RX_PACKETS] == len(captured.packets)
    assert metrics[RX_BYTES] == sum(packet.frame_bytes for packet in captured.packets)


def test_a_scaled_replay_is_offered_at_the_asked_rate(
    captured: Captured, skipline: Skipline
) -> None:
    """What arrives has the asked mean rate; bursts of the capture may be more than a core takes."""
    loops = 20
    done = skipline(
        *RUN,
        *("--set", f"{PCAP_KEY}={captured.path}"),
        *("--set", f"{SCALE_KEY}={ASKED_GBPS}"),
        *("--set", f"{LOOPS_KEY}={loops}"),
        # Without the time that the last packets wait for others.
        *("--set", "send_at_packets=1"),
    )
    metrics = metrics_of(done)
    assert metrics[OFFERED] == pytest.approx(ASKED_GBPS, rel=OFFERED_TOLERANCE)
    assert metrics[RX_PACKETS] + metrics[RX_DROPPED] == loops * len(captured.packets)


def test_a_truncated_capture_is_refused_by_name(
    captured: Captured, skipline: Skipline, tmp_path: Path
) -> None:
    truncated = tmp_path / "truncated.pcap"
    truncated.write_bytes(captured.path.read_bytes()[:-1])
    done = skipline(*RUN, "--set", f"{PCAP_KEY}={truncated}")
    assert done.code == 2
    assert done.out == ""
    place = f"packet {len(captured.packets)} at byte"
    for told in (str(truncated), "truncated", place, "traffic.cut_short = true"):
        assert told in done.err


def test_a_truncated_capture_is_replayed_up_to_there_on_request(
    captured: Captured, skipline: Skipline, tmp_path: Path
) -> None:
    truncated = tmp_path / "truncated.pcap"
    truncated.write_bytes(captured.path.read_bytes()[:-1])
    settings = {PCAP_KEY: truncated, "traffic.cut_short": "true", LOOPS_KEY: 1}
    stated = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    done = skipline(*RUN, *stated)
    whole = len(captured.packets)
    assert metrics_of(done)[RX_PACKETS] == whole - 1
    cut = f"The capture is cut short in packet {whole} at byte"
    assert any(note.startswith(cut) for note in done.json["notes"])
