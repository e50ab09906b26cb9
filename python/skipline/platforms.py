"""Platform facts: each number of a machine with its source and confidence.

Units are in the keys (`dram.path_ns`).
"""

import csv
import io
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from rich.console import Group, RenderableType
from rich.table import Table

from skipline import _core

_CONFIDENCE_STYLE = {"seen": "green", "derived": "cyan", "memory": "yellow", "fitted": "magenta"}


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


def overview() -> RenderableType:
    """List the known platforms: how many facts each has and states itself, how sure they are."""
    table = Table("platform", "facts", "own", "seen", "derived", "memory", "fitted", box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    for name in _core.platform_names():
        known = facts(name)
        counts = [
            str(sum(fact.confidence == level for fact in known))
            for level in ("seen", "derived", "memory", "fitted")
        ]
        own = sum(fact.origin is None for fact in known)
        table.add_row(name, str(len(known)), str(own), *counts)
    return Group(table, "", "skipline platforms show NAME: every fact with its source")


def details(name_or_path: str) -> RenderableType:
    """Show a platform's facts as a table, with the file of those that it inherits."""
    columns = ("key", "value", "confidence", "from", "source")
    table = Table(*columns, title=name_or_path, box=None)
    table.columns[1].justify = "right"
    table.columns[1].overflow = "fold"
    table.columns[3].overflow = "fold"
    table.columns[4].overflow = "fold"
    for fact in facts(name_or_path):
        style = _CONFIDENCE_STYLE.get(fact.confidence, "")
        source = fact.source + (f" (fitted on {fact.fitted_on})" if fact.fitted_on else "")
        confidence = f"[{style}]{fact.confidence}[/]" if style else fact.confidence
        table.add_row(fact.key, _plain(fact.value), confidence, _shown(fact.origin), source)
    return table


def as_csv(name_or_path: str) -> str:
    """Write one row per fact."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Fact._fields)
    writer.writerows(facts(name_or_path))
    return text.getvalue()


def _shown(origin: str | None) -> str:
    """Say in few letters where a fact comes from: a built-in file without its ending."""
    return "own" if origin is None else origin.removesuffix(".toml")


def _plain(value: object) -> str:
    return json.dumps(value) if isinstance(value, list | dict | bool) else str(value)
