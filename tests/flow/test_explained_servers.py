"""From six described servers to an answer: is the right limit named, and what disagrees told first?

Two servers show rows of the published measurements of the Gold 6140, four what was simulated with
another seed on a platform that differs unseen from the one that is assumed.
"""

import csv
import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import servers
from command_line import REPOSITORY, Skipline
from servers import Load
from skipline import _core
from skipline.host import dry_runs, explanation, observed
from skipline.runs import result

MEASURED = REPOSITORY / "experiments/ddio-bench/measured.csv"
LINE_BYTES = 64
# Lines of a descriptor or completion beside those of a packet.
_DESCRIPTOR_LINES = 0.25
# Frames of the generator on the wire: FCS, preamble and gap.
_WIRE_BYTES = 24
# What the observation does not see: slower memory, dearer software.
UNSEEN = [
    ("hardware.dram.path_ns", "56.0"),
    ("hardware.software.l2_forward_cycles_per_packet", "160"),
]
OTHER_SEED = 77


class Server(NamedTuple):
    """A server: what it does, what only its owner knows, and what is true of it."""

    load: Load
    answers: dict[str, str]
    leaks: bool
    limit: str


def _measured_row(rx_descriptors: int, packet_bytes: int) -> dict[str, float]:
    with MEASURED.open() as file:
        rows = [
            row
            for row in csv.DictReader(file)
            if row["experiment"] == "pktsize-desc"
            and row["cores"] == "1"
            and row["rx_descriptors_per_queue"] == str(rx_descriptors)
            and row["packet_bytes"] == str(packet_bytes)
        ]
    return {row["metric"]: float(row["mean"]) for row in rows}


