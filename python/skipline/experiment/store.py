"""Keeps finished points, so that an interrupted experiment goes on where it stopped.

A kept point is reused only when everything that decides its result is the same (`identity`). A kept
result whose numbers were changed afterwards does not match its digest, and is simulated again.
"""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from skipline import atomic
from skipline.experiment.points import Point
from skipline.runs import identity
from skipline.runs.result import Result


class _Kept(BaseModel):
    key: str
    digest: str
    result: dict[str, Any]


class PointStore:
    """One JSON file per point and seed in a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = atomic.prepare_directory(directory)

    def read(self, point: Point, seeds: Iterable[int]) -> dict[int, Result]:
        """Return the kept results of a point's repeats by seed, those that are valid still."""
        whole = {seed: kept for seed in seeds if (kept := self._whole(point, seed)) is not None}
        if not whole:
            return {}
        # Once for all seeds: to resolve a scenario takes longer than to read a result.
        keys = keys_of(point, whole)
        return {seed: result for seed, (key, result) in whole.items() if key == keys[seed]}

    def _whole(self, point: Point, seed: int) -> tuple[str, Result] | None:
        """Return key and result of a kept repeat, unless it was damaged or changed afterwards."""
        try:
            kept = _Kept.model_validate_json(self._path(point, seed).read_bytes())
            result = Result.model_validate(kept.result)
        except (OSError, ValidationError):
            return None
        return (kept.key, result) if kept.digest == _result_digest(kept.result) else None

    def write(self, point: Point, seed: int, key: str, result_json: str) -> None:
        """Keep the result of a point's repeat; `key` was asked for before it was simulated."""
        result = json.loads(result_json)
        kept = {"key": key, "digest": _result_digest(result), "result": result}
        atomic.write(self._path(point, seed), json.dumps(kept, indent=1) + "\n")

    def _path(self, point: Point, seed: int) -> Path:
        return self._directory / f"{point.stem},seed={seed}.json"


def _result_digest(result: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(result, sort_keys=True).encode()).hexdigest()


def keys_of(point: Point, seeds: Iterable[int]) -> dict[int, str]:
    """Return digests of everything that decides the results of a point's repeats, by seed."""
    inputs, simulator = identity.inputs(point.scenario, point.overrides), identity.simulator()
    return {seed: identity.digest(inputs.question(seed), simulator) for seed in seeds}
