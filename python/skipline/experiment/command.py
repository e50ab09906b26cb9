"""`skipline experiment list | show | run`."""

import csv
import io
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from skipline import _core, atomic, terminal
from skipline._core import InputError
from skipline.experiment import catalogue, outcome, together, trivial, view
from skipline.experiment.catalogue import Entry
from skipline.experiment.points import Point, points
from skipline.experiment.runner import Runner
from skipline.experiment.store import PointStore

DEFAULT_FOLDER = Path("reports")
REPORT_FILE = "report.html"


def list_all(output: str) -> None:
    """Print all experiments."""
    entries = catalogue.entries()
    rows = [
        {
            "id": entry.identifier,
            "points": view.point_count(entry),
            "question": entry.experiment.question,
            "path": entry.path,
        }
        for entry in entries
    ]
    if output == "json":
        terminal.emit(json.dumps({"experiments": rows}, indent=1))
    elif output == "csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, ["id", "points", "question", "path"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        terminal.emit(text.getvalue())
    else:
        terminal.show(view.listing(entries))


def show(name: str, output: str) -> None:
    """Print one experiment's definition; as CSV its points."""
    entry = catalogue.find(name)
    planned = points(entry)
    if output == "json":
        definition = entry.experiment.model_dump(mode="json")
        settings = [{**point.settings, "basis": point.basis} for point in planned]
        whole = {"id": entry.identifier, "path": entry.path, **definition, "points": settings}
        terminal.emit(json.dumps(whole, indent=1))
    elif output == "csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, [*planned[0].settings, "basis"], lineterminator="\n")
        writer.writeheader()
        writer.writerows({**point.settings, "basis": point.basis} for point in planned)
        terminal.emit(text.getvalue())
    else:
        terminal.show(view.definition(entry, planned))


def run(
    names: list[str], jobs: int | None, seed: int | None, out: Path | None, output: str
) -> None:
    """Simulate all points of the experiments, write their directories, print the comparison."""
    wanted = list(dict.fromkeys(names))
    plans = [_plan(name, seed, out, several=len(wanted) > 1) for name in wanted]
    done: list[Done] = []
    for plan in plans:
        try:
            done.append(_simulate(plan, seed, jobs))
        except KeyboardInterrupt:
            raise terminal.Interrupted(
                f"finished points are kept in {plan.directory / outcome.POINTS_FOLDER}; "
                "the next run goes on from there"
            ) from None
    outcomes = [entry.outcome for entry in done]
    if output == "json":
        terminal.emit(json.dumps(_as_json(outcomes)))
    elif output == "csv":
        tables = [concluded.table for concluded in outcomes]
        terminal.emit(pl.concat(tables, how="diagonal").write_csv())
    else:
        terminal.show(view.overview(outcomes, [_note(entry) for entry in done]))


class Plan(NamedTuple):
    """An experiment that is going to run."""

    entry: Entry
    points: list[Point]
    directory: Path


class Done(NamedTuple):
    """An experiment that has run; `reused` points were kept from before."""

    plan: Plan
    outcome: outcome.Outcome
    reused: int


def _plan(name: str, seed: int | None, out: Path | None, *, several: bool) -> Plan:
    """Find out before the run, not after it, what is wrong with an experiment or its directory."""
    entry = catalogue.find(name)
    planned = points(entry)
    _check_seeds(seed, entry.experiment.repeats)
    for point in planned:
        resolved = json.loads(_core.check_scenario(entry.scenario_path, point.overrides))
    if entry.experiment.trivial is not None:
        trivial.capacity_of_a_way(entry.experiment.trivial, str(resolved["platform"]))
    folder = DEFAULT_FOLDER if out is None else out
    here = folder / entry.identifier if out is None or several else folder
    return Plan(entry, planned, atomic.prepare_directory(here))


def _check_seeds(seed: int | None, repeats: int) -> None:
    most = (1 << 64) - repeats
    if seed is not None and seed > most:
        raise InputError(f"--seed {seed}: allowed: 0 to {most}, as {repeats} repeats count up")


def _simulate(plan: Plan, seed: int | None, jobs: int | None) -> Done:
    from skipline.report.experiment_page import page

    entry, planned, directory = plan
    store = PointStore(directory / outcome.POINTS_FOLDER, entry.scenario_path)
    first = _core.DEFAULT_SEED if seed is None else seed
    with terminal.progress_bar(entry.identifier) as bar:
        seeds = range(first, first + entry.experiment.repeats)
        runner = Runner(entry.scenario_path, seeds, store)
        finished, reused = runner.run(planned, jobs or os.cpu_count() or 1, bar)
    concluded = outcome.conclude(entry, finished, seed)
    outcome.write(concluded, directory)
    atomic.write(directory / REPORT_FILE, page(concluded))
    return Done(plan, concluded, reused)


def _as_json(outcomes: list[outcome.Outcome]) -> dict[str, Any]:
    if len(outcomes) == 1:
        return outcomes[0].as_json()
    return {
        "experiments": [concluded.as_json() for concluded in outcomes],
        "together": together.conclude(outcomes).model_dump(mode="json"),
    }


def _note(done: Done) -> tuple[str, str]:
    simulated = len(done.plan.points) - done.reused
    return (
        f"{simulated} points simulated, {done.reused} reused; tables in {done.plan.directory}",
        str((done.plan.directory / REPORT_FILE).resolve()),
    )
