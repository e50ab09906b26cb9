"""`skipline experiment list | show | run`."""

import csv
import io
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from skipline import terminal
from skipline.experiment import catalogue, outcome, plan, together, view
from skipline.experiment.plan import Plan
from skipline.experiment.points import points
from skipline.experiment.runner import Runner


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
    folder = plan.DEFAULT_FOLDER if out is None else out
    plans = []
    for name in wanted:
        entry = catalogue.find(name)
        below = out is None or len(wanted) > 1
        plans.append(plan.make(entry, seed, folder / entry.identifier if below else folder))
    done: list[Done] = []
    for planned in plans:
        try:
            done.append(_simulate(planned, seed, jobs))
        except KeyboardInterrupt:
            raise terminal.Interrupted(
                f"finished points are kept in {planned.directory / outcome.POINTS_FOLDER}; "
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


class Done(NamedTuple):
    """An experiment that has run; `reused` points were kept from before."""

    plan: Plan
    outcome: outcome.Outcome
    reused: int


def _simulate(wanted: Plan, seed: int | None, jobs: int | None) -> Done:
    with terminal.progress_bar(wanted.entry.identifier) as bar:
        (ran,) = Runner([wanted.batch]).run(jobs or os.cpu_count() or 1, bar)
    return Done(wanted, plan.conclude(wanted, ran, seed), ran.reused)


def _as_json(outcomes: list[outcome.Outcome]) -> dict[str, Any]:
    if len(outcomes) == 1:
        return outcomes[0].as_json()
    return {
        "experiments": [concluded.as_json() for concluded in outcomes],
        "together": together.conclude(outcomes).model_dump(mode="json"),
    }


def _note(done: Done) -> tuple[str, str]:
    simulated = len(done.plan.batch.points) - done.reused
    facts = [
        f"{simulated} points simulated, {done.reused} reused",
        done.outcome.unsettled,
        f"tables in {done.plan.directory}",
    ]
    return (
        "; ".join(fact for fact in facts if fact),
        str((done.plan.directory / plan.REPORT_FILE).resolve()),
    )
