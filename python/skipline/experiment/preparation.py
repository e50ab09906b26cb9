"""An experiment that is about to run: its points, seeds and directory, all of them checked."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from skipline import _core, atomic
from skipline._core import InputError
from skipline.experiment import claim_verdicts, claims_table, trivial
from skipline.experiment.catalogue import Entry
from skipline.experiment.files import POINTS_FILE
from skipline.experiment.points import of_null_models, points
from skipline.experiment.runner import Batch
from skipline.store import opening

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
    seeds = range(first, first + entry.experiment.repeats)
    store = str(atomic.prepare_directory(directory) / POINTS_FILE)
    opening.check_file(store, write=True)
    opening.require_room(store, len(found) * len(seeds))
    return Prepared(entry, Batch(entry.identifier, found, seeds, store), directory)


def former_points(stores: Iterable[Path]) -> str:
    """Return a sentence on points that versions without a store kept; empty if there are none.

    They had a file for each point, in a folder of the store's name. It is told once.
    """
    folders = [store.with_suffix("") for store in stores if not store.exists()]
    former = [folder for folder in folders if any(folder.glob("**/*.json"))]
    if not former:
        return ""
    others = f" and {len(former) - 1} more folders" if len(former) > 1 else ""
    return (
        f"{former[0]}{others}: points kept by an earlier version, which are stale: this one keeps "
        "them in a store and simulates them again; remove what is there"
    )


def _check_seeds(seed: int | None, repeats: int) -> None:
    most = (1 << 64) - repeats
    if seed is not None and seed > most:
        raise InputError(f"--seed {seed}: allowed: 0 to {most}, as {repeats} repeats count up")
