"""How cost grows: time per line operation, memory, and two cores against one, in one run.

Each family of machines is run in turn, again and again, so that a change of the host's clock or
load hits all of its members; what is printed is the median and the range of the ratios to the
first member.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import skipline

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs/tables"))

import performance  # noqa: E402

SCENARIO = ROOT / "experiments/ddio-bench/l2fwd.toml"
ROUNDS = 7
# Every member moves the same number of packets, and its buffers fit the ways of I/O: where they
# do not, lines leak to memory, which costs more whatever the size of the machine.
BATCHES = ["run.min_batches=10", "run.max_batches=10", "run.batch_packets=8192"]
INDEPENDENT = 32
# Rings of 256 x 1500 B: one core's caches, the LLC's ways in use and memory fit the host's caches.
SMALL = ["rx_descriptors=256", *BATCHES]

Keys = list[str]
# A scenario and its keys.
Machine = tuple[Path, Keys]
EIGHTEEN_CORES = ["cores=18", "rx_descriptors=64"]
FIFTY_SIX_CORES = ["platform=sapphire-rapids-56", "cores=56", "rx_descriptors=64"]


def main() -> None:
    """Measure all families, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON, too")
    arguments = parser.parse_args()
    if len(os.sched_getaffinity(0)) == 1:
        sys.exit("error: this process may use one processor only; the last row needs two")
    with tempfile.TemporaryDirectory() as folder:
        ratios = {name: spreads(members) for name, members in families(Path(folder)).items()}
    results: dict[str, Any] = {
        "command": "make bench-scaling",
        "ratios": ratios,
        "memory_mib": memory_mib(),
        "independent": INDEPENDENT,
        "two_cores": spread([sweep_seconds(2) / sweep_seconds(1) for _ in range(ROUNDS)]),
    }
    print(performance.scaling(results))
    if arguments.json:
        arguments.json.write_text(json.dumps(results), encoding="utf-8")


def families(folder: Path) -> dict[str, dict[str, Machine]]:
    """Return the machines that are compared with the first of their family."""
    cores = {"1": 1024, "2": 512, "4": 256, "8": 128, "18": 64}
    return {
        "simulated cores": {
            number: (SCENARIO, [f"cores={number}", f"rx_descriptors={ring}"])
            for number, ring in cores.items()
        },
        "LLC of 18 slices": {
            f"{sets * 18 * 11 * 64 / 2**20:.1f} MiB": (
                SCENARIO,
                [
                    "cores=4",
                    "rx_descriptors=64",
                    "packet_bytes=512",
                    f"hardware.llc.sets_per_slice={sets}",
                ],
            )
            for sets in (2048, 1024, 512, 256)
        },
        "NICs, a core each": {
            str(number): (several_nics(folder, number), ["rx_descriptors=64", "offered_gbps=50"])
            for number in (1, 2, 3, 4)
        },
        "cores and LLC": {
            "18 cores and 24.8 MiB": (SCENARIO, EIGHTEEN_CORES),
            "40 cores and 60 MiB": (
                SCENARIO,
                ["platform=ice-lake-40", "cores=40", "rx_descriptors=64"],
            ),
            "56 cores and 105 MiB": (SCENARIO, FIFTY_SIX_CORES),
        },
    }


def several_nics(folder: Path, count: int) -> Path:
    """Write a scenario with `count` tenants of one core and one NIC each."""
    shared = SCENARIO.read_text(encoding="utf-8")
    tenants = "".join(f'\n[[tenant]]\nname = "tenant{n}"\n' for n in range(count))
    path = folder / f"nics{count}.toml"
    path.write_text(shared + tenants, encoding="utf-8")
    return path


def spreads(members: dict[str, Machine]) -> dict[str, list[float]]:
    """Run machines in turn; compare their time per line operation with that of the first."""
    times: dict[str, list[float]] = {name: [] for name in members}
    for _ in range(ROUNDS):
        for name, (scenario, keys) in members.items():
            times[name].append(nanoseconds(scenario, [*BATCHES, *keys]))
    first = next(iter(times.values()))
    return {
        name: spread([own / other for own, other in zip(each, first, strict=True)])
        for name, each in times.items()
    }


def spread(ratios: list[float]) -> list[float]:
    """Return the median and the range."""
    return [statistics.median(ratios), min(ratios), max(ratios)]


def nanoseconds(scenario: Path, keys: Keys) -> float:
    """Return the wall time of a line operation."""
    return 1e9 / run(scenario, keys).line_ops_per_s


def run(scenario: Path, keys: Keys, seed: int = 1) -> skipline.Result:
    """Run a scenario in this process."""
    return skipline.run(str(scenario), dict(key.split("=", 1) for key in keys), seed=seed)


def memory_mib() -> dict[str, float]:
    """Return what a machine adds to the memory of the interpreter, in a process of its own."""
    machines = {
        "1 core": ["rx_descriptors=4096"],
        "18 cores and 24.8 MiB": EIGHTEEN_CORES,
        "56 cores and 105 MiB": FIFTY_SIX_CORES,
    }
    idle = peak_kib([])
    return {name: (peak_kib(keys) - idle) / 1024 for name, keys in machines.items()}


def peak_kib(keys: Keys) -> int:
    """Return the largest resident size of a process that runs one machine, or none."""
    run_by_itself = subprocess.run(
        [sys.executable, __file__, "--one", *keys], capture_output=True, text=True, check=True
    )
    return int(run_by_itself.stdout)


def one(keys: Keys) -> None:
    """Run one machine and print this process's largest resident size in KiB."""
    if keys:
        run(SCENARIO, [*BATCHES, *keys])
    # Not getrusage: its maximum begins with that of the process which started this one.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    print(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))


def sweep_seconds(jobs: int) -> float:
    """Return the wall time of the independent scenarios, `jobs` of them at a time."""
    begin = perf_counter()
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(partial(run, SCENARIO, SMALL), range(1, INDEPENDENT + 1)))
    return perf_counter() - begin


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2:])
    else:
        main()
