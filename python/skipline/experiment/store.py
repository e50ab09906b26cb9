"""Keeps finished points, so that an interrupted experiment goes on where it stopped.

A kept point is reused only when everything that decides its result is the same (`identity`). A kept
result whose numbers were changed afterwards does not match its digest, and is simulated again.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from skipline import atomic, identity
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
    question = identity.inputs(point.scenario, point.overrides).question(seed)
    return identity.digest(question, identity.simulator())
