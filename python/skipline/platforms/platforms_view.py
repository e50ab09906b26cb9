"""The facts of platforms as tables for people, and as CSV."""

import json
from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from skipline import _core
from skipline.platforms.platform_facts import Fact, facts
from skipline.text import csv_text

CONFIDENCE_STYLE = {"seen": "green", "derived": "cyan", "memory": "yellow", "fitted": "magenta"}


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


def details(name_or_path: str, known: Iterable[Fact]) -> RenderableType:
    """Show a platform's facts as a table, with the file of those that it inherits."""
    columns = ("key", "value", "confidence", "from", "source")
    table = Table(*columns, title=name_or_path, box=None)
    table.columns[1].justify = "right"
    for fact in known:
        source = fact.source + (f" (fitted on {fact.fitted_on})" if fact.fitted_on else "")
        confidence = Text(fact.confidence, style=CONFIDENCE_STYLE.get(fact.confidence, ""))
        table.add_row(fact.key, plain(fact.value), confidence, _shown(fact.origin), source)
    return table


def as_csv(known: Iterable[Fact]) -> str:
    """Write one row per fact."""
    return csv_text.from_rows(Fact._fields, known)


def _shown(origin: str | None) -> str:
    """Return the origin of a fact in short: a built-in file without its ending."""
    return "own" if origin is None else origin.removesuffix(".toml")


def plain(value: object) -> str:
    """Write the value of a fact."""
    return json.dumps(value) if isinstance(value, list | dict | bool) else str(value)
