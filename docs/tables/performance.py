"""The tables of speed, from the JSON that the benchmarks of benches/ write."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from kept_results import REPOSITORY, Kept, read
from page_blocks import table

_MINUTE_S = 60
# How the names of the parts begin that belong to packets: a sample of lines leaves them.
_OF_PACKETS = ("devices", "software", "schedule", "libraries")
_DRAM = "DRAM"
# Lines of which one is looked up.
_SAMPLED = (4, 8, 16)
_SHOWN = 8
# Times of less than this are not told apart.
_LEAST_S = 0.5


def measure(name: str) -> Kept:
    """Run a benchmark of benches/."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "results.json"
        program = REPOSITORY / "benches" / f"{name}.py"
        subprocess.run([sys.executable, program, "--json", file], check=True)
        found: Kept = json.loads(file.read_text(encoding="utf-8"))
    return found


def peers(found: Kept) -> str:
    """Return million accesses per second: median, and the slowest and fastest round."""
    traces = list(found["simulators"][0]["rates"])
    rows = [
        [one["name"], one["models"], *(_spread(one["rates"][trace], "{:.3g}") for trace in traces)]
        for one in found["simulators"]
    ]
    about = f"{found['rounds']} rounds, every simulator once in each, on {found['host']}"
    return f"Million accesses per second; {about}.\n\n" + table(
        ["simulator", "models", *traces], rows
    )


def instructions(found: Kept) -> str:
    """Return instructions per line operation: a row for each part, a column for each scenario."""
    scenarios = found["scenarios"]
    parts = list(next(iter(scenarios.values()))["parts"])
    rows = [
        [part, *(f"{scenario['parts'][part]:.0f}" for scenario in scenarios.values())]
        for part in parts
    ]
    sums = (sum(scenario["parts"].values()) for scenario in scenarios.values())
    rows.append(["all", *(f"{count:.0f}" for count in sums)])
    transfers = (f"{one['dram_transfers']:.2f}" for one in scenarios.values())
    rows.append(["DRAM transfers per line operation", *transfers])
    return table(["instructions per line operation", *scenarios], rows)


def sampled(found: Kept) -> str:
    """Return what a sample of the lines would leave at most, derived from the parts.

    Nothing is in it for the sampling itself. DRAM for all lines: each is reserved one by one, since
    bandwidth, rows and queues are shared by all of them.
    """
    scenarios: list[dict[str, float]] = [one["parts"] for one in found["scenarios"].values()]
    of_packets = [
        sum(count for part, count in parts.items() if part.startswith(_OF_PACKETS))
        for parts in scenarios
    ]
    rows = []
    for dram_for_all in (False, True):
        dram = "DRAM for all" if dram_for_all else "DRAM too"
        stays = [parts[_DRAM] * dram_for_all for parts in scenarios]
        for one_in in _SAMPLED:
            left = [
                reserved + packets + (sum(parts.values()) - reserved - packets) / one_in
                for parts, packets, reserved in zip(scenarios, of_packets, stays, strict=True)
            ]
            if one_in == _SHOWN:
                counts = (f"{count:.0f}" for count in left)
                rows.append([f"n = {one_in}, {dram}: instructions", *counts])
            ratios = (
                f"{sum(parts.values()) / count:.1f}"
                for parts, count in zip(scenarios, left, strict=True)
            )
            rows.append([f"n = {one_in}, {dram}: times as fast", *ratios])
    return table(["at most, one line in n looked up", *found["scenarios"]], rows)


def scaling(found: Kept) -> str:
    """Return the time of each machine relative to the first of its kind, and two cores' gain."""
    rows = [
        [f"{machines}: {', '.join(ratios)}", ", ".join(_ratio(one) for one in ratios.values())]
        for machines, ratios in found["ratios"].items()
    ]
    memory = ", ".join(f"{size:.0f}" for size in found["memory_mib"].values())
    both = f"{found['independent']} independent scenarios on two cores, of their time on one"
    rows.append([both, _spread(found["two_cores"], "{:.2f}")])
    rows.append([f"memory: {', '.join(found['memory_mib'])}", f"{memory} MiB"])
    return table(["machines", "relative time per line operation"], rows)


def start(found: Kept) -> str:
    """Return how long commands take that do nothing, and small runs."""
    rows = [[f"`{command}`", f"{ms:.0f}"] for command, ms in found["medians_ms"].items()]
    runs = [
        [f"`{command}`", *(_spread(times[part], "{:.0f}") for part in ("outside", "simulation"))]
        for command, times in found["runs"].items()
    ]
    header = ["small run, settled", "ms from the shell", "ms of simulation, with JSON"]
    of_runs = table(header, runs)
    return f"{table(['command', 'ms'], rows)}\n\n{of_runs}"


def durations(found: Kept) -> str:
    """Return the table, shortest first."""
    seconds: dict[str, float] = found["seconds"]
    rows = [
        [f"`{command}`", _rounded(taken)]
        for command, taken in sorted(seconds.items(), key=lambda item: item[1])
    ]
    return table(["command", "takes"], rows)


def _ratio(spread: list[float]) -> str:
    return "1" if set(spread) == {1} else _spread(spread, "{:.2f}")


def _spread(spread: list[float], number: str) -> str:
    median, least, most = (number.format(value) for value in spread)
    return f"{median} ({least} to {most})"


def _rounded(seconds: float) -> str:
    if seconds < _LEAST_S:
        return "less than half a second"
    if seconds < 2 * _MINUTE_S:
        return f"{_two_digits(seconds)} s"
    return f"{_two_digits(seconds / _MINUTE_S)} min"


def _two_digits(number: float) -> str:
    return f"{float(f'{number:.2g}'):g}"


def written(name: str) -> str:
    """Return a table from its kept results."""
    tables = {
        "durations": durations,
        "instructions": instructions,
        "peers": peers,
        "scaling": scaling,
        "start": start,
    }
    return tables[name](read(name))
