"""`skipline run` gives what it promises, to people and to programs."""

import csv
import io
import json
import os
import re
import statistics
import subprocess
from pathlib import Path

import pytest

from command_line import L2FWD, SHORT, Skipline
from flow.capture import Packet, write_pcap

SCALARS = {
    "pcie_write_hit_rate": "percent",
    "pcie_read_hit_rate": "percent",
    "pcie_write_hits": "lines",
    "pcie_write_misses": "lines",
    "pcie_read_hits": "lines",
    "pcie_read_misses": "lines",
    "throughput_gbps": "Gbit/s",
    "rx_mpps": "Mpps",
    "tx_mpps": "Mpps",
    "rx_dropped": "packets",
    "pause_frames": "frames",
    "dram_read_gbytes_per_s": "GB/s",
    "dram_write_gbytes_per_s": "GB/s",
    "iio_occupancy_lines": "lines",
}
BREAKDOWNS = {
    "llc_misses_per_s": {"core0"},
    "pcie_utilisation": {"up", "down"},
    "time_in_regime": {"ring_full", "sender_blocked", "idle"},
    "latency_ns": {
        *("min", "p25", "p50", "p75", "p90", "p99", "p99.9", "p99.99", "max", "mean"),
    },
}
# Wall-clock time and what is derived from it.
WALL = ("wall_s", "line_ops_per_s", "real_time_factor")


def without_wall_clock(text: str) -> str:
    """Blank what may differ between two equal runs; all other bytes stay as they are."""
    result = json.loads(text)
    for name in WALL:
        number = json.dumps(result[name])
        assert text.count(f'"{name}":{number}') + text.count(f'"{name}": {number}') == 1
        text = text.replace(f'"{name}":{number}', "").replace(f'"{name}": {number}', "")
    return text


def test_the_result_has_every_promised_name(skipline: Skipline) -> None:
    result = skipline("run", L2FWD, *SHORT, "--format", "json").json
    promised = {"scenario", "seed", "version", "simulated_ns", "wall_s", "line_ops", "metrics"}
    assert promised <= result.keys()
    metrics = result["metrics"]
    for name, unit in SCALARS.items():
        assert metrics[name]["unit"] == unit, name
        assert isinstance(metrics[name]["value"], int | float), name
        assert "ci95" in metrics[name], name
    for name, keys in BREAKDOWNS.items():
        assert keys <= metrics[name]["value"].keys(), name
    assert sum(metrics["llc_occupancy_bytes"]["value"].values()) > 0
    for key in metrics["evictions"]["value"]:
        assert key.count(">") == 1
        assert key.rpartition(":")[2] in ("read", "unread")


def test_hits_and_misses_agree_with_the_hit_rates(skipline: Skipline) -> None:
    metrics = skipline("run", L2FWD, *SHORT, "--format", "json").json["metrics"]
    for direction in ("write", "read"):
        hits = metrics[f"pcie_{direction}_hits"]["value"]
        misses = metrics[f"pcie_{direction}_misses"]["value"]
        rate = metrics[f"pcie_{direction}_hit_rate"]["value"]
        assert abs(100 * hits / (hits + misses) - rate) < 0.01


def test_the_same_seed_gives_the_same_bytes(skipline: Skipline) -> None:
    command = ("run", L2FWD, *SHORT, "--seed", "7", "--format", "json")
    assert without_wall_clock(skipline(*command).out) == without_wall_clock(skipline(*command).out)


def test_another_seed_gives_another_result(skipline: Skipline) -> None:
    first = skipline("run", L2FWD, *SHORT, "--seed", "7", "--format", "json").json
    second = skipline("run", L2FWD, *SHORT, "--seed", "8", "--format", "json").json
    assert (first["seed"], second["seed"]) == (7, 8)
    assert first["metrics"] != second["metrics"]


def test_a_setting_reaches_the_scenario(skipline: Skipline) -> None:
    done = skipline("run", L2FWD, *SHORT, "--set", "rx_descriptors=256", "--format", "json")
    assert done.json["scenario"]["rx_descriptors"] == 256
    assert done.err == ""


