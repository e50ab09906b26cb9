"""Does the story of a descriptor tell what happened to it, and who was evicted for it?"""

from pathlib import Path

import pytest

from command_line import Skipline
from flow.test_bad_input import assert_refused

CHANNELS = "examples/previous-copy-engine.toml"
SHORT = ("--set", "run.batch_packets=256", "--set", "run.max_batches=10")
ACCELERATOR = """
title = "Copies by an accelerator"
platform = "sapphire-rapids-56"
application = "offload"
offload.transfer_bytes = 4096
offload.depth = 4
"""


@pytest.fixture(name="scenario")
def _scenario(tmp_path: Path) -> str:
    path = tmp_path / "copies.toml"
    path.write_text(ACCELERATOR)
    return str(path)


def test_a_descriptor_is_told_phase_by_phase_and_line_by_line(
    skipline: Skipline, scenario: str
) -> None:
    command = ("run", scenario, *SHORT, "--trace-descriptor", "40")
    story = skipline(*command, "--format", "json").json["descriptor_trace"]
    phases = [phase["phase"] for phase in story["phases"]]
    assert phases[0] == "prepared" and phases[-1] == "reaped"
    assert {"seen", "dispatched", "translated", "read", "written", "recorded"} < set(phases)
    ends = [phase["until_ns"] for phase in story["phases"]]
    assert ends == sorted(ends)
    moved = [event for event in story["events"] if event["agent"] == "dsa0"]
    assert sum(event["part"] == "source" for event in moved) == 4096 // 64
    assert sum(event["part"] == "destination" for event in moved) == 4096 // 64
    table = skipline(*command).out
    assert "Descriptor 40, phase by phase" in table and "Descriptor 40, line by line" in table
    assert "an engine or channel has taken it from the queue" in table
    assert "source 63" in table and "In all" in table


def test_a_channel_needs_no_translation(skipline: Skipline) -> None:
    command = ("run", CHANNELS, *SHORT, "--trace-descriptor", "500", "--format", "json")
    story = skipline(*command).json["descriptor_trace"]
    phases = [phase["phase"] for phase in story["phases"]]
    assert "translated" not in phases and "dispatched" in phases
    agents = {event["agent"] for event in story["events"]}
    assert agents == {"core0", "cbdma0"}


def test_explain_names_engines_like_any_other_agent(skipline: Skipline, scenario: str) -> None:
    small = ("--set", "hardware.llc.sets_per_slice=16", "--set", "offload.buffers=1024")
    done = skipline("run", scenario, *SHORT, *small, "--explain")
    evictions = done.out[done.out.index("Who evicted whom") :]
    assert "dsa0" in evictions and "core0" in evictions


def test_occupancy_over_time_is_shown_on_request(skipline: Skipline, scenario: str) -> None:
    done = skipline("run", scenario, *SHORT, "--set", "run.timeline=true", "--all")
    table = done.out[done.out.index("LLC occupancy over time, MiB") :]
    assert "dsa0" in table and "core0" in table
    assert "LLC occupancy over time" not in skipline("run", scenario, *SHORT, "--all").out


def test_a_descriptor_that_never_came_is_bad_input(skipline: Skipline, scenario: str) -> None:
    far = skipline("run", scenario, *SHORT, "--trace-descriptor", "99999999")
    assert_refused(far, "--trace-descriptor 99999999: no such descriptor")
    packets = skipline(
        "run", "experiments/ddio-bench/l2fwd.toml", *SHORT, "--trace-descriptor", "0"
    )
    assert_refused(packets, "--trace-descriptor 0: no such descriptor")
