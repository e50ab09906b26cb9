"""Keeps finished points, so that an interrupted experiment goes on where it stopped.

A kept point is reused only when everything that decides its result is the same: the resolved
scenario, the content of every file that it is read from, the seed and the simulator. A kept result
whose numbers were changed afterwards does not match its digest, and is simulated again.
"""

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from skipline import _core, atomic
from skipline.experiment.points import Point
from skipline.result import Result


class _Kept(BaseModel):
    key: str
    digest: str
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
        if kept.digest != _result_digest(kept.result):
            return None
        return result if kept.key == key(point, seed) else None

    def write(self, point: Point, seed: int, key: str, result_json: str) -> None:
        """Keep the result of a point's repeat; `key` was asked for before it was simulated."""
        result = json.loads(result_json)
        kept = {"key": key, "digest": _result_digest(result), "result": result}
        atomic.write(self._path(point, seed), json.dumps(kept, indent=1) + "\n")

    def _path(self, point: Point, seed: int) -> Path:
        return self._directory / f"{point.stem},seed={seed}.json"


def _result_digest(result: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(result, sort_keys=True).encode()).hexdigest()


def key(point: Point, seed: int) -> str:
    """Return a digest of everything that decides the result of a repeat of a point."""
    files = map(Path, _core.input_files(point.scenario, point.overrides))
    parts = {
        "scenario": json.loads(_core.check_scenario(point.scenario, point.overrides)),
        # What is not on disk is part of the simulator.
        "files": [_file_digest(file) if file.is_file() else None for file in files],
        "seed": seed,
        "simulator": [_core.version(), _simulator_digest()],
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def _simulator_digest() -> str:
    """Digest of the compiled module: a rebuilt simulator may give other results."""
    return _file_digest(Path(str(_core.__file__)))
