"""`skipline experiment list | show | run`."""

import csv
import io
import json
import os
from pathlib import Path

from skipline import _core, atomic, terminal
from skipline.experiment import catalogue, outcome, trivial, view
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


def run(name: str, jobs: int | None, seed: int | None, out: Path | None, output: str) -> None:
    """Simulate all points, write the directory, print the comparison."""
    entry = catalogue.find(name)
    planned = points(entry)
    directory = atomic.prepare_directory(out or DEFAULT_FOLDER / entry.identifier)
    _check_platform(entry, planned[0])
    try:
        concluded, reused = _simulate(entry, planned, directory, seed, jobs)
    except KeyboardInterrupt:
        raise terminal.Interrupted(
            f"finished points are kept in {directory / outcome.POINTS_FOLDER}; "
            "the next run goes on from there"
        ) from None
    report = directory / REPORT_FILE
    if output == "json":
        terminal.emit(json.dumps(concluded.as_json()))
    elif output == "csv":
        terminal.emit(concluded.table.write_csv())
    else:
        simulated = len(planned) - reused
        notes = [
            f"{simulated} points simulated, reused {reused}; results in {directory}",
            f"Report: {report.resolve()}",
        ]
        terminal.show(view.overview(concluded, notes))


def _simulate(
    entry: Entry, planned: list[Point], directory: Path, seed: int | None, jobs: int | None
) -> tuple[outcome.Outcome, int]:
    """Run the points and write the directory; return the outcome and how many were reused."""
    from skipline.report.experiment_page import page

    store = PointStore(directory / outcome.POINTS_FOLDER, entry.scenario_path, seed)
    with terminal.progress_bar(entry.identifier) as bar:
        runner = Runner(entry.scenario_path, seed, store)
        finished, reused = runner.run(planned, jobs or os.cpu_count() or 1, bar)
    concluded = outcome.conclude(entry, finished, seed)
    outcome.write(concluded, directory)
    atomic.write(directory / REPORT_FILE, page(concluded))
    return concluded, reused


def _check_platform(entry: Entry, point: Point) -> None:
    """Find out before the run, not after it, that the platform lacks a fact that is needed."""
    if entry.experiment.trivial is not None:
        resolved = json.loads(_core.check_scenario(entry.scenario_path, point.overrides))
        trivial.capacity_of_a_way(entry.experiment.trivial, str(resolved["platform"]))
