"""What has changed between two results, and what a script learns from the exit status."""

import json
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from command_line import L2FWD, Skipline
from skipline import InputError
from skipline.diff import recording as recordings

BRIEF = ["run.batch_packets=256", "run.max_batches=10"]
SIDES = [word for side in "ab" for setting in BRIEF for word in (f"--set-{side}", setting)]
SET = [word for setting in BRIEF for word in ("--set", setting)]


@pytest.fixture
def two_results(skipline: Skipline) -> Skipline:
    """The command line beside the results of two runs, in `a` and `b`."""
    for folder, ring in (("a", "256"), ("b", "4096")):
        ring_of = ("--set", f"rx_descriptors={ring}")
        done = skipline("run", L2FWD, *SET, *ring_of, "--out", folder)
        assert done.code == 0, done.err
    return skipline


def test_two_results_differ_in_settings_and_numbers(two_results: Skipline) -> None:
    found = two_results("diff", "a", "b/result.json", "--format", "json").json
    assert found["settings"] == [{"key": "rx_descriptors", "before": 256, "now": 4096}]
    changes = {one["name"]: one for one in found["changes"]}
    assert changes["rx_dropped"]["unit"] == "packets"
    shown = two_results("diff", "a", "b").out
    assert "rx_descriptors  256  4096" in shown
    assert "numbers differ by more than chance (one run each" in shown
    rows = [line for line in shown.splitlines() if line.rstrip().endswith("differs")]
    assert rows and all(line.startswith("*") for line in rows)
    # Also those that differ and are no headline.
    assert any("evictions" in line for line in rows)
    rows = two_results("diff", "a", "b", "--format", "csv").out.splitlines()
    assert len(rows) == 1 + len(changes)


def test_equal_results_pass_every_gate(two_results: Skipline) -> None:
    done = two_results("diff", "a", "a", "--same", "--gate", "p99<=1x")
    assert done.code == 0, done.err
    assert "the same" in done.out and "differs" not in done.out
    assert "0 of " in done.out


def test_scenarios_are_simulated_with_paired_seeds_and_gates_give_the_exit_status(
    skipline: Skipline,
) -> None:
    arguments = ["diff", L2FWD, L2FWD, *SIDES, "--set-b", "ddio_ways=0", "--repeats", "2"]
    kept = skipline(*arguments, "--gate", "pcie_read_hit_rate<=1x")
    assert kept.code == 0, kept.err
    assert "2 seeds, paired" in kept.out
    broken = skipline(*arguments, "--gate", "pcie_read_hit_rate>=0.5x", "--format", "json")
    assert broken.code == 1
    (one,) = broken.json["broken"]
    assert one["bound"] == "pcie_read_hit_rate>=0.5x"
    assert one["now"] < one["before"] / 2
    assert skipline(*arguments, "--same").code == 1


def test_stores_are_compared_point_by_point(skipline: Skipline) -> None:
    sweep = ["sweep", L2FWD, *SET, "--axis", "rx_descriptors=256,512", "--repeats", "2"]
    assert skipline(*sweep, "--store", "a.duckdb").code == 0
    other = [*sweep, "--set", "ddio_ways=0", "--store", "b.duckdb"]
    assert skipline(*other).code == 0
    found = json.loads(skipline("diff", "a.duckdb", "b.duckdb", "--format", "json").out)
    assert found["points"] == 2
    assert found["settings"] == [{"key": "ddio_ways", "before": None, "now": "0"}]
    gate = ("--gate", "pcie_read_hit_rate>=0.5x")
    done = skipline("diff", "a.duckdb", "b.duckdb", *gate)
    assert done.code == 1
    assert "rx_descriptors=512" in done.out


