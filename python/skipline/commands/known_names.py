"""Names that commands take: those of built-in files, and paths on disk."""

from collections.abc import Iterator
from pathlib import Path

from skipline import _core, resources
from skipline.experiment import catalogue, claims_table
from skipline.text import toml_model

# The key by which a kind of file is recognised, looked for in this order.
_KINDS = {
    "settings": "testbed",
    "experiments": "calibration",
    "platform": "scenario",
    "testbed": "scenario",
    "scenario": "experiment",
}
# Folders of facts, which are of none of these kinds.
_FACTS = ("platforms/", "devices/", "software/")


def scenarios() -> list[str]:
    """Return the paths of the built-in scenarios."""
    return _of_kind("scenario")


def calibrations() -> list[str]:
    """Return the paths of the built-in calibrations."""
    return _of_kind("calibration")


def experiments() -> list[str]:
    """Return the identifiers of all experiments."""
    return catalogue.identifiers()


def sources() -> list[str]:
    """Return the short names of the sources of claims."""
    rows = claims_table.read(f"{catalogue.FOLDER}/{claims_table.FILE}")
    return list(dict.fromkeys(row.source_key for row in rows))


def paths(typed: str, ending: str = "", *, folders_only: bool = False) -> Iterator[str]:
    """Yield folders, and files with `ending`, whose path begins as typed; folders end with `/`."""
    folder, slash, begun = typed.rpartition("/")
    try:
        entries = list(Path(folder + slash).expanduser().iterdir())
    except (OSError, RuntimeError):  # no such folder, or no such user
        return
    for entry in sorted(entries):
        hidden = entry.name.startswith(".") and not begun.startswith(".")
        if hidden or not entry.name.startswith(begun):
            continue
        if entry.is_dir():
            yield f"{folder}{slash}{entry.name}/"
        elif entry.name.endswith(ending) and not folders_only:
            yield f"{folder}{slash}{entry.name}"


def _of_kind(kind: str) -> list[str]:
    files = [path for path in _core.builtin_files() if path.endswith(".toml")]
    return [path for path in files if not path.startswith(_FACTS) and _kind(path) == kind]


def _kind(path: str) -> str | None:
    keys = toml_model.top_level(resources.read_keys(path), path)
    return next((kind for key, kind in _KINDS.items() if key in keys), None)
