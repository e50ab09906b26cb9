"""Does a recorded log of descriptors answer both questions at once: engines, and cores instead?"""

import json
from pathlib import Path
from typing import Any

import pytest

from command_line import Skipline
from flow.test_bad_input import assert_refused

EXAMPLE = "examples/descriptor-replay.toml"
SCENARIO = """
title = "A log of mine"
platform = "sapphire-rapids-56"
application = "descriptor-replay"
descriptor_replay.log = "log.jsonl"
"""


def _line(time_ns: int, opcode: int, size: int = 0) -> dict[str, Any]:
    line: dict[str, Any] = {"time_ns": time_ns, "portal": 0, "opcode": opcode, "flags": 256}
    if size:
        line |= {"bytes": size, "source": "0x7f0000000000", "destination": "0x7f0000400000"}
    return line


@pytest.fixture(name="scenario")
def _scenario(tmp_path: Path) -> str:
    """Copies of 16 KiB, a pause, then CRCs and no-ops."""
    lines = [_line(1_000 * number, 3, 16_384) for number in range(20)]
    lines += [_line(500_000 + 1_000 * number, 16, 4_096) for number in range(10)]
    lines += [_line(520_000, 0), _line(521_000, 0)]
    (tmp_path / "log.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    path = tmp_path / "replay.toml"
    path.write_text(SCENARIO)
    return str(path)


def _rows(out: str) -> list[list[str]]:
    """Return the rows of the table of phases, and of their sum."""
    below = out[out.index("phase by phase") :].splitlines()[2:]
    end = next(at for at, line in enumerate(below) if line.startswith("Engines: "))
    return [line.split() for line in below[:end]]


def test_one_command_prints_engines_beside_cores(skipline: Skipline) -> None:
    out = skipline("run", EXAMPLE).out
    total = skipline("run", EXAMPLE, "--format", "json").json["replays"][0]["total"]
    assert (total["descriptors"], total["bytes"]) == (560, 4_587_520)
    for name in ("engines, us", "core, us", "core / engines", "freed, kcycles"):
        assert name in out
    [row] = _rows(out)
    expected = [
        f"{total['engines_ns'] / 1e3:.1f}",
        f"{total['core_ns'] / 1e3:.1f}",
        f"{total['core_by_engines']:.2f}",
        f"{total['freed_cycles'] / 1e3:.1f}",
    ]
    assert row[-4:] == expected
    assert f"{total['core_by_engines']:.2f} times as long" in out


def test_each_phase_has_a_row_and_what_has_no_price_is_named(
    skipline: Skipline, scenario: str
) -> None:
    out = skipline("run", scenario).out
    first, second, total = _rows(out)
    assert (first[:2], second[:4]) == (["1:", "copy"], ["2:", "crc,", "no-op", "0.500"])
    assert (first[3], second[4], total[:2]) == ("20", "12", ["all", "32"])
    assert "The model has no time of a core for 2 no-op" in out
    # 16 KiB are worth an engine, 4 KiB in a core's own caches are not.
    assert float(first[-2]) > float(second[-2])
    single = skipline("run", scenario, "--set", "descriptor_replay.pause_us=1000").out
    assert [row[0] for row in _rows(single)] == ["1:"]


def test_sizes_divide_the_log_as_well(skipline: Skipline, scenario: str) -> None:
    out = skipline("run", scenario, "--set", "descriptor_replay.divide_by=sizes").out
    assert [row[1] for row in _rows(out)[:3]] == ["no-op", "crc", "copy"]
    assert "copy from 16384 B" in out and "times as long" in out
    # Sentences are about the log, which has no packets.
    assert "Engines take " in out and "for the log's 32 operations" in out
    assert "units of work" not in out


def test_each_may_be_run_alone(skipline: Skipline, scenario: str) -> None:
    by = {
        name: skipline("run", scenario, "--set", f"descriptor_replay.by={name}", "--format", "json")
        for name in ("both", "dsa", "core")
    }
    totals = {name: done.json["replays"][0]["total"] for name, done in by.items()}
    assert totals["dsa"]["engines_ns"] == totals["both"]["engines_ns"]
    assert totals["core"]["core_ns"] == totals["both"]["core_ns"]
    assert "core_ns" not in totals["dsa"] and "engines_ns" not in totals["core"]
    # The metrics of both are those of engines.
    assert by["both"].json["metrics"] == by["dsa"].json["metrics"]
    alone = _rows(skipline("run", scenario, "--set", "descriptor_replay.by=core").out)
    assert [row[-4] for row in alone] == ["-", "-", "-"]


def test_the_report_has_the_phases(skipline: Skipline, scenario: str, tmp_path: Path) -> None:
    skipline("run", scenario, "--out", str(tmp_path / "run"))
    skipline("report", str(tmp_path / "run"))
    page = (tmp_path / "run" / "report.html").read_text()
    for text in ("The log, phase by phase", "1: copy", "2: crc, no-op", "no time of a core for 2"):
        assert text in page


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ("by=nothing", "descriptor_replay.by"),
        ("pause_us=0", "descriptor_replay.pause_us"),
        ("most_phases=5000", "descriptor_replay.most_phases"),
        ("kernel=quick", "descriptor_replay.kernel"),
    ],
)
def test_bad_keys_are_refused(skipline: Skipline, scenario: str, setting: str, named: str) -> None:
    assert_refused(skipline("run", scenario, "--set", f"descriptor_replay.{setting}"), named)
