"""An experiment that is about to run: its points, seeds and directory, all of them checked."""

import json
from pathlib import Path
from typing import NamedTuple

from skipline import _core, atomic
from skipline._core import InputError
from skipline.experiment import claim_verdicts, claims_table, outcome, trivial
from skipline.experiment.catalogue import Entry
from skipline.experiment.points import of_null_models, points
from skipline.experiment.runner import Batch
from skipline.experiment.store import PointStore

DEFAULT_FOLDER = Path("reports")


class Prepared(NamedTuple):
    """An experiment that is about to run."""

    entry: Entry
    batch: Batch
    directory: Path


def prepare(entry: Entry, seed: int | None, directory: Path) -> Prepared:
    """Find out before the run, not after it, what is wrong with an experiment or its directory."""
    own = points(entry)
    found = [*own, *of_null_models(entry, own)]
    _check_seeds(seed, entry.experiment.most_repeats or entry.experiment.repeats)
    claims_table.check(entry)
    claim_verdicts.check_before(entry)
    resolved = [
        json.loads(_core.check_scenario(point.scenario, point.overrides)) for point in found
    ]
    if entry.experiment.trivial is not None:
        platform = str(resolved[0]["platform"])
        trivial.capacity_of_a_way(entry.experiment.trivial, platform, found[0].scenario)
    first = _core.DEFAULT_SEED if seed is None else seed
    store = PointStore(atomic.prepare_directory(directory) / outcome.POINTS_FOLDER)
    seeds = range(first, first + entry.experiment.repeats)
    return Prepared(entry, Batch(found, seeds, store), directory)


def _check_seeds(seed: int | None, repeats: int) -> None:
    most = (1 << 64) - repeats
    if seed is not None and seed > most:
        raise InputError(f"--seed {seed}: allowed: 0 to {most}, as {repeats} repeats count up")
