"""Advice: what helps is found and explained, bounds hold, and what does not help is not told."""

from pathlib import Path

import pytest

from command_line import L2FWD, Skipline

BUSY = """
platform = "skylake-gold-6140"
application = "l2-forward"
cores = 2
rx_descriptors = 1024
packet_bytes = 1500
offered_gbps = 95
rng_calls = 20
ddio_ways = 2
[traffic]
pattern = "random"
flows = 64
[[tenant]]
name = "low-priority"
"""
COPIES = """
platform = "sapphire-rapids-56"
application = "offload"
cores = 1
[offload]
by = "core"
transfer_bytes = 1024
destination_node = "cxl"
[run]
batch_packets = 64
max_batches = 10
"""
BRIEF = ("--set", "run.batch_packets=512", "--set", "run.max_batches=10")


def test_a_ring_that_leaks_is_told_to_become_smaller_or_get_more_ways(skipline: Skipline) -> None:
    arguments = ("advise", L2FWD, *BRIEF, "--goal", "memory-bandwidth", "--budget", "10")
    knobs = ("--knobs", "rx_descriptors,ddio_ways", "--store", "advice.duckdb")
    found = skipline(*arguments, *knobs, "--format", "json").json
    assert found["helps"] and found["settings"]
    assert found["tried"] <= 10
    assert found["cost"]["now"] < found["cost"]["before"]
    assert found["bounds"] == ["throughput_gbps>=0.98x"]
    assert set(found["commands"]) == set(found["settings"])
    assert {part["key"] for part in found["parts"]} == set(found["settings"])
    assert found["guidelines"]
    assert found["undone"] == []
    assert found["tried"] + found["tried_for_guidelines"] <= found["combinations"]
    assert found["settled"] <= found["combinations"]
    assert found["trade_off"][-1]["settings"] == found["settings"]
    # The second time everything is in the store.
    again = skipline(*arguments, *knobs)
    assert again.code == 0, again.err
    for promised in ("then", "published guidelines", "whole 95 % interval"):
        assert promised in again.out
    assert "atc-24" not in again.out
    assert "atc-24" in skipline(*arguments, *knobs, "--all").out


def test_a_time_that_is_too_short_for_everything_is_kept_and_what_is_undone_is_said(
    skipline: Skipline,
) -> None:
    done = skipline("advise", L2FWD, "--goal", "p99", "--budget", "4s", "--format", "json")
    assert done.code == 0, done.err
    found = done.json
    assert found["undone"]
    for part in found["parts"]:
        assert part["difference"] is None or part["difference"] + (part["ci95"] or 0) < 0
    assert (
        "Left undone for lack of time"
        in skipline("advise", L2FWD, "--goal", "p99", "--budget", "2s").out
    )


def test_where_nothing_helps_that_is_what_it_says(skipline: Skipline) -> None:
    done = skipline(
        *("advise", L2FWD, *BRIEF, "--set", "offered_gbps=5", "--goal", "throughput"),
        *("--set", "send_at_packets=1"),
        *("--knobs", "ddio_ways", "--budget", "4"),
    )
    assert done.code == 0, done.err
    assert "No setting that was tried is better than the present ones" in done.out


def test_a_bound_that_nothing_keeps_leaves_nothing_to_recommend(skipline: Skipline) -> None:
    done = skipline(
        *("advise", L2FWD, *BRIEF, "--goal", "memory-bandwidth", "--knobs", "ddio_ways"),
        *("--budget", "5", "--constraint", "throughput_gbps>=1.5x", "--format", "json"),
    )
    assert not done.json["helps"]


@pytest.mark.soak_long
def test_a_working_set_beside_noise_is_told_to_keep_to_its_slices(skipline: Skipline) -> None:
    """EuroSys'19 isolates by slices: the noise keeps out of what the application lies in."""
    done = skipline(
        *("advise", "experiments/eurosys19/isolation-scenario.toml", "--goal", "throughput"),
        *("--knobs", "nearest_slices", "--budget", "12", "--format", "json"),
    )
    assert done.code == 0, done.err
    found = done.json
    assert found["helps"] and "co_runner.0.nearest_slices" in found["settings"]
    assert found["settings"]["co_runner.0.nearest_slices"] != "all"
    assert "skl_nearest_slices()" in str(found["commands"])


def dram(skipline: Skipline, *settings: str) -> float:
    """Reads and writes of a brief run, as the search simulates them."""
    words = [word for setting in settings for word in ("--set", setting)]
    run = ("run", "busy.toml", *BRIEF, *words, "--seed", "1", "--format", "json")
    metrics = skipline(*run).json["metrics"]
    values = [metrics[f"dram_{kind}_gbytes_per_s"]["value"] for kind in ("read", "write")]
    return float(sum(values))


