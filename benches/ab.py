"""Measures two revisions of Skipline in turn: the speed of the second beside that of the first.

Each revision is exported and built below target/ab; `.` is the working tree as it is. Every round
runs every load with both, the order changing from round to round, each in a process of its own.
Printed are million line operations per second of both and the ratio of B to A within a round: its
median and its quartiles over the rounds. A ratio whose quartiles lie on both sides of 1 is no
difference. The last column says whether both gave the same result, wall-clock time apart.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILDS = ROOT / "target" / "ab"
L2FWD = "experiments/ddio-bench/l2fwd.toml"
SHORT = {"run.max_batches": 10, "run.batch_packets": 16_384}
# Loads of each trace: a run of less than a tenth of a second is mostly the host's noise.
SHORT_TRACE, LONG_TRACE = 2_000_000, 20_000_000


def trace_file(loads: int) -> Path:
    """Return where random lines of 64 MiB are, as in the standard trace, but fewer."""
    return BUILDS / f"64mib-random-{loads}.raw64"


# Loads by name: arguments of the worker below, which is the same for both revisions.
WORK: dict[str, list[object]] = {
    "l2fwd, defaults": ["run", L2FWD, SHORT],
    "l2fwd, 256 descriptors": ["run", L2FWD, {**SHORT, "rx_descriptors": 256}],
    "l2fwd, 60 B": ["run", L2FWD, {**SHORT, "packet_bytes": 60, "rx_descriptors": 1024}],
    "l2fwd, 8 cores": ["run", L2FWD, {**SHORT, "cores": 8, "rx_descriptors": 256}],
    "trace, three-level-lru": ["trace", str(trace_file(LONG_TRACE)), "three-level-lru"],
    "trace, skylake-gold-6140": ["trace", str(trace_file(SHORT_TRACE)), "skylake-gold-6140"],
}
WORKER = """
import hashlib, json, sys
from skipline import _core
kind, subject, how = json.loads(sys.argv[1])
if kind == "run":
    settings = [(key, str(value)) for key, value in how.items()]
    result = json.loads(_core.run(subject, settings, 1))
else:
    result = json.loads(_core.trace(subject, how))
rate = result["line_ops"] / result["wall_s"]
# Time on the wall, sentences for people and names of metrics are no results of the simulation.
for key in ("wall_s", "line_ops_per_s", "real_time_factor", "answer", "notes"):
    result.pop(key, None)
for metric in result.get("metrics", {}).values():
    for key in ("group", "label", "headline"):
        metric.pop(key, None)
print(rate, hashlib.sha256(json.dumps(result).encode()).hexdigest())
"""


@dataclass(frozen=True)
class Build:
    """A revision with its compiled module."""

    name: str
    tree: Path

    def run(self, work: list[object]) -> tuple[float, str]:
        """Return line operations per second of one run, and a digest of its result."""
        done = subprocess.run(
            [sys.executable, "-c", WORKER, json.dumps(work)],
            cwd=self.tree,
            env={**os.environ, "PYTHONPATH": str(self.tree / "python")},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        rate, digest = done.stdout.split()
        return float(rate), digest


@dataclass
class Rates:
    """Of one load, round by round."""

    a: list[float] = field(default_factory=list)
    b: list[float] = field(default_factory=list)
    digests: set[str] = field(default_factory=set)

    def row(self, name: str) -> str:
        """Write a line of the table."""
        ratios = [b / a for a, b in zip(self.a, self.b, strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
        rates = (f"{statistics.median(rates) / 1e6:.1f}" for rates in (self.a, self.b))
        ratio = f"{middle:.3f} | {low:.3f} to {high:.3f}"
        results = "same" if len(self.digests) == 1 else "differ"
        return f"| {name} | {' | '.join(rates)} | {ratio} | {results} |"


def build(revision: str) -> Build:
    """Export and compile a revision; what is there already is kept."""
    if revision == ".":
        tree = ROOT
        target = BUILDS / "working-tree-target"
    else:
        commit = _git("rev-parse", "--verify", f"{revision}^{{commit}}").strip()
        tree, target = BUILDS / commit[:12], BUILDS / f"{commit[:12]}-target"
        if not tree.exists():
            tree.mkdir(parents=True)
            archive = subprocess.run(
                ["git", "archive", commit], cwd=ROOT, stdout=subprocess.PIPE, check=True
            )
            subprocess.run(["tar", "-x", "-C", tree], input=archive.stdout, check=True)
    print(f"building {revision}", file=sys.stderr)
    subprocess.run(
        ["cargo", "build", "--release", "--locked", "--quiet", "-p", "skipline-python"],
        cwd=tree,
        env={**os.environ, "CARGO_TARGET_DIR": str(target)},
        check=True,
    )
    name = "lib_core.dylib" if sys.platform == "darwin" else "lib_core.so"
    module = target / "release" / name
    if tree == ROOT:
        # The working tree's own module stays what it is.
        tree = BUILDS / "working-tree"
        shutil.rmtree(tree, ignore_errors=True)
        shutil.copytree(
            ROOT / "python", tree / "python", ignore=shutil.ignore_patterns("_core*.so")
        )
        for folder in ("platforms", "devices", "software", "testbeds", "experiments"):
            shutil.copytree(ROOT / folder, tree / folder)
    shutil.copyfile(module, tree / "python" / "skipline" / "_core.abi3.so")
    return Build(revision, tree)


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def write_trace(loads: int) -> None:
    """Write a trace unless it is there."""
    if trace_file(loads).exists():
        return
    state, mask = 42, 2**64 - 1
    with trace_file(loads).open("wb") as file:
        for _ in range(loads):
            state = (state + 0x9E3779B97F4A7C15) & mask
            mixed = ((state ^ state >> 30) * 0xBF58476D1CE4E5B9) & mask
            mixed = ((mixed ^ mixed >> 27) * 0x94D049BB133111EB) & mask
            line = (mixed ^ mixed >> 31) & ((64 << 20) // 64 - 1)
            file.write((line * 64).to_bytes(8, "little"))


def main() -> None:
    """Build both, measure in turn, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("a", help="revision to compare with, or . for the working tree")
    parser.add_argument("b", help="revision in question, likewise")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", help="loads whose name holds this text")
    arguments = parser.parse_args()
    a, b = build(arguments.a), build(arguments.b)
    for size in (SHORT_TRACE, LONG_TRACE):
        write_trace(size)
    loads = {name: work for name, work in WORK.items() if (arguments.only or "") in name}
    rates = {name: Rates() for name in loads}
    for number in range(arguments.rounds):
        for name, work in loads.items():
            pair = [(a, rates[name].a), (b, rates[name].b)]
            for one, measured in pair if number % 2 == 0 else reversed(pair):
                rate, digest = one.run(work)
                measured.append(rate)
                rates[name].digests.add(digest)
        print(f"round {number + 1} of {arguments.rounds}", file=sys.stderr)
    print(f"| load | A = {a.name} (M/s) | B = {b.name} (M/s) | B / A | quartiles | results |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, measured_rates in rates.items():
        print(measured_rates.row(name))


if __name__ == "__main__":
    main()
