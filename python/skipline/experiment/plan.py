"""An experiment that is going to run: points, seeds, directory, and what is written then."""

import json
from pathlib import Path
from typing import NamedTuple

from skipline import _core, atomic
from skipline._core import InputError
from skipline.experiment import claims_table, judgement, outcome, trivial
from skipline.experiment.catalogue import Entry
from skipline.experiment.points import points
from skipline.experiment.runner import Batch, Ran
from skipline.experiment.store import PointStore

DEFAULT_FOLDER = Path("reports")
REPORT_FILE = "report.html"


class Plan(NamedTuple):
    """An experiment that is going to run."""

    entry: Entry
    batch: Batch
    directory: Path


def make(entry: Entry, seed: int | None, directory: Path) -> Plan:
    """Find out before the run, not after it, what is wrong with an experiment or its directory."""
    planned = points(entry)
    _check_seeds(seed, entry.experiment.repeats)
    claims_table.check(entry)
    judgement.check_before(entry)
    resolved = [
        json.loads(_core.check_scenario(point.scenario, point.overrides)) for point in planned
    ]
    if entry.experiment.trivial is not None:
        platform = str(resolved[0]["platform"])
        trivial.capacity_of_a_way(entry.experiment.trivial, platform, planned[0].scenario)
    first = _core.DEFAULT_SEED if seed is None else seed
    store = PointStore(atomic.prepare_directory(directory) / outcome.POINTS_FOLDER)
    seeds = range(first, first + entry.experiment.repeats)
    return Plan(entry, Batch(planned, seeds, store), directory)


def conclude(plan: Plan, ran: Ran, seed: int | None) -> outcome.Outcome:
    """Judge what ran and write tables and report."""
    from skipline.report.experiment_page import page

    concluded = outcome.conclude(plan.entry, ran.finished, seed)
    outcome.write(concluded, plan.directory)
    atomic.write(plan.directory / REPORT_FILE, page(concluded))
    return concluded


def _check_seeds(seed: int | None, repeats: int) -> None:
    most = (1 << 64) - repeats
    if seed is not None and seed > most:
        raise InputError(f"--seed {seed}: allowed: 0 to {most}, as {repeats} repeats count up")
