"""The figures of ASPLOS'24 as command lines of `skipline-dsa bench`, asked of the model."""

import json
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from kept_results import REPOSITORY, Kept, read
from page_blocks import table

PLATFORM = "sapphire-rapids-56"
TARGETS = {"M": f"model:{PLATFORM}", "C": f"cpu-model:{PLATFORM}"}
BENCH = "skipline-dsa bench -zF,F"
TUNE = f"skipline-dsa tune --on model:{PLATFORM}"
# Conditions beside the size; the first that varies groups the results of a line. Each instance has
# a thread of its own, so that threads come last.
_CONDITIONS = ("batch", "engines", "instances", "queue_entries", "threads")


@dataclass(frozen=True)
class Line:
    """A command line, and the number of its results that its figure shows.

    `shown` is the throughput, the size from which on a device is faster, the phases of an offload,
    or a further number of the JSON. `claim` is what the paper has, where one number says it.
    """

    figure: str
    options: str
    shown: str = "gbytes_per_s"
    claim: str = ""


_REMOTE = "--source-node {0}", "--destination-node {0}", "--source-node {0} --destination-node {0}"
_SOCKET, _CXL = ([option.format(node) for option in _REMOTE] for node in ("other-socket", "cxl"))
_FIGURE_9 = "--on M -q 32 -s 256,1K,4K,16K"
_FIGURE_10 = "--on M -q 32 -n 64 -f --instances 1,2,3,4 -s 16K,256K"
LINES = [
    Line("2", "--on M,C -q 1 -s 1K,2K,4K,8K,16K", "faster", "4 to 10 KB"),
    Line("2", "--on M,C -q 32 -s 64,128,256,512,1K", "faster", "about 256 B"),
    Line("3", "--on M -q 32 -b 1,4 -s 1K,2K,4K,16K,64K"),
    Line("3", "--on M -q 1 -b 1,16,64 -s 1K,4K,64K,256K,512K"),
    Line("4", "--on M -n 256 -s 4K --queue-entries 1,2,4,8,16,32,64,128"),
    Line("5", "--on M -q 1 --phases -s 256,1K,4K,16K", "phases", "allocation takes longest"),
    Line("6a", "--on M -q 32 -s 16K"),
    *(Line("6a", f"--on M -q 32 -s 16K {nodes}") for nodes in _SOCKET),
    *(Line("6b", f"--on M,C -q 32 -s 16K {nodes}") for nodes in _CXL),
    Line("7", "--on M -b 16 -q 4 --engines 1,2,4 -s 256,1K,4K,64K"),
    *(Line("8", f"--on M --pages {pages} -s 256,4K,64K,1M") for pages in ("4K", "2M")),
    *(
        Line("9", f"{_FIGURE_9} -w 0{more}")
        for more in ("", " -b 4", " --threads 4", " --threads 4 --lock")
    ),
    *(
        Line("9", f"{_FIGURE_9} -w 1{more}")
        for more in ("", " -b 8", " --threads 8", " --threads 4")
    ),
    *(Line("10", f"{_FIGURE_10} --set ddio_ways={ways}") for ways in (2, 8)),
    Line("11", "--on M -q 1 -x 0x100 -s 256,1K,4K,16K", "asleep_percent"),
]


def measure() -> Kept:
    """Run every line."""
    return {
        "command": BENCH,
        "lines": [
            {"figure": line.figure, "options": line.options, "results": _results(line)}
            for line in LINES
        ],
    }


def measure_thresholds() -> Kept:
    """Search for the sizes from which on a device pays."""
    with tempfile.TemporaryDirectory() as folder:
        printed = _skipline_dsa(*TUNE.split()[1:], "--output", f"{folder}/thresholds.toml")
    rows = [re.split(r"\s{2,}", row.strip()) for row in printed.splitlines()]
    header, *thresholds = [row for row in rows if len(row) > 1]
    return {"command": TUNE, "header": header, "thresholds": thresholds}


def _skipline_dsa(*arguments: str) -> str:
    built = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
    program = os.environ.get("SKIPLINE_DSA", str(built / "release/skipline-dsa"))
    done = subprocess.run(
        [program, *arguments, "--quiet"], stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def _results(line: Line) -> list[dict[str, Any]]:
    options = re.sub(r"\b[MC]\b(?=[ ,])", lambda name: TARGETS[name[0]], line.options)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bench.json"
        arguments = [*BENCH.split()[1:], *options.split(), "--json", str(file)]
        printed = _skipline_dsa(*arguments)
        points = json.loads(file.read_text())["points"]
    if line.shown == "faster":
        found = re.search(r"is faster than \S+ from (\d+) B on", printed)
        return [{"faster_from_bytes": int(found[1]) if found else None}]
    return [_point(point, line.shown) for point in points]


def _point(point: dict[str, Any], shown: str) -> dict[str, Any]:
    names = {target: name for name, target in TARGETS.items()}
    return {
        "size_bytes": point["size_bytes"],
        **{key: point[key] for key in _CONDITIONS},
        **{
            names[target]: answer["phases_ns"] if shown == "phases" else _number(answer, shown)
            for target, answer in point["answers"].items()
        },
    }


def _number(answer: dict[str, Any], shown: str) -> float:
    number = answer[shown] if shown in answer else answer["further"][shown]
    return float(number)


def figures() -> str:
    """Return the table of all lines."""
    shown = {(line.figure, line.options): line for line in LINES}
    rows = []
    for kept in read("dsa-figures")["lines"]:
        line = shown[kept["figure"], kept["options"]]
        rows.append([line.figure, f"`{line.options}`", _text(line, kept["results"]), line.claim])
    return table(["figure", f"`{BENCH}`", "the model's answer", "claim"], rows)


def _text(line: Line, results: list[dict[str, Any]]) -> str:
    if line.shown == "faster":
        size = results[0]["faster_from_bytes"]
        return f"M is faster than C from {size} B on" if size else "M is nowhere faster than C"
    if line.shown == "phases":
        return "; ".join(
            f"{_size(point['size_bytes'])}: {_phases(point['M'])}" for point in results
        )
    unit = " %" if line.shown.endswith("percent") else ""
    varying = [key for key in _CONDITIONS if len({point[key] for point in results}) > 1]
    if not varying or len({point["size_bytes"] for point in results}) == 1:
        return _numbers(results) + unit
    key = varying[0]
    groups = groupby(results, lambda point: point[key])
    name = key.replace("_", " ")
    return "; ".join(f"{name} {value}: {_numbers(list(points))}" for value, points in groups)


def _numbers(points: list[dict[str, Any]]) -> str:
    by_target = {
        name: ", ".join(f"{point[name]:.3g}" for point in points)
        for name in TARGETS
        if name in points[0]
    }
    if len(by_target) == 1:
        return "".join(by_target.values())
    return "; ".join(f"{name} {numbers}" for name, numbers in by_target.items())


def _phases(phases: dict[str, float]) -> str:
    return ", ".join(f"{name} {ns:.0f} ns" for name, ns in phases.items() if ns > 0)


def _size(size_bytes: int) -> str:
    kib = 1024
    return f"{size_bytes} B" if size_bytes < kib else f"{size_bytes // kib} KiB"


def thresholds() -> str:
    """Return the table of sizes from which on a device pays."""
    found = read("dsa-thresholds")
    return table(found["header"], found["thresholds"])
