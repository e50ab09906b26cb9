#!/usr/bin/env python3
"""Packets that a core of the vhost switch moves, by who copies, and what a real part would do.

Guests send to each other with copies of the core, of a DSA in software, and of one that fails, in
turn. A rate is packets per second of CPU time that the switch's core spends on turns which move
some. Each size of frames gets a row: the median rate, ratios of runs of the same round, and the
simulator's prediction for a part. Needs `tests` in PYTHONPATH: `make bench-vhost`.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from dpdk.vhost_switch import Exchange

CORE, DEVICE, FAILING = "core", "device", "failing"
SCENARIO = "experiments/asplos24/vhost-scenario.toml"
BY_ENGINES = ("vhost_switch.by=dsa", "dsa.engines=4")
# Of 1,000 copies 5 fail and 2 are late, one batch in 1,000 is lost.
PLAN = """seed = 7
[page_faults]
rate = 0.002
[hardware_errors]
read_rate = 0.001
write_rate = 0.001
translation_rate = 0.001
[delays]
rate = 0.002
nanoseconds = 50_000
[queue_full]
rate = 0.001
"""


def rate(args: argparse.Namespace, kind: str, frame_bytes: int) -> float:
    """Packets per second of the switch's core, both ways together."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "plan.toml").write_text(PLAN)
        run = [str(args.dsa), "run", "--quiet", "--devices", str(args.queues)]
        if kind == FAILING:
            run += ["--inject", str(folder / "plan.toml")]
        exchange = Exchange(
            folder,
            copy="cpu" if kind == CORE else "dsa",
            run=[] if kind == CORE else [*run, "--"],
            switch=("--time-turns",),
            guests=("--bytes", str(frame_bytes)),
        )
        guests, switch = exchange.of(args.packets)
    if guests.code or switch.code:
        sys.exit(f"error: packets do not come through whole:\n{guests.out}{switch.errors}")
    return float(switch.report["delivered"] / switch.report["busy_s"])


def predicted_mpps(platform: str, frame_bytes: int, settings: tuple[str, ...]) -> float:
    """Million packets per second that the simulator has the switch forward."""
    words = [f"platform={platform}", f"packet_bytes={frame_bytes}", *settings]
    command = ["skipline", "run", SCENARIO, "--format", "json"]
    command += [word for setting in words for word in ("--set", setting)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"error: the simulation does not run:\n{done.stderr}")
    return float(json.loads(done.stdout)["metrics"]["tx_mpps"]["value"])


def row(args: argparse.Namespace, frame_bytes: int) -> str:
    """Measure and predict one size of frames."""
    rounds = []
    for number in range(args.rounds):
        kinds = [CORE, DEVICE, FAILING]
        # Each is first in turn, so that drift affects all alike.
        turned = kinds[number % 3 :] + kinds[: number % 3]
        rounds.append({kind: rate(args, kind, frame_bytes) for kind in turned})
    by_core = statistics.median(one[CORE] for one in rounds)
    cells = [str(frame_bytes), f"{by_core / 1e6:.2f}"]
    for kind in (DEVICE, FAILING):
        ratios = [one[kind] / one[CORE] for one in rounds]
        cells.append(f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
    core = predicted_mpps(args.platform, frame_bytes, ())
    engines = predicted_mpps(args.platform, frame_bytes, BY_ENGINES)
    cells += [f"{core:.2f}", f"{engines:.2f}", f"{engines / core:.2f}"]
    return f"| {' | '.join(cells)} |"


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dsa", type=Path, required=True, help="skipline-dsa")
    parser.add_argument("--bytes", type=int, nargs="+", default=[256, 512, 1024, 1518])
    parser.add_argument("--rounds", type=int, default=5, help="of one run of each kind")
    parser.add_argument("--packets", type=int, default=50_000, help="each way, of a run")
    parser.add_argument("--queues", type=int, default=2, help="devices with a queue for DPDK")
    parser.add_argument("--platform", default="sapphire-rapids-56", help="what is predicted")
    return parser.parse_args()


def main() -> None:
    """Print the table."""
    args = parse()
    print(
        "| bytes | core, Mpps | device / core | failing device / core "
        "| predicted: core, Mpps | engines, Mpps | engines / core |\n"
        "| --- | --- | --- | --- | --- | --- | --- |"
    )
    for frame_bytes in args.bytes:
        print(row(args, frame_bytes), flush=True)


if __name__ == "__main__":
    main()