def test_csv_has_one_row_per_number(skipline: Skipline) -> None:
    done = skipline("run", L2FWD, *SHORT, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert {*SCALARS, *BREAKDOWNS} <= {row["metric"] for row in rows}
    assert {row["component"] for row in rows if row["metric"] == "pcie_utilisation"} == {
        "up",
        "down",
    }


def test_the_table_shows_values_with_interval_and_unit(skipline: Skipline) -> None:
    done = skipline("run", L2FWD, *SHORT)
    line = next(line for line in done.out.splitlines() if "pcie_write_hit_rate" in line)
    assert "±" in line
    assert line.endswith("%")
    whole = skipline("run", L2FWD, *SHORT, "--all")
    for group in ("Cache", "Link", "Packets", "Memory", "Latency"):
        assert group in whole.out
    assert whole.out.count("\n") > 2 * done.out.count("\n")


def test_the_answer_comes_first_and_names_what_is_busiest(skipline: Skipline) -> None:
    settings = ("--set", "packet_bytes=60", *SHORT)
    lines = skipline("run", L2FWD, *settings).out.splitlines()
    assert re.match(
        r"[89]\d(\.\d)? % of 99\.3 Gbit/s is dropped\. Core 0 is 100 % busy\. ", lines[1]
    )
    document = json.loads(skipline("run", L2FWD, *settings, "--format", "json").out)
    shares = [limit["utilisation_percent"] for limit in document["limits"]]
    assert shares == sorted(shares, reverse=True)
    assert document["limits"][0]["resource"] == "core 0"
    assert document["answer"].startswith(lines[1][:40])


def test_a_narrow_terminal_cuts_no_number_off(skipline: Skipline) -> None:
    done = subprocess.run(
        skipline.arguments("run", L2FWD, *SHORT),
        cwd=skipline.directory,
        env={**os.environ, "COLUMNS": "40"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "…" not in done.stdout
    assert any("pcie_write_hit_rate" in row and "%" in row for row in done.stdout.splitlines())


def test_out_writes_exactly_the_printed_result(skipline: Skipline, tmp_path: Path) -> None:
    done = skipline("run", L2FWD, *SHORT, "--format", "json", "--out", "results/first")
    written = tmp_path / "results" / "first"
    assert (written / "result.json").read_text() == done.out
    assert [path.name for path in written.iterdir()] == ["result.json"]


def test_explain_shows_who_evicted_whom(skipline: Skipline) -> None:
    done = skipline("run", L2FWD, *SHORT, "--explain")
    assert "Who evicted whom" in done.out or "No line was evicted" in done.out
    assert "Who evicted whom" not in skipline("run", L2FWD, *SHORT).out


def test_a_traced_packet_tells_its_story(skipline: Skipline) -> None:
    arguments = ("run", L2FWD, *SHORT, "--trace-packet", "100")
    events = skipline(*arguments, "--format", "json").json["trace"]
    times = [event["time_ns"] for event in events]
    assert len(events) >= 1500 // 64
    assert times == sorted(times)
    table = skipline(*arguments).out
    assert "Packet 100, line by line" in table
    assert events[0]["operation"] in table


def test_explain_sorts_the_misses_of_every_agent(skipline: Skipline) -> None:
    done = skipline("run", L2FWD, *SHORT, "--explain", "--format", "json")
    kinds = done.json["miss_kinds"]
    assert set(kinds) == {"core0", "nic0"}
    for agent in kinds.values():
        assert agent["hits"] > 0 and agent["compulsory"] > 0
    table = skipline("run", L2FWD, *SHORT, "--explain").out
    assert "Why requests missed the LLC" in table and "conflict" in table
    assert "Why device writes missed" in table


def test_explain_tells_conflicts_of_device_writes_from_want_of_room(skipline: Skipline) -> None:
    def kinds(*settings: str) -> dict[str, int]:
        done = skipline("run", L2FWD, *SHORT, *settings, "--explain", "--format", "json")
        found: dict[str, dict[str, int]] = done.json["device_write_kinds"]
        (writer,) = found.values()
        return writer

    # A ring of 128 fits the ways of devices by far; one of 32768 by nothing.
    small = kinds("--set", "rx_descriptors=128", "--set", "pool_buffers=2047")
    large = kinds("--set", "rx_descriptors=32768")
    assert small["capacity"] == 0
    assert large["capacity"] + large["compulsory"] > 5 * large["conflict"]


def test_watching_changes_no_number(skipline: Skipline) -> None:
    plain = skipline("run", L2FWD, *SHORT, "--format", "json").json["metrics"]
    watched = ("--explain", "--trace-packet", "9", "--trace-line", "0x100000")
    assert skipline("run", L2FWD, *SHORT, *watched, "--format", "json").json["metrics"] == plain


def test_the_story_of_a_line_begins_with_the_packet_that_was_written_there(
    skipline: Skipline,
) -> None:
    command = ("run", L2FWD, *SHORT, "--format", "json")
    pushed_out = [
        event["evicted"]
        for event in skipline(*command, "--trace-packet", "2000").json["trace"]
        if event["evicted"]
    ]
    assert pushed_out, "a full ring pushes lines out"
    address = 64 * pushed_out[0]["address_line"]
    story = skipline(*command, "--trace-line", hex(address)).json["line_trace"]
    assert any(event["operation"] == "LLC eviction" for event in story)
    assert [event["time_ns"] for event in story] == sorted(event["time_ns"] for event in story)
    table = skipline("run", L2FWD, *SHORT, "--trace-line", hex(address)).out
    assert f"The line at address {address:#x}" in table


def test_a_co_runner_and_a_nic_on_the_other_socket_take_part(skipline: Skipline) -> None:
    settings = ("--set", "co_runner.working_set_bytes=1048576", "--set", "nic_socket=1")
    metrics = skipline("run", L2FWD, *SHORT, *settings, "--format", "json").json["metrics"]
    assert set(metrics["llc_misses_per_s"]["value"]) == {"core0", "core1"}
    # What the device writes goes over UPI to memory; the consumer's LLC gets none of it.
    assert metrics["pcie_write_hit_rate"]["value"] == 0
    assert metrics["dram_write_gbytes_per_s"]["value"] > 5


def test_what_a_setting_overrides_in_the_file_is_told(skipline: Skipline) -> None:
    mix = ("--set", "traffic.pattern=random", "--set", "traffic.sizes=imix")
    notes = skipline("run", L2FWD, *SHORT, *mix, "--format", "json").json["notes"]
    assert [note.split(":")[0] for note in notes] == [
        "What the file states of packet_bytes has no effect",
    ]
    # What would be the testbed's is not taken, and nothing to tell.
    assert f"{notes[0]}." in " ".join(skipline("run", L2FWD, *SHORT, *mix).out.split())


def test_captures_whose_times_go_backwards_are_told(skipline: Skipline, tmp_path: Path) -> None:
    frame = bytes(12) + b"\x08\x00" + bytes(100)
    packets = [Packet(time_ns, frame) for time_ns in (5000, 2000, 9000, 2500)]
    write_pcap(tmp_path / "c.pcap", packets)
    settings = ("--set", "traffic.pcap=c.pcap", "--set", "traffic.loops=500")
    notes = skipline("run", L2FWD, *settings, "--format", "json").json["notes"]
    assert any("2 of the capture's 4 packets are stamped earlier" in note for note in notes)


def test_a_run_that_has_not_settled_says_so(skipline: Skipline) -> None:
    settings = ("--set", "rx_descriptors=32768", "--set", "run.max_batches=10")
    told = " ".join(skipline("run", L2FWD, *settings).out.split())
    assert "has not settled: queues were still filling" in told
    assert "raise run.max_batches" in told
    assert "has not settled" not in skipline("run", L2FWD, "--set", "rx_descriptors=1024").out


@pytest.mark.parametrize(
    ("platform", "words"),
    [
        ("skylake-gold-6140", "published (skx-18)."),
        ("haswell-e5-2667v3", "published (xor)."),
        ("haswell-e5-2699v3", "a stand-in (balanced)."),
        ("gem5-ispass20", "a stand-in (mixing)."),
    ],
)
def test_slice_function_and_set_index_are_named_in_short(
    skipline: Skipline, platform: str, words: str
) -> None:
    """The short form is cut from a sentence of the simulator: this fails if that is reworded."""
    machine = ["--set", f'platform="{platform}"', "--set", 'nic="connectx-5"']
    done = skipline("run", L2FWD, *SHORT, *machine, "--all")
    assert done.code == 0, done.err
    assert f"Slice function: {words}" in " ".join(done.out.split())


def test_the_tail_is_one_line_with_what_is_guessed_and_fitted(skipline: Skipline) -> None:
    done = skipline("run", L2FWD, *SHORT, "--seed", "3")
    (last,) = [line for line in done.out.splitlines() if "The rest: --all" in line]
    assert done.out.rstrip().endswith(last)
    assert re.search(r"skylake-gold-6140, seed 3\. Fitted: \d+; guessed: \d+ of \d+ facts\.", last)
    assert "Slice function" not in done.out and "testbed" not in done.out
    with_all = skipline("run", L2FWD, *SHORT, "--all").out
    assert "Slice function in full" in with_all and "Taken from testbed" in with_all


def test_an_example_runs_by_its_name_and_an_experiment_says_how_it_does(
    skipline: Skipline,
) -> None:
    done = skipline("run", "forward-25g", *SHORT)
    assert done.code == 0, done.err
    refused = skipline("run", "pktsize-desc")
    assert refused.code == 2 and "skipline experiment run pktsize-desc" in refused.err


TWO = """
platform = "skylake-gold-6140"
application = "packet-sink"
cores = 2
rx_descriptors = 1024
offered_gbps = 40.0
[[tenant]]
name = "second"
application = "l2-forward"
"""


def test_of_several_tenants_the_first_sentences_name_each(
    skipline: Skipline, tmp_path: Path
) -> None:
    (tmp_path / "two.toml").write_text(TWO)
    done = skipline("run", "two.toml", *SHORT, "--out", "two")
    assert done.code == 0, done.err
    told = " ".join(done.out.split())
    assert "main: All of 40 Gbit/s is received. second: All of 40 Gbit/s gets through." in told
    assert "all devices write miss the cache: all rings together take 6 MiB" in told
    assert skipline("report", "two").code == 0
    page = (tmp_path / "two" / "report.html").read_text()
    assert "second: Sent, on the wire" in page and "main: Received, on the wire" in page


def _results_one_by_one(skipline: Skipline, seeds: range) -> list[str]:
    command = ("run", L2FWD, *SHORT, "--format", "json", "--seed")
    return [without_wall_clock(skipline(*command, str(seed)).out).strip() for seed in seeds]


def test_repeats_give_the_results_of_their_seeds(skipline: Skipline, tmp_path: Path) -> None:
    command = ("run", L2FWD, *SHORT, "--seed", "7", "--repeats", "3", "--format", "json")
    document = skipline(*command, "--out", "results").json
    assert document["seeds"] == [7, 8, 9]
    written = [tmp_path / "results" / f"seed-{seed}" / "result.json" for seed in (7, 8, 9)]
    assert [json.loads(path.read_text()) for path in written] == document["runs"]
    texts = [without_wall_clock(path.read_text()).strip() for path in written]
    assert texts == _results_one_by_one(skipline, range(7, 10))
    rates = [run["metrics"]["pcie_write_hit_rate"]["value"] for run in document["runs"]]
    mean = document["metrics"]["pcie_write_hit_rate"]
    assert mean["value"] == pytest.approx(sum(rates) / 3)
    assert (mean["ci95"], mean["unit"]) == (None, "percent")
    rows = csv.DictReader(io.StringIO(skipline(*command[:-1], "csv").out))
    assert {row["seed"] for row in rows} == {"7", "8", "9"}


def test_five_repeats_have_an_interval_and_a_range(skipline: Skipline) -> None:
    command = ("run", L2FWD, *SHORT, "--repeats", "5")
    document = skipline(*command, "--format", "json").json
    rates = [run["metrics"]["pcie_write_hit_rate"]["value"] for run in document["runs"]]
    mean = document["metrics"]["pcie_write_hit_rate"]
    # Student's t of four degrees of freedom.
    assert mean["ci95"] == pytest.approx(2.776445 * statistics.stdev(rates) / 5**0.5, rel=1e-5)
    row = next(
        line for line in skipline(*command).out.splitlines() if "pcie_write_hit_rate" in line
    )
    assert f"{min(rates):.4g}" in row and f"{max(rates):.4g}" in row and "±" in row


@pytest.mark.parametrize(
    "one_run", [("--explain",), ("--trace-packet", "0"), ("--perfetto", "file.pftrace")]
)
def test_what_tells_of_one_run_is_refused_with_repeats(
    skipline: Skipline, one_run: tuple[str, ...]
) -> None:
    refused = skipline("run", L2FWD, "--repeats", "2", *one_run)
    assert refused.code == 2
    assert f"{one_run[0]} tells of one run" in refused.err


def test_repeats_end_where_seeds_do(skipline: Skipline) -> None:
    last = str(2**64 - 1)
    refused = skipline("run", L2FWD, "--seed", last, "--repeats", "2")
    assert refused.code == 2
    assert "at most 1 are left" in refused.err
