"""The register of predictions: what was said, when, in which commit, and what has become of it."""

import subprocess
import tomllib
from pathlib import Path
from typing import NamedTuple

from skipline._core import InputError
from skipline.experiment import catalogue
from skipline.experiment.definition import Experiment
from skipline.experiment.prediction import Prediction, Registered
from skipline.text.table import Column, TextTable

FOLDER = f"{catalogue.FOLDER}/predictions"


class Commit(NamedTuple):
    """A commit's short hash, the day it was made, and whether its predictions are still those."""

    short_hash: str
    day: str
    is_unchanged: bool

    @property
    def text(self) -> str:
        """The hash, and a word where what it introduced is no longer what stands here."""
        return self.short_hash if self.is_unchanged else f"{self.short_hash}, changed since"


class Line(NamedTuple):
    """A prediction of an experiment, and the commit that introduced its file, if it is known."""

    identifier: str
    registered: Registered
    prediction: Prediction
    commit: Commit | None


def lines(folder: str = FOLDER) -> list[Line]:
    """Return all predictions, in the order of their files; InputError if there are none."""
    found: list[Line] = []
    for path in catalogue.paths(folder):
        entry = catalogue.load(path)
        if (registered := entry.experiment.registered) is None:
            continue
        commit = introduced(path, entry.experiment)
        found += [
            Line(entry.identifier, registered, prediction, commit)
            for prediction in entry.experiment.prediction
        ]
    if not found:
        raise InputError(f"{folder}: no predictions, neither on disk nor built in")
    return found


def introduced(path: str, now: Experiment) -> Commit | None:
    """Return the commit that added a file; None outside of a repository's whole history."""
    file = Path(path)
    if not file.is_file() or _git(file, "rev-parse", "--is-shallow-repository").strip() != "false":
        return None
    words = _git(file, "log", "--diff-filter=A", "--format=%h %cs", "--", file.name).split()
    if not words:
        return None
    short_hash, day = words[-2:]
    then = _said(_git(file, "show", f"{short_hash}:./{file.name}"))
    said = [one.model_dump(include=_NUMBERS) for one in now.prediction]
    return Commit(short_hash, day, is_unchanged=then == said)


# What a commit pins: everything but what is added later, and words about the bounds.
_NUMBERS = {"text", "value", "predicted", "low", "high", "unit"}


def _said(text: str) -> list[dict[str, object]]:
    """Return what the predictions in the text of a file said."""
    tables = tomllib.loads(text).get("prediction", [])
    return [Prediction.model_validate(one).model_dump(include=_NUMBERS) for one in tables]


def _git(file: Path, *arguments: str) -> str:
    """Return what git prints in the folder of a file; nothing where it fails."""
    command = ["git", "-C", str(file.resolve().parent), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def table(found: list[Line]) -> TextTable:
    """Return a row per prediction: what, bounds, day, commit, what became of it."""
    columns = (
        *(Column(name, name) for name in ("experiment", "prediction")),
        *(Column(name, name, form=",.4g", right=True) for name in ("says", "low", "high")),
        *(Column(name, name) for name in ("unit", "registered", "commit")),
        Column("modelled", "modelled", form=",.4g", absent="–", right=True),
        Column("measured", "measured", form=",.4g", absent="–", right=True),
        Column("outcome", "outcome"),
    )
    rows = TextTable(columns)
    for line in found:
        one = line.prediction
        commit = "not known here" if line.commit is None else line.commit.text
        said = (one.text, one.predicted, one.low, one.high, one.unit)
        day = line.registered.on.isoformat()
        rows.add(line.identifier, *said, day, commit, one.modelled, one.measured, one.outcome)
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
                "is_unchanged": None if line.commit is None else line.commit.is_unchanged,
                **line.prediction.model_dump(mode="json"),
                "outcome": line.prediction.outcome,
            }
            for line in found
        ]
    }