def test_atc_24_each_guideline_comes_with_the_numbers_of_the_scenario(
    skipline: Skipline, tmp_path: Path
) -> None:
    (tmp_path / "busy.toml").write_text(BUSY)
    asked = ("advise", "busy.toml", *BRIEF, "--goal", "memory-bandwidth", "--budget", "6")
    knobs = ("--knobs", "ddio_ways,cores,traffic.flow_rules")
    found = skipline(*asked, *knobs, "--format", "json").json["guidelines"]
    of_study = {one["text"]: one for one in found if one["claim"] == "atc-24"}
    assert set(of_study) == {
        "more DDIO ways help what is bound by I/O",
        "more cores help what is bound by the CPU",
        "too many cores hurt",
        "balance the load of the cores",
        "low-priority traffic should bypass the cache",
        "above 75 Gbit/s DDIO becomes the bottleneck",
    }
    now = dram(skipline)
    for one in of_study.values():
        if one["points"]:
            continue
        if one["better_percent"] is None:  # half of the packets: 98 % have to be forwarded
            assert (one["key"], one["verdict"]) == ("cores", "contradicted here")
            continue
        then = dram(skipline, f"{one['key']}={one['value']}")
        assert one["better_percent"] == pytest.approx(100 * (now - then) / now)
        assert (one["verdict"] == "confirmed here") == (one["better_percent"] >= 1)
    ways = of_study["more DDIO ways help what is bound by I/O"]
    assert ways["verdict"] == "confirmed here"


@pytest.mark.soak
def test_where_packets_fit_and_the_link_has_room_no_guideline_of_the_study_is_confirmed(
    skipline: Skipline, tmp_path: Path
) -> None:
    (tmp_path / "busy.toml").write_text(BUSY)
    asked = ("advise", "busy.toml", *BRIEF, "--goal", "memory-bandwidth", "--budget", "6")
    knobs = ("--knobs", "ddio_ways,cores,traffic.flow_rules")
    idle = ("--set", "offered_gbps=5", "--set", "rx_descriptors=64", "--set", "rng_calls=0")
    found = skipline(*asked, *knobs, *idle, "--format", "json").json["guidelines"]
    verdicts = {one["text"]: one["verdict"] for one in found}
    assert "above 75 Gbit/s DDIO becomes the bottleneck" not in verdicts
    assert verdicts["more DDIO ways help what is bound by I/O"] != "confirmed here"


def test_dsa_23_each_guideline_comes_with_the_numbers_of_the_scenario(
    skipline: Skipline, tmp_path: Path
) -> None:
    (tmp_path / "copies.toml").write_text(COPIES)

    def told(*arguments: str) -> dict[str, str]:
        asked = ("advise", "copies.toml", "--goal", "throughput", "--budget", "3")
        found = skipline(*asked, *arguments, "--format", "json").json["guidelines"]
        return {one["text"]: one["verdict"] for one in found if one["claim"] == "dsa-23"}

    tiers = "let engines move data between memory tiers"
    assert told("--knobs", "offload.by") == {tiers: "contradicted here"}
    large = ("--set", "offload.transfer_bytes=16384", "--set", "offload.data=flushed")
    assert told("--knobs", "offload.by", *large) == {tiers: "confirmed here"}
    engine = COPIES.replace('by = "core"', 'by = "dsa"\ncache_control = 1')
    (tmp_path / "copies.toml").write_text(f"{engine}[dsa]\nqueue_entries = 64\n")
    found = told()
    assert found.keys() == {
        "batch small transfers",
        "go asynchronous",
        "write to memory what is not read soon",
        "use engines in parallel",
        "more queues spare their threads a lock",
        "few entries of a queue are enough",
    }
    assert found["batch small transfers"] == found["go asynchronous"] == "confirmed here"
    assert found["few entries of a queue are enough"] == "makes no difference here"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--goal", "p99", "--knobs", "ddio_way"), "did you mean 'ddio_ways'"),
        (("--goal", "p99", "--budget", "soon"), "a number of settings, or a time"),
        (("--goal", "p99", "--constraint", "p99"), "not a bound"),
        (("--goal", "p99", "--constraint", "nosuch<=1x"), "no such number"),
        (("--goal", "speed"), "'speed' is not one of"),
        (("--goal", "p99", "--set", "core=1"), "did you mean `cores`"),
    ],
)
def test_bad_input_is_named(skipline: Skipline, arguments: tuple[str, ...], told: str) -> None:
    done = skipline("advise", L2FWD, *arguments)
    assert done.code == 2
    assert told in done.err
