"""How long commands take that do nothing, and small runs.

Those that do nothing: start of Python, refusals, help, completions. Medians of rounds in which each
command runs once, with Python's bytecode kept.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs/tables"))

import performance  # noqa: E402

ROUNDS = 9
L2FWD = "experiments/ddio-bench/l2fwd.toml"
# As they are typed; a tab key is asked of the program by variables.
COMMANDS = [
    "python -c pass",
    "skipline runn",
    "skipline run nosuch.toml",
    f"skipline run {L2FWD} --set rx_descriptors=abc",
    f"skipline run {L2FWD} --set rx_descriptor=1",
    "skipline experiment run nosuch",
    "skipline --help",
]
COMPLETED = ["skipline experiment run ", f"skipline run {L2FWD} --set rx"]
TAB = "[tab]"
# Small ones whose result is settled.
RUNS = [
    "skipline run examples/prefetch-distance.toml --set run.batch_packets=2048",
    "skipline run examples/offload-copy.toml --set run.batch_packets=256 --format json",
    "skipline run examples/forward-25g.toml --set run.batch_packets=2048",
    "skipline run examples/offload-copy.toml --set run.batch_packets=256",
    "skipline run examples/offload-copy.toml",
    "skipline run examples/forward-25g.toml",
    f"skipline run {L2FWD} --set rx_descriptors=256",
    f"skipline run {L2FWD}",
]


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON, too")
    arguments = parser.parse_args()
    results = {
        "command": "python benches/start.py",
        "rounds": ROUNDS,
        "medians_ms": medians_ms(),
        "runs": {name: run_ms(name) for name in RUNS},
    }
    print(performance.start(results))
    if arguments.json:
        arguments.json.write_text(json.dumps(results), encoding="utf-8")


def names() -> list[str]:
    """Return all that is measured, as the table names it."""
    return [*COMMANDS, *(f"{line.strip()} {TAB}" for line in COMPLETED)]


def medians_ms() -> dict[str, float]:
    """Run everything in turn."""
    times: dict[str, list[float]] = {name: [] for name in names()}
    for _ in range(ROUNDS):
        for name, seconds in times.items():
            seconds.append(once(name))
    return {name: 1000 * statistics.median(seconds) for name, seconds in times.items()}


def run_ms(name: str) -> dict[str, list[float]]:
    """Return the ms that a run takes from outside, and its simulation: median, least, most."""
    outside = [1000 * once(name) for _ in range(ROUNDS)]
    inside = []
    for _ in range(ROUNDS):
        as_json = [] if "--format json" in name else ["--format", "json"]
        command = [sys.executable, "-m", *name.split(" "), *as_json]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
        result = json.loads(done.stdout)
        if not result["settled"]:
            raise SystemExit(f"{name}: has not settled")
        inside.append(1000 * result["wall_s"])
    return {"outside": spread(outside), "simulation": spread(inside)}


def spread(values: list[float]) -> list[float]:
    """Return median, least and most."""
    return [statistics.median(values), min(values), max(values)]


def once(name: str) -> float:
    """Return the seconds that a command takes."""
    python = [sys.executable, "-m", "skipline"]
    variables = {}
    if name.endswith(TAB):
        line = next(line for line in COMPLETED if name.startswith(line.strip()))
        variables = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
        variables["_SKIPLINE_COMPLETE"] = "bash_complete"
        command = python
    else:
        program, *arguments = name.split(" ")
        command = [*(python if program == "skipline" else [sys.executable]), *arguments]
    started = perf_counter()
    subprocess.run(
        command, cwd=ROOT, env={**os.environ, **variables}, capture_output=True, check=False
    )
    return perf_counter() - started


if __name__ == "__main__":
    main()
