"""Count the host's instructions per line operation, part by part, with valgrind's callgrind.

A count, unlike a time, is the same on a loaded machine: it says where the work is. Both halves of
the run are counted, the first on a machine whose caches are still filling.
"""

import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "target/release/examples/packets"
PACKETS = 40_000
SCENARIOS = {
    "defaults: 1500 B x 4096": [],
    "fits two ways: 1500 B x 256": ["rx_descriptors=256"],
    "small packets: 60 B x 1024": ["packet_bytes=60", "rx_descriptors=1024"],
    "18 cores: 1500 B x 64": ["cores=18", "rx_descriptors=64"],
}
LIBRARIES = "libraries: histograms, allocation"
# The first pattern that fits names the part. Inlined library code counts for whom it serves.
PARTS = [
    ("DRAM", r"dram|fabric.*memory"),
    ("slice and set of a line", r"address.map"),
    ("devices: NIC", r"model.*device"),
    ("link, IIO, DMA lines", r"root_complex|[a-z]+_io|io_[a-z]+|occupancy|expect_dma"),
    ("cores: L1, L2, prefetchers", r"model.*core|core_path|private_cache"),
    ("LLC, snoop filter, victims", r"llc|fetch|victims|replacement|directory|home|socket|expect"),
    ("tags", r"tag.array|tag_array"),
    ("software: drivers, application", r"workload"),
    ("schedule of agents", r"machine|schedule"),
]


def main() -> None:
    """Print the table of all scenarios."""
    build = ["cargo", "build", "--release", "--locked", "-q", "-p", "scenario"]
    subprocess.run([*build, "--example", "packets"], cwd=ROOT, check=True)
    columns = {name: per_operation(keys) for name, keys in SCENARIOS.items()}
    parts = [part for part, _ in PARTS] + [LIBRARIES]
    print("| instructions per line operation | " + " | ".join(columns) + " |")
    print("| --- |" + " --- |" * len(columns))
    for part in parts:
        print(f"| {part} | " + " | ".join(f"{c[part]:.0f}" for c in columns.values()) + " |")
    print("| all | " + " | ".join(f"{sum(c.values()):.0f}" for c in columns.values()) + " |")


def per_operation(keys: list[str]) -> Counter[str]:
    """Return the instructions per line operation of each part."""
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "callgrind.out"
        valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"]
        program = [str(PROGRAM), str(PACKETS // 2), *keys]
        ran = subprocess.run(
            [*valgrind, "--toggle-collect=packets::measured*", *program],
            cwd=ROOT, check=True, capture_output=True, text=True,
        )  # fmt: skip
        # The second half's operations; the first has as many but for the filling of caches.
        operations = 2 * int(ran.stdout)
        annotated = subprocess.run(
            ["callgrind_annotate", "--auto=no", "--threshold=100", str(profile)],
            check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip
    counts: Counter[str] = Counter()
    for line in annotated.splitlines():
        if found := re.match(r"\s*([\d,]+) \([ \d.]+%\)\s+([^:]+):(.*)", line):
            count, file, function = found.groups()
            counts[part_of(file, function)] += int(count.replace(",", ""))
    return Counter({part: count / operations for part, count in counts.items()})


def part_of(file: str, function: str) -> str:
    """Return the part that a source file of ours belongs to, or else the function it serves."""
    places = [file, function] if file.startswith("crates/") else [function]
    named = (part for place in places for part, pattern in PARTS if re.search(pattern, place))
    return next(named, LIBRARIES)


if __name__ == "__main__":
    main()
