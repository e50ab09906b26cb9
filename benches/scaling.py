"""How cost grows: time per line operation, memory, and two cores against one, in one run.

Each family of machines is run in turn, again and again, so that a change of the host's clock or
load hits all of its members; what is printed is the median and the range of the ratios to the
first member.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from time import perf_counter

import skipline

ROOT = Path(__file__).resolve().parent.parent
SCENARIO = ROOT / "experiments/ddio-bench/l2fwd.toml"
ROUNDS = 7
# Every member moves the same number of packets, and its buffers fit the ways of I/O: where they
# do not, lines leak to memory, which costs more whatever the size of the machine.
BATCHES = ["run.min_batches=10", "run.max_batches=10", "run.batch_packets=8192"]
INDEPENDENT = 32
# Rings of 256 x 1500 B: one core's caches, the LLC's ways in use and memory fit the host's caches.
SMALL = ["rx_descriptors=256", *BATCHES]

Keys = list[str]


def main() -> None:
    """Print the tables."""
    cores = [(1, 1024), (2, 512), (4, 256), (8, 128), (18, 64)]
    table(
        "simulated cores",
        {str(n): [f"cores={n}", f"rx_descriptors={ring}"] for n, ring in cores},
    )
    table(
        "LLC of 18 slices",
        {
            f"{sets * 18 * 11 * 64 / 2**20:.1f} MiB": [
                "cores=4",
                "rx_descriptors=64",
                "packet_bytes=512",
                f"hardware.llc.sets_per_slice={sets}",
            ]
            for sets in (2048, 1024, 512, 256)
        },
    )
    with tempfile.TemporaryDirectory() as folder:
        nics = {str(n): several_nics(Path(folder), n) for n in (1, 2, 3, 4)}
        table(
            "NICs, a core each",
            {name: ["rx_descriptors=64", "offered_gbps=50"] for name in nics},
            nics,
        )
    table(
        "beyond: cores and LLC",
        {
            "18 cores, 24.8 MiB": ["cores=18", "rx_descriptors=64"],
            "40 cores, 60 MiB": ["platform=ice-lake-40", "cores=40", "rx_descriptors=64"],
            "56 cores, 105 MiB": ["platform=sapphire-rapids-56", "cores=56", "rx_descriptors=64"],
        },
    )
    memory()
    two_cores()


def several_nics(folder: Path, count: int) -> Path:
    """Write a scenario with `count` tenants of one core and one NIC each."""
    shared = SCENARIO.read_text(encoding="utf-8")
    tenants = "".join(f'\n[[tenant]]\nname = "tenant{n}"\n' for n in range(count))
    path = folder / f"nics{count}.toml"
    path.write_text(shared + tenants, encoding="utf-8")
    return path


def table(what: str, members: dict[str, Keys], scenarios: dict[str, Path] | None = None) -> None:
    """Run the members in turn and print how their time per line operation compares."""
    names = list(members)
    times: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(ROUNDS):
        for name in names:
            scenario = scenarios[name] if scenarios else SCENARIO
            times[name].append(nanoseconds(scenario, [*BATCHES, *members[name]]))
    print(f"\n| {what} | ns per line operation | ratio to the first | range |")
    print("| --- | --- | --- | --- |")
    for name in names:
        pairs = zip(times[name], times[names[0]], strict=True)
        ratios = [own / first for own, first in pairs]
        middle = statistics.median(ratios)
        print(
            f"| {name} | {statistics.median(times[name]):.0f} | {middle:.2f} "
            f"| {min(ratios):.2f} to {max(ratios):.2f} |",
            flush=True,
        )


def nanoseconds(scenario: Path, keys: Keys) -> float:
    """Return the wall time of a line operation."""
    return 1e9 / run(scenario, keys).line_ops_per_s


def run(scenario: Path, keys: Keys, seed: int = 1) -> skipline.Result:
    """Run a scenario in this process."""
    return skipline.run(str(scenario), dict(key.split("=", 1) for key in keys), seed=seed)


def memory() -> None:
    """Print what a machine adds to the memory of the interpreter, in a process of its own."""
    print("\n| machine | MiB |\n| --- | --- |")
    idle = peak_kib([])
    for name, keys in {
        "1 core": ["rx_descriptors=4096"],
        "18 cores, 24.8 MiB": ["cores=18", "rx_descriptors=64"],
        "56 cores, 105 MiB": ["platform=sapphire-rapids-56", "cores=56", "rx_descriptors=64"],
    }.items():
        print(f"| {name} | {(peak_kib(keys) - idle) / 1024:.0f} |", flush=True)


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


def two_cores() -> None:
    """Print how long independent scenarios take on two cores, of their time on one."""
    if len(os.sched_getaffinity(0)) == 1:
        print("\ntwo cores against one: this process may use one core only")
        return
    ratios = []
    for _ in range(ROUNDS):
        alone, both = (sweep_seconds(jobs) for jobs in (1, 2))
        ratios.append(both / alone)
    print(
        f"\n{INDEPENDENT} independent scenarios on two cores take {statistics.median(ratios):.2f} "
        f"of their time on one ({min(ratios):.2f} to {max(ratios):.2f})"
    )


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
