"""Every metric of results: unit, group, label, meaning, as the simulator declares them."""

import json
from functools import cache
from typing import Literal

from pydantic import BaseModel, ConfigDict

from skipline import _core
from skipline.text.table import Column, TextTable


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


def table() -> TextTable:
    """Return all metrics, group by group."""
    for_people = {"unit": "unit", "by": "by", "about": "what it is"}
    name, *others = Declared.model_fields
    first = Column("metric", name, form=_indented)
    shown = TextTable([first, *(Column(for_people.get(key), key) for key in others)])
    group = ""
    for entry in declared().values():
        if entry.group != group:
            group = entry.group
            shown.add_heading(group)
        shown.add(*entry.model_dump().values())
    return shown


def _indented(name: str) -> str:
    return f"  {name}"