def window(ended_s: float, hits: int, *, dram: float | None = 2e9) -> str:
    """A line as `skipline-host monitor` writes it: 100 M lines a second, fewer at socket 1."""
    sockets = [
        {
            "socket": socket,
            "pcie_write": {"hits": hits // share, "misses": (50_000_000 - hits) // share},
            "pcie_partial_write": None,
            "pcie_read": None,
            "dram_read_bytes_per_s": dram,
            "dram_write_bytes_per_s": None,
            "running_share": 1.0,
        }
        for socket, share in ((0, 10), (1, 1))
    ]
    told = {"schema_version": 1, "time_unix_s": ended_s, "window_ms": 500.0, "sockets": sockets}
    return json.dumps({**told, "ports": [], "engines": [], "occupancy": []}) + "\n"


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Three windows in which 50 to 54 % of the writes hit."""
    path = tmp_path / "counted.jsonl"
    path.write_text("".join(window(10.0 + at, (25 + at) * 1_000_000) for at in range(3)))
    return path


def test_what_a_server_counts_is_compared_with_what_is_predicted(
    two_results: Skipline, recording: Path
) -> None:
    sides = [L2FWD, recording.name, *SIDES[: len(SIDES) // 2], "--repeats", "3"]
    found = two_results("diff", *sides, "--format", "json").json
    changes = {one["name"]: one for one in found["changes"]}
    assert list(changes) == [
        "pcie_write_hit_rate", "dram_read_gbytes_per_s", "pcie_write_lines_per_s",
    ]  # fmt: skip
    # By hand: 25, 26 and 27 of 50 million lines in half a second.
    assert changes["pcie_write_hit_rate"]["now"] == pytest.approx(52)
    assert changes["pcie_write_lines_per_s"]["now"] == pytest.approx(1e8)
    assert changes["dram_read_gbytes_per_s"]["now"] == pytest.approx(2.0)
    assert {one["pairs"] for one in changes.values()} == {0}
    assert all(one["ci95"] > 0 for one in changes.values())
    assert (found["now"]["socket"], found["settings"]) == ("1", [])
    # The load of a run is what its NIC received: packets, descriptors and completions.
    rate = two_results("run", L2FWD, *SET, "--format", "json").json["metrics"]["received_gbps"]
    assert 64 * 8 * changes["pcie_write_lines_per_s"]["before"] / 1e9 == pytest.approx(
        rate["value"], rel=0.1
    )
    of_socket = two_results("diff", "a", recording.name, "--socket", "0", "--format", "json").json
    rates = {one["name"]: one["now"] for one in of_socket["changes"]}
    assert rates["pcie_write_lines_per_s"] == pytest.approx(1e7)
    gate = ("--gate", "pcie_write_hit_rate>=1.02x")
    assert two_results("diff", recording.name, recording.name, *gate).code == 1
    assert two_results("diff", recording.name, recording.name, "--same").code == 0


@pytest.mark.parametrize(
    ("text", "arguments", "told"),
    [
        (window(1, 5)[:-9] + "\n", (), "line 1: not a window"),
        (window(1, 5).replace("500.0", "0"), (), "line 1: not a window"),
        (window(float("nan"), 5), (), "line 1: not a window"),
        (window(1, 5), ("--socket", "7"), "socket 7 not found; sockets: [0, 1]"),
        (window(1, 5), ("--set-b", "cores=1"), "settings are for scenarios"),
        (window(1, 5, dram=None).replace("pcie_write", "x"), (), "line 1: not a window"),
    ],
)
def test_bad_recordings_are_refused(
    skipline: Skipline, tmp_path: Path, text: str, arguments: tuple[str, ...], told: str
) -> None:
    (tmp_path / "counted.jsonl").write_text(text)
    done = skipline("diff", L2FWD, "counted.jsonl", *arguments)
    assert done.code == 2
    assert told in done.err


@pytest.mark.parametrize("is_growing", [False, True])
def test_the_end_of_a_recording_that_is_too_long_can_be_compared(
    tmp_path: Path, recording: Path, monkeypatch: pytest.MonkeyPatch, is_growing: bool
) -> None:
    path = str(recording)
    most = recording.stat().st_size - 10
    monkeypatch.setattr(recordings, "_MOST_BYTES", most)
    if is_growing:
        monkeypatch.setattr(os, "fstat", lambda _: SimpleNamespace(st_size=0))
    with pytest.raises(InputError, match="longer than 0 MiB") as refused:
        recordings.of_recording(path, None)
    monkeypatch.undo()
    command = str(refused.value).split("`")[1]
    subprocess.run(command.replace("NEW", "end.jsonl"), shell=True, cwd=tmp_path, check=True)
    assert (tmp_path / "end.jsonl").read_text() == "".join(
        recording.read_text().splitlines(keepends=True)[1:]
    )
    recordings.of_recording(str(tmp_path / "end.jsonl"), None)


def test_bad_sides_are_refused(two_results: Skipline, tmp_path: Path) -> None:
    (tmp_path / "text.json").write_text("{}")
    for arguments, told in (
        (("a", "nosuch"), "no such file"),
        (("a", "."), "no result.json"),
        (("a", "text.json"), "not a result"),
        (("a", "b", "--set-a", "cores=2"), "settings are for scenarios"),
        (("a", "b", "--gate", "p98<=1x"), "did you mean 'latency_ns.p"),
        ((L2FWD, "nosuch.toml"), "no such file"),
    ):
        done = two_results("diff", *arguments)
        assert done.code == 2
        assert told in done.err
