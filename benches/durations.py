"""How long commands of the documents take, each once, in an empty copy of what is kept.

Those above a minute are measured with `--long` only; others keep what was measured before.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs/tables"))

import kept_results  # noqa: E402
import performance  # noqa: E402

L2FWD = "experiments/ddio-bench/l2fwd.toml"


@dataclass(frozen=True)
class Command:
    """A command as documents write it; `before` is what it needs, and is not measured."""

    text: str
    before: str = ""
    is_long: bool = False


COMMANDS = [
    *(Command(f"skipline {name}") for name in ("--help", "platforms list", "budget")),
    Command(f"skipline run {L2FWD}"),
    Command(f"skipline run {L2FWD} --explain"),
    Command("skipline run examples/offload-copy.toml"),
    Command("skipline run examples/descriptor-replay.toml"),
    Command("skipline trace --standard 64mib-random"),
    Command("skipline trace --standard 64mib-random --timed"),
    Command("skipline demo"),
    Command("skipline report runs/mine", before=f"skipline run {L2FWD} --out runs/mine"),
    Command("skipline experiment run slice-latency"),
    Command(f"skipline sweep {L2FWD} --axis rx_descriptors=256..4096:log:5 --axis ddio_ways=2,4,6"),
    Command(f"skipline diff {L2FWD} {L2FWD} --set-b ddio_ways=6"),
    Command("skipline experiment run pktsize-desc ddio-tune"),
    Command("skipline evidence --source blog", is_long=True),
    Command("skipline advise examples/large-ring.toml --goal p99", is_long=True),
    Command("skipline calibrate experiments/calibration/gold-6140.toml", is_long=True),
]


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON, too")
    parser.add_argument("--long", action="store_true", help="also those above a minute")
    arguments = parser.parse_args()
    seconds = {} if arguments.long else kept_results.read("durations")["seconds"]
    for command in COMMANDS:
        if arguments.long or not command.is_long:
            seconds[command.text] = once(command)
    ordered = {command.text: seconds[command.text] for command in COMMANDS}
    results = {"command": "python benches/durations.py --long", "seconds": ordered}
    print(performance.durations(results))
    if arguments.json:
        arguments.json.write_text(json.dumps(results), encoding="utf-8")


def once(command: Command) -> float:
    """Return the seconds that a command takes where nothing was kept before."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("crates", "docs", "experiments", "tests"):
            (Path(folder) / name).symlink_to(ROOT / name)
        environment = {**os.environ, "XDG_CACHE_HOME": f"{folder}/cache"}
        started = 0.0
        for text in filter(None, (command.before, command.text)):
            started = perf_counter()
            program = [sys.executable, "-m", *text.split()]
            done = subprocess.run(
                program, cwd=folder, env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode:
                sys.exit(f"error: {text}: {done.stderr}")
        return perf_counter() - started


if __name__ == "__main__":
    main()
