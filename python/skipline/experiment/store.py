"""Keeps finished points, so that an interrupted experiment goes on where it stopped.

A kept point is reused only when everything that decides its result is the same: the resolved
scenario with the content of every file that it names, the platform, the seed and the simulator.
"""

import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from skipline import _core, atomic
from skipline.experiment.points import Point
from skipline.result import Result


class _Kept(BaseModel):
    key: str
    result: dict[str, Any]


class PointStore:
    """One JSON file per point and seed in a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = atomic.prepare_directory(directory)

    def read(self, point: Point, seed: int) -> Result | None:
        """Return the kept result of a repeat of a point, or None if none is valid any more."""
        try:
            kept = _Kept.model_validate_json(self._path(point, seed).read_bytes())
            result = Result.model_validate(kept.result)
        except (OSError, ValidationError):
            return None
        return result if kept.key == self._key(point, seed) else None

    def write(self, point: Point, seed: int, result_json: str) -> None:
        """Keep the result of a point's repeat."""
        kept = {"key": self._key(point, seed), "result": json.loads(result_json)}
        atomic.write(self._path(point, seed), json.dumps(kept, indent=1) + "\n")

    def _path(self, point: Point, seed: int) -> Path:
        return self._directory / f"{point.stem},seed={seed}.json"

    def _key(self, point: Point, seed: int) -> str:
        resolved = json.loads(_core.check_scenario(point.scenario, point.overrides))
        parts = {
            "scenario": resolved,
            "files": {name: _file_digest(Path(name)) for name in _files_named_in(resolved)},
            "platform": _core.platform(str(resolved["platform"])),
            "seed": seed,
            "simulator": [_core.version(), _simulator_digest()],
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _files_named_in(value: object) -> Iterator[str]:
    """Yield every file that a string below `value` names (captures, platforms, devices)."""
    match value:
        case dict():
            for entry in value.values():
                yield from _files_named_in(entry)
        case list():
            for entry in value:
                yield from _files_named_in(entry)
        case str() if len(value) < _LONGEST_PATH and Path(value).is_file():
            yield value
        case str() if value.isascii() and set(value).isdisjoint("/\\*?["):
            yield from (path.as_posix() for path in Path(_DEVICES).glob(f"*/{value}.toml"))


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def _simulator_digest() -> str:
    """Digest of the compiled module: a rebuilt simulator may give other results."""
    return _file_digest(Path(str(_core.__file__)))


_LONGEST_PATH = 1024
# A scenario names a device by the stem of its file here; on disk it wins over the built-in one.
_DEVICES = "devices"