def _measured(rx_descriptors: int, packet_bytes: int, *, leaks: bool) -> Server:
    """Return a published row as a server would show it; DRAM was not published."""
    row = _measured_row(rx_descriptors, packet_bytes)
    wire_bits = 8 * (packet_bytes + _WIRE_BYTES)
    sent = row["throughput_gbps"] * 1e9 / wire_bits
    lines = -(-packet_bytes // LINE_BYTES)
    writes, reads = sent * (lines + _DESCRIPTOR_LINES), sent * (lines + 2 * _DESCRIPTOR_LINES)
    write_hits, read_hits = row["pcie_write_hit_rate"], row["pcie_read_hit_rate"]
    load = Load(
        1,
        packet_bytes,
        row["generator_tx_gbps"] * 1e9 / wire_bits,
        sent,
        writes,
        write_hits,
        reads,
        read_hits,
        reads * (100 - read_hits) / 100,
        writes * (100 - write_hits) / 100,
    )
    answers = {"rx_descriptors": str(rx_descriptors), "application": "l2-forward"}
    return Server(load, answers, leaks, "send queue")


def _simulated(folder: Path, rx_descriptors: int, cores: int, size: int, gbps: float) -> Server:
    """Return what a run shows with another seed on a platform that differs."""
    scenario = folder / "truth.toml"
    scenario.write_text(
        f'platform = "skylake-gold-6140"\nnic = "connectx-5"\ncores = {cores}\n'
        f"rx_descriptors = {rx_descriptors}\npacket_bytes = {size}\noffered_gbps = {gbps}\n"
        "hardware.pcie.max_payload_bytes = 256\n"
    )
    run = result.parse(
        _core.run(str(scenario), UNSEEN, OTHER_SEED, None, lambda _: None), "the truth"
    )
    entries = [entry for entry in run.entries() if entry.component is None]
    numbers = {entry.metric: float(entry.value) for entry in entries if entry.value is not None}
    seconds = (run.simulated_ns - run.warmup_ns) / 1e9
    writes, reads = (
        (numbers[f"pcie_{kind}_hits"] + numbers[f"pcie_{kind}_misses"]) / seconds
        for kind in ("write", "read")
    )
    load = Load(
        cores,
        size,
        gbps * 1e9 / (8 * (size + _WIRE_BYTES)),
        numbers["tx_mpps"] * 1e6,
        writes,
        numbers["pcie_write_hit_rate"],
        reads,
        numbers["pcie_read_hit_rate"],
        numbers["dram_read_gbytes_per_s"] * 1e9 / LINE_BYTES,
        numbers["dram_write_gbytes_per_s"] * 1e9 / LINE_BYTES,
    )
    answers = {"rx_descriptors": str(rx_descriptors), "application": "l2-forward"}
    leaks = numbers["pcie_write_hit_rate"] < explanation.LEAST_HITS
    return Server(load, answers, leaks, run.limits[0].resource)


SERVERS: dict[str, Callable[[Path], Server]] = {
    "published-leak": lambda _: _measured(4096, 1500, leaks=True),
    "published-small-ring": lambda _: _measured(256, 1024, leaks=False),
    "small-packets": lambda folder: _simulated(folder, 512, 1, 64, 30.0),
    "full-wire": lambda folder: _simulated(folder, 256, 4, 1500, 99.0),
    "large-rings": lambda folder: _simulated(folder, 4096, 4, 1024, 60.0),
    "light-load": lambda folder: _simulated(folder, 256, 2, 1024, 20.0),
}


@pytest.mark.soak
@pytest.mark.parametrize("name", SERVERS)
def test_the_right_limit_is_named_on_a_described_server(
    name: str, binaries: Path, tmp_path: Path
) -> None:
    server = SERVERS[name](tmp_path)
    servers.expand(binaries, tmp_path / "machine", server.load)
    out = tmp_path / "observed.toml"
    stated = [word for pair in server.answers.items() for word in ("--set", "=".join(pair))]
    command: list[str | Path] = [binaries / "skipline-host", "--root", tmp_path / "machine"]
    observe = [*command, "observe", "--out", out, *stated]
    subprocess.run(observe, check=True, capture_output=True)
    began = time.process_time()
    told = explanation.explain(str(out), [], None, range(1, 2), lambda _: None)
    took_s = time.process_time() - began
    words = f"{told.verdict} {told.leak} {told.result.answer}"
    named = f"{told.result.answer} {told.result.limits[0].resource}"
    assert told.compared is not None
    assert ("shows a leak" in told.leak) == server.leaks, words
    assert server.limit in named, words
    assert not {"pcie_write_hit_rate"} & {one.name for one in told.disagreements}, words
    # A real server's window is ten seconds; of a minute this leaves fifty, if nothing else runs.
    assert took_s < 50, f"{took_s:.0f} s"


@pytest.mark.parametrize(
    ("machine", "loads", "tenants"),
    [
        ("skylake", ["forwarding", "second-port"], ["ens1f1"]),
        ("sapphire-rapids", ["forwarding", "busy-neighbours"], ["eno1", "ssds-", "engines"]),
        ("cascade-lake", ["receiving"], ["ssds"]),
    ],
)
def test_tenants_of_an_observed_server_are_simulated_as_they_are_written(
    machine: str, loads: list[str], tenants: list[str], binaries: Path, tmp_path: Path
) -> None:
    out = tmp_path / "observed.toml"
    tree = str(tmp_path / "machine")
    expanded = [str(binaries / "fake-machines"), machine, tree, *loads]
    subprocess.run(expanded, check=True)
    command = [str(binaries / "skipline-host"), "--root", tree, "observe", "--out", str(out)]
    subprocess.run(command, check=True, capture_output=True)
    resolved = json.loads(_core.check_scenario(str(out), []))
    names = [tenant["name"] for tenant in resolved["tenant"]]
    assert len(names) == len(tenants)
    assert all(name.startswith(begin) for name, begin in zip(names, tenants, strict=True)), names


def test_what_disagrees_comes_first_with_what_may_be_the_reason(
    binaries: Path, tmp_path: Path, skipline: Skipline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKIPLINE_HOST", str(binaries / "skipline-host"))
    machine, out = tmp_path / "machine", tmp_path / "observed.toml"
    subprocess.run([binaries / "fake-machines", "skylake", machine, "forwarding"], check=True)
    seen = skipline("host", "--root", str(machine), "observe", "--out", str(out))
    assert seen.code == 0 and "MAC counters of ens1f0" in seen.out
    assert [value.key for value in observed.read(str(out)).of_origin("assumed")] == [
        "platform",
        "application",
        "traffic",
    ]
    brief = ("--repeats", "1", "--no-advice", "--set", "run.max_batches=10")
    shown = skipline("explain-host", str(out), *brief)
    assert shown.code == 0, shown.err
    _, verdict, *_ = shown.out.splitlines()
    assert verdict.startswith("Model and window disagree."), shown.out
    assert "nobody has answered: rx_descriptors, tx_descriptors" in " ".join(shown.out.split())
    answered = skipline(
        "explain-host", str(out), *brief, "--set", "rx_descriptors=1024", "--format", "json"
    )
    told = json.loads(answered.out)
    assert told["agree"] is False and told["disagreements"][0] == "pcie_write_hit_rate"
    assert [text.partition(":")[0] for text in told["asked"]] == ["tx_descriptors"]
    # The windows of a described server are alike.
    assert "54.0 ± 0.0 %" in told["leak"] and told["dry_runs"] == []


def test_what_is_advised_is_asked_for_as_dry_runs_of_the_machine(
    binaries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKIPLINE_HOST", str(binaries / "skipline-host"))
    machine = tmp_path / "machine"
    subprocess.run([binaries / "fake-machines", "skylake", machine], check=True)
    lines = [
        "skipline-host tune ddio-ways 8",
        "ethtool -G IFACE rx 512",
        "skipline-host tune cat GROUP 0x3",
        "skipline-host tune ddio-ways 99   # of a tenant",
    ]
    good, bad = dry_runs.asked(lines, machine)
    assert good.command == lines[0] and "0x7f8" in good.text and "--apply" in good.text
    assert bad.command == "skipline-host tune ddio-ways 99" and bad.text.startswith("refused: ")
    again, _ = dry_runs.asked(lines, machine)
    assert again == good, "nothing was written"


def test_a_change_is_shown_beside_its_prediction(
    binaries: Path, tmp_path: Path, skipline: Skipline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKIPLINE_HOST", str(binaries / "skipline-host"))
    machine = tmp_path / "machine"
    subprocess.run([binaries / "fake-machines", "skylake", machine, "forwarding"], check=True)
    on = ("host", "--root", str(machine))
    state = ("--set", "rx_descriptors=1024", "--set", "run.max_batches=10")
    before, after = str(tmp_path / "before.toml"), str(tmp_path / "after.toml")
    assert skipline(*on, "observe", "--out", before, *state).code == 0
    tuned = skipline(*on, "tune", "ddio-ways", "8", "--apply", "--verify")
    assert tuned.code == 0 and "effective" in tuned.out
    assert skipline(*on, "observe", "--out", after, *state).code == 0
    page = skipline("explain-host", after, "--before", before, "--repeats", "1")
    assert page.code == 0, page.err
    row = next(line for line in page.out.splitlines() if line.startswith("pcie_write_hit_rate"))
    assert "46.00 %" in row and "94.00 %" in row and "48.00 pp" in row, page.out
    assert skipline(*on, "restore").code == 0


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["nowhere.toml"], "nowhere.toml: no such file; `skipline-host observe"),
        (["--windows", "w.jsonl"], "--windows: has no effect without OBSERVED.toml"),
        (["FILE", "--root", "."], "--root .: has no effect"),
        (["FILE", "--windows", "w.jsonl"], "--windows w.jsonl: no such file"),
        (["FILE", "--before", "b.toml"], "b.toml: no such file"),
    ],
)
def test_bad_input_is_told_with_what_to_do(
    arguments: list[str], expected: str, tmp_path: Path, skipline: Skipline
) -> None:
    file = tmp_path / "observed.toml"
    file.write_text('platform = "skylake-gold-6140"\n')
    outcome = skipline("explain-host", *(str(file) if it == "FILE" else it for it in arguments))
    assert outcome.code == 2 and expected in outcome.err, outcome.err
