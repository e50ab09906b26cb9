"""Count the host's instructions per line operation, part by part, with valgrind's callgrind.

A count, unlike a time, is the same on a loaded machine: it says where the work is. Both halves of
the run are counted, the first on a machine whose caches are still filling.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs/tables"))

import performance  # noqa: E402

PROGRAM = ROOT / "target/release/examples/warm"
L2FWD = "experiments/ddio-bench/l2fwd.toml"
COPIES = "benches/copies.toml"
PACKETS = 40_000
# The machine of the copies, and a card that the scenario's own platform has.
SAPPHIRE_RAPIDS = ['platform="sapphire-rapids-56"', 'nic="connectx-5"']
# Scenario, work of both halves together, changed keys. Copies from memory stand beside packets that
# have a like share of DRAM traffic on the same machine.
SCENARIOS: dict[str, tuple[str, int, list[str]]] = {
    "defaults: 1500 B x 4096": (L2FWD, PACKETS, []),
    "fits two ways: 1500 B x 256": (L2FWD, PACKETS, ["rx_descriptors=256"]),
    "small packets: 60 B x 1024": (L2FWD, PACKETS, ["packet_bytes=60", "rx_descriptors=1024"]),
    "18 cores: 1500 B x 64": (L2FWD, PACKETS, ["cores=18", "rx_descriptors=64"]),
    "DDIO off: 1500 B x 4096": (L2FWD, PACKETS // 2, [*SAPPHIRE_RAPIDS, "ddio_ways=0"]),
    "copies of 64 KiB from memory": (COPIES, 1000, ["offload.buffers=2048"]),
    "copies of 64 KiB, LLC to memory": (COPIES, 1000, ["offload.cache_control=0"]),
    "copies of 256 B": (COPIES, PACKETS, ["offload.transfer_bytes=256"]),
}
LIBRARIES = "libraries: histograms, allocation"
# The first pattern that fits names the part. Inlined library code counts for whom it serves.
PARTS = [
    ("DRAM", r"dram|fabric.*memory"),
    ("slice and set of a line", r"address.map"),
    ("devices: NIC, copy engine", r"model.*device"),
    ("link, IIO, DMA lines", r"root_complex|[a-z]+_io|io_[a-z]+|occupancy|expect_dma"),
    ("cores: L1, L2, prefetchers", r"model.*core|core_path|private_cache"),
    ("LLC, snoop filter, victims", r"llc|fetch|victims|replacement|directory|home|socket|expect"),
    ("tags", r"tag.array|tag_array"),
    ("software: drivers, application", r"workload"),
    ("schedule of agents", r"machine|schedule"),
]


def main() -> None:
    """Print the table of all scenarios, and what a sample of lines would leave of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON, too")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of all scenarios"
    )
    arguments = parser.parse_args()
    build = ["cargo", "build", "--release", "--locked", "-q", "-p", "scenario"]
    subprocess.run([*build, "--example", "warm"], cwd=ROOT, check=True)
    results: dict[str, Any] = {"command": "make bench-instructions", "scenarios": {}}
    for name, (scenario, work, keys) in SCENARIOS.items():
        counts, transfers = per_operation(scenario, work, [*keys, *arguments.set])
        parts = {part: counts[part] for part in names()}
        results["scenarios"][name] = {"parts": parts, "dram_transfers": transfers}
    print(performance.instructions(results))
    print()
    print(performance.sampled(results))
    if arguments.json:
        arguments.json.write_text(json.dumps(results), encoding="utf-8")


def names() -> list[str]:
    """Return the parts, in the order of the table."""
    return [*(part for part, _ in PARTS), LIBRARIES]


def per_operation(scenario: str, work: int, keys: list[str]) -> tuple[Counter[str], float]:
    """Return the instructions per line operation of each part, and the DRAM transfers of one."""
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "callgrind.out"
        valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"]
        program = [str(PROGRAM), scenario, str(work // 2), *keys]
        ran = subprocess.run(
            [*valgrind, "--toggle-collect=warm::measured*", *program],
            cwd=ROOT, check=True, capture_output=True, text=True,
        )  # fmt: skip
        # The second half's; the first has as many but for the filling of caches.
        operations, transfers = map(int, ran.stdout.split())
        annotated = subprocess.run(
            ["callgrind_annotate", "--auto=no", "--threshold=100", str(profile)],
            check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip
    counts: Counter[str] = Counter()
    for line in annotated.splitlines():
        if found := re.match(r"\s*([\d,]+) \([ \d.]+%\)\s+([^:]+):(.*)", line):
            count, file, function = found.groups()
            counts[part_of(file, function)] += int(count.replace(",", ""))
    per_part = {part: count / (2 * operations) for part, count in counts.items()}
    return Counter(per_part), transfers / operations


def part_of(file: str, function: str) -> str:
    """Return the part that a source file of ours belongs to, or else the function it serves."""
    places = [file, function] if file.startswith("crates/") else [function]
    named = (part for place in places for part, pattern in PARTS if re.search(pattern, place))
    return next(named, LIBRARIES)


if __name__ == "__main__":
    main()
