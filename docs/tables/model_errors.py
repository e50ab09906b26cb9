"""How far answers may be off: measured latencies by experiment, and intervals by kind of number."""

import json
import subprocess
import sys
from typing import Any

from kept_results import REPOSITORY, Kept, read
from page_blocks import table
from skipline.model_error import intervals, kinds, rows, view

_COMPARED = rows.EXPERIMENTS
COMMAND = f"skipline experiment run {' '.join(_COMPARED)}"
_LATENCIES = {"p50": (10, 25), "p99": (20, 25)}
# The server without a part of its own: what a model must beat.
_NULL = "as if the server took no time"
_OWN = "the server's own part (`latency_ns`)"


def measure() -> Kept:
    """Run the experiments; keep their rows where results look for them."""
    command = [sys.executable, "-m", "skipline", "experiment", "run", *_COMPARED]
    done = subprocess.run(
        [*command, "--format", "json"], cwd=REPOSITORY, stdout=subprocess.PIPE, check=True
    )
    found = json.loads(done.stdout)["experiments"]
    of_all = [row for one in found for row in _rows(one)]
    (REPOSITORY / rows.FILE).write_text(rows.as_csv(of_all), encoding="utf-8")
    return {
        "command": COMMAND,
        "latencies": {
            one["identifier"]: latencies for one in found if (latencies := _latencies(one))
        },
    }


def _rows(outcome: dict[str, Any]) -> list[rows.Row]:
    axes = [axis["key"] for axis in outcome["experiment"]["axis"]]
    return rows.of_results(outcome["identifier"], axes, outcome["results"])


def _latencies(outcome: dict[str, Any]) -> dict[str, list[list[float]]]:
    """Return for each figure the measured, simulated and generator's own latency of every point."""
    axes = [axis["key"] for axis in outcome["experiment"]["axis"]]
    found: dict[str, list[list[float]]] = {}
    own = {
        (row["component"], *(row[key] for key in axes)): row["predicted"]
        for row in outcome["results"]
        if row["metric"] == "latency_ns"
    }
    for row in outcome["results"]:
        if row["metric"] == "generator_latency_ns" and row["measured"] is not None:
            component = row["component"]
            server = own[(component, *(row[key] for key in axes))] / 1e3
            numbers = [row["measured"], row["predicted"], row["predicted"] - server]
            found.setdefault(component, []).append(numbers)
    return found


def latencies() -> str:
    """Return the table of latencies: how many are how close, by experiment."""
    kept: dict[str, dict[str, list[list[float]]]] = read("model-errors")["latencies"]
    body = [_line(f"`{name}`", of) for name, of in kept.items()]
    together = {
        figure: [numbers for of in kept.values() for numbers in of[figure]] for figure in _LATENCIES
    }
    body += [_line("all", together), _line(_NULL, together, 2)]
    body.append(_line(_OWN, _of_the_server(together)))
    header = ["experiment", "rows"]
    for figure, (near, far) in _LATENCIES.items():
        header += [f"{figure} within {near} %", f"{figure} within {far} %", f"worst {figure}"]
    return table(header, body)


def _of_the_server(
    of: dict[str, list[list[float]]],
) -> dict[str, list[list[float]]]:
    """Return latencies without what the generator adds to both."""
    return {
        figure: [
            [measured - outside, simulated - outside] for measured, simulated, outside in all_of
        ]
        for figure, all_of in of.items()
    }


def _line(name: str, of: dict[str, list[list[float]]], column: int = 1) -> list[str]:
    cells = [name, str(len(of["p50"]))]
    for figure, bounds in _LATENCIES.items():
        errors = [100 * (numbers[column] / numbers[0] - 1) for numbers in of[figure]]
        within = [sum(abs(error) <= bound for error in errors) for bound in bounds]
        cells += [f"{count} ({100 * count / len(errors):.0f} %)" for count in within]
        cells.append(f"{max(errors, key=abs):+.0f} %")
    return cells


def by_kind() -> str:
    """Return the table of intervals: where they come from, and how often they cover."""
    body = []
    for kind in kinds.KINDS:
        own = intervals.of_its_rows(kind, rows.kept())
        interval = intervals.from_errors(kind, [intervals.error(kind, row) for row in own])
        shares = [intervals.leave_out_each(kind, own, factor).percent for factor in (1.0, 0.5)]
        predicted = intervals.leave_out_each(kind, own, basis="predicted")
        experiments = len({row.experiment for row in own})
        body.append(
            [
                kind.text,
                view.error_text(interval),
                str(len(own)),
                str(experiments),
                *(f"{share:.0f} %" for share in shares),
                f"{predicted.covered} of {predicted.rows}",
            ]
        )
    body += [[text, why, "", "", "", "", ""] for text, (_, why) in kinds.UNJUDGED.items()]
    return table(
        ["number", "error, 90 %", "rows", "experiments", "covers", "halved", "predicted, covered"],
        body,
    )
