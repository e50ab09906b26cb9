"""Platform facts: each number of a machine with its source and confidence.

Units are in the keys (`dram.path_ns`).
"""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from skipline import _core


class Fact(NamedTuple):
    """One parameter of a platform."""

    key: str
    value: Any
    confidence: str
    source: str
    fitted_on: str | None
    origin: str | None
    """The file that states it, if the platform inherits it."""


def facts(name_or_path: str, named_in: str | None = None) -> list[Fact]:
    """Read a platform's facts, in the order of its file, found as the file `named_in` names it."""
    return list(_leaves(json.loads(_core.platform(name_or_path, named_in)), ""))


def number(name_or_path: str, key: str, named_in: str | None = None) -> float | None:
    """Return the numeric fact `key` (`llc.slices`), or None when the platform has none."""
    for fact in facts(name_or_path, named_in):
        if fact.key == key and isinstance(fact.value, int | float):
            return float(fact.value)
    return None


def _leaves(table: dict[str, Any], prefix: str) -> Iterator[Fact]:
    for name, entry in table.items():
        key = f"{prefix}{name}"
        if not isinstance(entry, dict):
            continue  # the title, not a fact
        if "value" in entry:
            source, confidence = entry["source"], entry["confidence"]
            fitted_on, origin = entry.get("fitted_on"), entry.get("origin")
            yield Fact(key, entry["value"], confidence, source, fitted_on, origin)
        else:
            yield from _leaves(entry, f"{key}.")
