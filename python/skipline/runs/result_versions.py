"""Brings results of earlier versions to the present format, and refuses those of later ones."""

from collections.abc import Callable
from typing import Any

from skipline._core import InputError
from skipline.scenarios import metrics

KEY = "schema_version"
CURRENT = 1

Record = dict[str, Any]


def migrate(record: Record, name: str) -> Record:
    """Return a result as the present version writes it; `name` is the file in messages.

    A result without a version is of version 0. Raises InputError for one of a later version.
    """
    stated = record.get(KEY, 0)
    if isinstance(stated, bool) or not isinstance(stated, int) or stated < 0:
        raise InputError(f"{name}: {KEY} = {stated!r}: not a version; allowed: 0 to {CURRENT}")
    if stated > CURRENT:
        raise InputError(
            f"{name}: {KEY} = {stated}: this Skipline reads results up to version {CURRENT}; "
            "install a later one (pip install --upgrade skipline), or simulate it again"
        )
    for step in _STEPS[stated:]:
        record = step(record)
    return record if stated == CURRENT else {**record, KEY: CURRENT}


def _describe_metrics(record: Record) -> Record:
    """From 0 to 1: metrics say themselves how they look, as those of 0.1.0 did not."""
    found = record.get("metrics")
    if not isinstance(found, dict):
        return record
    return {**record, "metrics": {key: _described(key, one) for key, one in found.items()}}


def _described(key: str, metric: object) -> object:
    known = metrics.declared().get(key.rpartition(":")[2])
    if known is None or not isinstance(metric, dict) or "group" in metric:
        return metric
    looks = {"group": known.group, "label": known.label, "headline": known.headline}
    return {**metric, **looks}


# What leads from each version to the next.
_STEPS: tuple[Callable[[Record], Record], ...] = (_describe_metrics,)
