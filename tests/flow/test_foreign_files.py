"""Files that other programs wrote, odd but good: read as what they are, each oddity said once."""

import struct
import tarfile
from pathlib import Path

import pytest

from command_line import L2FWD, SHORT, Skipline

ARCHIVE = Path(__file__).parent / "foreign_captures.tar"
ONE_LOOP = ["--set", "traffic.loops=1"]
RAW_IP = [(f"p_lt{number}.pcap", 2, ()) for number in ("65", "c", "e", "e4", "6c")]
ODD_OPTIONS = [
    (f"n_{name}.pcapng", 2, ())
    for name in (
        "ok",
        "badutf8_desc",
        "badutf8_if",
        "filter0",
        "hw",
        "ip4short",
        "macshort",
        "noendofopt",
        "tz",
    )
]
OTHERS = [
    ("p_capgtsnap.pcap", 2, ()),
    ("p_span.pcap", 3, ("--set", "traffic.scale_to_gbps=1")),
]


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the captures of the archive."""
    folder = tmp_path_factory.mktemp("foreign-captures")
    with tarfile.open(ARCHIVE) as archive:
        # Python 3.11 has filters from its fourth release on.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder)
    return folder


@pytest.mark.parametrize(("name", "packets", "settings"), [*RAW_IP, *ODD_OPTIONS, *OTHERS])
def test_every_packet_of_an_odd_capture_is_replayed(
    skipline: Skipline, captures: Path, name: str, packets: int, settings: tuple[str, ...]
) -> None:
    pcap = ["--set", f"traffic.pcap={captures / name}"]
    done = skipline("run", L2FWD, *ONE_LOOP, *pcap, *settings, "--format", "json")
    assert done.code == 0, done.err
    metrics = done.json["metrics"]
    assert metrics["rx_packets"]["value"] == packets
    assert metrics["rx_bytes"]["value"] == 64 * packets


def test_a_capture_from_1970_is_replayed_in_order_of_its_times(
    skipline: Skipline, captures: Path
) -> None:
    pcap = ["--set", f"traffic.pcap={captures / 'p_span.pcap'}"]
    done = skipline("run", L2FWD, *ONE_LOOP, *pcap)
    assert done.code == 0, done.err
    assert "1 time without a packet is shortened to 600 s (traffic.longest_gap_s)" in done.out
    shorter = skipline("run", L2FWD, *ONE_LOOP, *pcap, "--set", "traffic.longest_gap_s=0.001")
    assert "shortened to 0.001 s" in shorter.out
    without_loops = skipline("run", L2FWD, *pcap)
    assert "traffic.loops = 1 replays all of the capture" in without_loops.out, without_loops


def test_loops_that_last_longer_than_simulated_time_are_refused(
    skipline: Skipline, captures: Path
) -> None:
    pcap = ["--set", f"traffic.pcap={captures / 'p_span.pcap'}"]
    done = skipline("run", L2FWD, *pcap, "--set", "traffic.loops=20000")
    assert done.code == 2
    assert "simulated time ends after 106 days" in done.err
    # A loop is 600 s and 100 us, and half as much before the next.
    assert "allowed: up to 10248, as a loop takes 900.000 s" in done.err


def test_a_capture_of_empty_records_is_refused_before_it_fills_the_memory(
    skipline: Skipline,
) -> None:
    path = skipline.directory / "empty-records.pcap"
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        file.truncate((1 << 29) + 4096)
    done = skipline("run", L2FWD, *ONE_LOOP, "--set", f"traffic.pcap={path}")
    assert done.code == 2
    assert "more than 33,554,432 packets" in done.err.replace("33554432", "33,554,432"), done.err


# What spreadsheets of different countries save.
TABLES = {
    "byte order mark": "\ufeffrx_descriptors,packet_bytes\r\n128,256\r\n256,512\r\n",
    "semicolons": "rx_descriptors;packet_bytes\n128;256\n256;512\n",
    "tabs": "rx_descriptors\tpacket_bytes\n128\t256\n256\t512\n",
    "mark and semicolons": "\ufeffrx_descriptors;packet_bytes\n128;256\n256;512\n",
    "quotes": '"rx_descriptors","packet_bytes"\n"128","256"\n"256","512"\n',
    "no last line end": "rx_descriptors,packet_bytes\n128,256\n256,512",
    "an empty first line": "\nrx_descriptors;packet_bytes\n128;256\n256;512\n",
    "empty lines": "rx_descriptors,packet_bytes\n\n128,256\n\n256,512\n\n",
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_table_of_a_spreadsheet_gives_its_points(skipline: Skipline, table: str) -> None:
    (skipline.directory / "axis.csv").write_bytes(table.encode())
    wanted = ["--axis-file", "axis.csv", "--store", "s.duckdb"]
    done = skipline("sweep", L2FWD, *wanted, *SHORT)
    assert done.code == 0, done.err
    assert "2 points: 2 simulated" in done.out + done.err
    shown = skipline("store", "show", "s.duckdb", "--format", "csv").out
    assert "128,256" in shown and "256,512" in shown, shown
