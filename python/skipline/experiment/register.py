"""The register of predictions: what was said, when, in which commit, and what has become of it."""

import subprocess
from pathlib import Path
from typing import NamedTuple

from skipline.experiment import catalogue
from skipline.experiment.prediction import Prediction, Registered
from skipline.text.table import Column, TextTable

FOLDER = f"{catalogue.FOLDER}/predictions"


class Commit(NamedTuple):
    """A commit's short hash and the day it was made."""

    short_hash: str
    day: str


class Line(NamedTuple):
    """A prediction of an experiment, and the commit that introduced its file, if it is known."""

    identifier: str
    registered: Registered
    prediction: Prediction
    commit: Commit | None


def lines(folder: str = FOLDER) -> list[Line]:
    """Return all predictions, in the order of their files."""
    found = []
    for path in catalogue.paths(folder):
        entry = catalogue.load(path)
        if (registered := entry.experiment.registered) is None:
            continue
        commit = introduced(path)
        found += [
            Line(entry.identifier, registered, prediction, commit)
            for prediction in entry.experiment.prediction
        ]
    return found


def introduced(path: str) -> Commit | None:
    """Return the commit that added a file; None outside of a repository's whole history."""
    if not Path(path).is_file() or _git("rev-parse", "--is-shallow-repository") != ["false"]:
        return None
    words = _git("log", "--diff-filter=A", "--format=%h %cs", "--", path)
    return Commit(words[-2], words[-1]) if words else None


def _git(*arguments: str) -> list[str]:
    """Return the words that git prints; none where it fails."""
    try:
        done = subprocess.run(
            ["git", *arguments], capture_output=True, text=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.split() if done.returncode == 0 else []


def table(found: list[Line]) -> TextTable:
    """Return a row per prediction: what, bounds, day, commit, what became of it."""
    columns = (
        *(Column(name, name) for name in ("experiment", "prediction")),
        *(Column(name, name, form=",.4g", right=True) for name in ("says", "low", "high")),
        *(Column(name, name) for name in ("unit", "registered", "commit")),
        Column("measured", "measured", form=",.4g", absent="–", right=True),
        Column("outcome", "outcome"),
    )
    rows = TextTable(columns)
    for line in found:
        one = line.prediction
        commit = "–" if line.commit is None else line.commit.short_hash
        said = (one.text, one.predicted, one.low, one.high, one.unit)
        day = line.registered.on.isoformat()
        rows.add(line.identifier, *said, day, commit, one.measured, one.outcome)
    return rows


def as_json(found: list[Line]) -> dict[str, object]:
    """Return the register for programs."""
    return {
        "predictions": [
            {
                "experiment": line.identifier,
                "registered": line.registered.on.isoformat(),
                "how_to_measure": line.registered.how_to_measure,
                "commit": None if line.commit is None else line.commit.short_hash,
                **line.prediction.model_dump(mode="json"),
                "outcome": line.prediction.outcome,
            }
            for line in found
        ]
    }
