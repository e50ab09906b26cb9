#!/usr/bin/env python3
"""What DPDK's own test of pools measures here, beside a prediction of it (experiments/predictions).

    python native/dpdk/pool_calls.py

Runs `dpdk-test mempool_perf_autotest` until it has tested a pool without a cache, with one core
and with two (two minutes; the machine must have nothing else to do). Prints cycles of
taking and freeing a buffer one at a time less those of 32 at a time, the latencies of a line here,
and the cycles scaled to those of the prediction's processor.
"""

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parent.parent.parent
PREDICTION = REPOSITORY / "experiments/predictions/pool-calls.toml"
# Lines come as they are printed, not by the page.
TEST = (
    "stdbuf",
    "-oL",
    "dpdk-test",
    "--no-huge",
    "-m",
    "512",
    "--no-pci",
    "-l",
    "0,1",
    "--no-telemetry",
)
_CORES = (1, 2)
# What `short_tests.c` divides by.
_SHORTER = 10
# Buffers that a core takes before it frees them.
_HELD = 32
_LINE = re.compile(
    r"mempool_autotest cache=(\d+) cores=(\d+) n_get_bulk=(\d+) n_put_bulk=(\d+) n_keep=(\d+)"
    r"(?: constant_n=(\d))? rate_persec=(\d+)"
)
# Of Cascade Lake, in its cycles: a locked addition to a line in L1 (A. Fog's instruction tables,
# LOCK XADD of Skylake-X; recalled), a line from another core (the prediction's bounds).
_ATOMIC_CYCLES, _TRANSFER_CYCLES = 18.0, 104.0


class Rate(NamedTuple):
    """Buffers per second of all cores of a test."""

    cores: int
    taken: int
    freed: int
    held: int
    per_s: float


def rates(lines: Iterator[str]) -> list[Rate]:
    """Read the tests of a pool without a cache, up to the first with one or the last."""
    found: list[Rate] = []
    for line in lines:
        if match := _LINE.search(line):
            cache, cores, taken, freed, held, constant, per_s = (
                int(it or 0) for it in match.groups()
            )
            # The next pool begins with one core again.
            if cache or cores > max(_CORES) or cores < (found[-1].cores if found else 1):
                break
            # Sizes that the compiler knows are a case of their own.
            if not constant:
                found.append(Rate(cores, taken, freed, held, _SHORTER * per_s))
            told = f"{cores} cores, {taken} and {freed} at a time, {held} held"
            print(f"\r{told:50}", end="", flush=True)
    print()
    return found


def cycles(found: list[Rate], cores: int, size: int, tsc_hz: float) -> float:
    """Cycles of a core to take and free a buffer, `size` at a time."""
    # With two processors, all of them are two once more: the first counts.
    rate = next(
        rate
        for rate in found
        if (rate.cores, rate.taken, rate.freed, rate.held) == (cores, size, size, _HELD)
    )
    return cores * tsc_hz / rate.per_s


def compiled(name: str, folder: str, *flags: str) -> str:
    """Compile a program that lies beside this one; return its path."""
    source, program = Path(__file__).with_name(f"{name}.c"), str(Path(folder, name))
    always = ("-O2", "-std=gnu11", "-Wall", "-Wextra", "-D_GNU_SOURCE")
    subprocess.run(["cc", *always, *flags, str(source), "-o", program], check=True)
    return program


def line_latencies(folder: str) -> dict[str, float]:
    """Latencies of a line here, in cycles of the time stamp counter, and that counter's clock."""
    program = compiled("line_latencies", folder, "-pthread")
    printed = subprocess.run([program, "0", "1"], capture_output=True, text=True, check=True)
    return {name: float(value) for name, value in map(str.split, printed.stdout.splitlines())}


def measured(preloaded: str) -> list[Rate]:
    """Run DPDK's test, made shorter by what is preloaded."""
    with subprocess.Popen(
        TEST,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"LD_PRELOAD": preloaded},
    ) as test:
        assert test.stdin and test.stdout
        test.stdin.write("mempool_perf_autotest\n")
        test.stdin.flush()
        found = rates(iter(test.stdout))
        test.kill()
    return found


def main() -> int:
    """Measure, and print what was measured beside what was predicted."""
    with tempfile.TemporaryDirectory() as folder:
        latencies = line_latencies(folder)
        found = measured(compiled("short_tests", folder, "-shared", "-fPIC"))
    if len({rate.cores for rate in found}) < len(_CORES):
        print("error: dpdk-test told too little; is dpdk-dev installed?", file=sys.stderr)
        return 1
    tsc_hz = 1e6 * latencies.pop("tsc_mhz")
    print(f"a line here, in cycles at {tsc_hz / 1e9:.2f} GHz: {latencies}")
    scales = {1: _ATOMIC_CYCLES / latencies["atomic"], 2: _TRANSFER_CYCLES / latencies["transfer"]}
    predictions = tomllib.loads(PREDICTION.read_text(encoding="utf-8"))["prediction"]
    for cores, predicted in zip(_CORES, predictions, strict=True):
        single, bulk = (cycles(found, cores, size, tsc_hz) for size in (1, 32))
        here = single - bulk
        print(
            f"cores {cores}: {single:.1f} singly, {bulk:.1f} by 32, difference {here:.1f};"
            f" scaled {here * scales[cores]:.0f}"
            f" (predicted {predicted['predicted']} [{predicted['low']}, {predicted['high']}]:"
            f" {predicted['text']})"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
