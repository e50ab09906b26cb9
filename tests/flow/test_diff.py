"""What has changed between two results, and what a script learns from the exit status."""

import json
from pathlib import Path

import pytest

from command_line import L2FWD, Skipline

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
    assert "numbers differ significantly (one run each" in shown
    rows = two_results("diff", "a", "b", "--format", "csv").out.splitlines()
    assert len(rows) == 1 + len(changes)


def test_equal_results_pass_every_gate(two_results: Skipline) -> None:
    done = two_results("diff", "a", "a", "--same", "--gate", "p99<=1x")
    assert done.code == 0, done.err
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
