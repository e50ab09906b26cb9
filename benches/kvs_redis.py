"""Placements of slice-kvs serve, judged by redis-benchmark in turns.

    cargo build --release -p slice-kvs
    python benches/kvs_redis.py --table slices.toml --latencies latencies.toml

Both servers run all the time and are filled alike; each round asks one after the other, so that the
machine's phases meet both. The server is on one core, the benchmark on another one. It asks for all
keys alike: as many keys as there are hot lines are all hot.
"""

import argparse
import csv
import os
import signal
import statistics
import subprocess
from pathlib import Path
from typing import NamedTuple

PLACEMENTS = ("normal", "slice-aware")


class Server(NamedTuple):
    """A server that runs."""

    placement: str
    process: "subprocess.Popen[str]"
    port: str


def start(options: argparse.Namespace, placement: str) -> Server:
    """Start a server and read where it listens."""
    command = [options.server, "serve", "--table", options.table]
    command += ["--latencies", options.latencies, "--placement", placement]
    command += ["--cores", str(options.core), "--port", "0", "--lines", str(options.keys)]
    command += ["--hot-lines", str(options.hot_lines)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    port = ""
    for line in process.stdout:
        if line.startswith("serving"):
            return Server(placement, process, port)
        port = line.split(",")[0].rpartition(":")[2]
    raise SystemExit(f"error: the server of {placement} did not start")


def benchmark(options: argparse.Namespace, server: Server, test: str, requests: int) -> float:
    """Measure requests per second."""
    command = ["taskset", "-c", str(options.client_core), "redis-benchmark", "-p", server.port]
    command += ["-t", test, "-n", str(requests), "-r", str(options.keys), "-d", "24", "--csv"]
    command += ["-c", "32", "-P", str(options.pipeline)]
    table = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = [row for row in csv.reader(table.splitlines()) if row and row[0] == test.upper()]
    return float(rows[0][1])


def stop(server: Server) -> str:
    """End a server; what it says of its work."""
    os.kill(server.process.pid, signal.SIGINT)
    return server.process.communicate()[0].strip()


def quartiles(values: list[float]) -> str:
    """Write median and quartiles."""
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{middle:.3f} ({low:.3f} to {high:.3f})"


def main() -> None:
    """Run the rounds and print their medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", required=True)
    parser.add_argument("--latencies", required=True)
    parser.add_argument("--server", default="target/release/slice-kvs", type=Path)
    parser.add_argument("--core", default=0, type=int)
    parser.add_argument("--client-core", default=1, type=int)
    parser.add_argument("--keys", default=16_384, type=int)
    parser.add_argument("--hot-lines", default=16_384, type=int)
    parser.add_argument("--pipeline", default=16, type=int)
    parser.add_argument("--requests", default=100_000, type=int)
    parser.add_argument("--rounds", default=21, type=int)
    options = parser.parse_args()
    servers = [start(options, placement) for placement in PLACEMENTS]
    for server in servers:
        # Every key, and enough look-ups for two rankings.
        benchmark(options, server, "set", 10 * options.keys)
        benchmark(options, server, "get", 600_000)
    measured: dict[str, list[list[float]]] = {}
    for test in ("get", "set"):
        measured[test] = [
            [benchmark(options, server, test, options.requests) for server in servers]
            for _ in range(options.rounds)
        ]
    for test, rounds in measured.items():
        for place, placement in enumerate(PLACEMENTS):
            own = [rates[place] / 1e6 for rates in rounds]
            print(f"{test} {placement}: {quartiles(own)} M requests/s")
        ratio = quartiles([aware / normal for normal, aware in rounds])
        print(f"{test} slice-aware relative to normal: {ratio}")
    for server in servers:
        print(f"{server.placement}: {stop(server)}")


if __name__ == "__main__":
    main()
