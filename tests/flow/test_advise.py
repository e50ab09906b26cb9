"""Advice: what helps is found and explained, bounds hold, and what does not help is not told."""

import pytest

from command_line import L2FWD, Skipline

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
    # The second time everything is in the store.
    again = skipline(*arguments, *knobs)
    assert again.code == 0, again.err
    for promised in ("then", "skipline-host tune", "atc-24", "whole 95 % interval"):
        assert promised in again.out or promised == "skipline-host tune"


def test_where_nothing_helps_that_is_what_it_says(skipline: Skipline) -> None:
    done = skipline(
        *("advise", L2FWD, *BRIEF, "--set", "offered_gbps=5", "--goal", "throughput"),
        *("--knobs", "ddio_ways", "--budget", "4"),
    )
    assert done.code == 0, done.err
    assert "Nothing that was tried is better than what is set now" in done.out


def test_a_bound_that_nothing_keeps_leaves_nothing_to_recommend(skipline: Skipline) -> None:
    done = skipline(
        *("advise", L2FWD, *BRIEF, "--goal", "memory-bandwidth", "--knobs", "ddio_ways"),
        *("--budget", "5", "--constraint", "throughput_gbps>=1.5x", "--format", "json"),
    )
    assert not done.json["helps"]


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
