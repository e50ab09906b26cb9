"""Every metric of results: unit, group, label, meaning, as the simulator declares them."""

import json
from functools import cache
from typing import Literal

from pydantic import BaseModel, ConfigDict
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from skipline import _core
from skipline.text import csv_text


class Declared(BaseModel):
    """A metric as it is declared."""

    model_config = ConfigDict(frozen=True)

    name: str
    unit: str
    group: str
    label: str
    headline: bool
    kind: Literal["rate", "count", "level"] | None
    by: str | None
    of: Literal["machine", "tenant"]
    about: str


@cache
def declared() -> dict[str, Declared]:
    """Return every metric by its name, in the order in which tables show them."""
    entries = [Declared.model_validate(entry) for entry in json.loads(_core.metrics())]
    return {entry.name: entry for entry in entries}


@cache
def _ranks() -> dict[str, int]:
    return {name: rank for rank, name in enumerate(declared())}


def rank(name: str) -> int:
    """Return the rank of a metric, of any tenant, in tables; unknown metrics come last."""
    ranks = _ranks()
    return ranks.get(name.rpartition(":")[2], len(ranks))


def as_json() -> str:
    """Write a list of all metrics."""
    return json.dumps([entry.model_dump() for entry in declared().values()], indent=2)


def as_csv() -> str:
    """Write one row per metric."""
    rows = (entry.model_dump().values() for entry in declared().values())
    return csv_text.from_rows(Declared.model_fields, rows)


def overview() -> RenderableType:
    """Show all metrics, group by group."""
    table = Table(box=None, pad_edge=False)
    for name in ("metric", "unit", "by", "what it is"):
        table.add_column(name)
    group = ""
    for entry in declared().values():
        if entry.group != group:
            group = entry.group
            table.add_row()
            table.add_row(Text(group, style="bold cyan"))
        table.add_row(f"  {entry.name}", entry.unit, entry.by or "", entry.about)
    return table
