"""Finds experiments by identifier: the stem of their TOML file, on disk or built in."""

import posixpath
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from skipline import _core, resources
from skipline._core import InputError
from skipline.text import toml_model
from skipline.text.nearest import did_you_mean

if TYPE_CHECKING:
    from skipline.experiment.definition import Experiment

FOLDER = "experiments"
# A file with this key is an experiment: it names a scenario beside it.
_MARK = "scenario"


class Entry(NamedTuple):
    """An experiment and where it was found."""

    identifier: str
    path: str
    experiment: "Experiment"

    @property
    def scenario_path(self) -> str:
        """Path of the scenario that the points vary."""
        return resources.path_beside(self.path, self.experiment.scenario)

    @property
    def reference_path(self) -> str | None:
        """Path of the table of measured numbers, if there is one."""
        reference = self.experiment.reference
        if reference is None or reference.file is None:
            return None
        path = resources.path_beside(self.path, reference.file)
        if Path(self.path).is_file() and not Path(path).is_file():
            # A built-in table of the same name is not what an experiment on disk asks for.
            raise InputError(f"{path}: no such file; [reference] of {self.path} names it")
        return path


def entries() -> list[Entry]:
    """Return all experiments, by identifier."""
    return sorted((load(path) for path in paths()), key=lambda entry: entry.identifier)


def find(name: str) -> Entry:
    """Return the experiment with identifier `name`, or the one in the TOML file or pipe `name`."""
    if name.endswith(".toml") or _core.is_pipe(name):
        return load(posixpath.normpath(name))
    for path in resources.names_below(FOLDER, ".toml"):
        if name in (_identifier(path), path.removeprefix(f"{FOLDER}/").removesuffix(".toml")):
            return load(path)
    known = identifiers()
    raise InputError(
        f"experiment '{name}': unknown{did_you_mean(name, known)}; known: {', '.join(known)}"
    )


def identifiers() -> list[str]:
    """Return the identifiers of all experiments, in the order of their paths."""
    return [_identifier(path) for path in paths()]


def is_experiment(path: str) -> bool:
    """Return whether the TOML file at `path` is an experiment."""
    return _MARK in toml_model.top_level(resources.read_keys(path), path)


def paths(folder: str = FOLDER) -> list[str]:
    """Return the experiments below `folder`; two of the same identifier are refused."""
    found = [path for path in resources.names_below(folder, ".toml") if is_experiment(path)]
    by_identifier: dict[str, str] = {}
    for path in found:
        other = by_identifier.setdefault(_identifier(path), path)
        if other != path:
            raise InputError(
                f"{path}: identifier '{_identifier(path)}' is also that of {other}; rename one file"
            )
    return found


def _identifier(path: str) -> str:
    return PurePosixPath(path).stem


def load(path: str) -> Entry:
    """Return the experiment in the TOML file at `path`."""
    text = resources.read_keys(path)
    if _MARK not in toml_model.top_level(text, path):
        raise InputError(
            f"{path}: not an experiment: key '{_MARK}' is missing; "
            f"to simulate a scenario: skipline run {path}"
        )
    from skipline.experiment.definition import Experiment

    return Entry(_identifier(path), path, toml_model.load(Experiment, text, path))
