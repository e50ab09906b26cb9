"""Every metric of results: unit, group, label, meaning, as the simulator declares them."""

import math
from dataclasses import dataclass, fields
from functools import cache
from typing import Literal

from skipline import _core
from skipline.text import json_record
from skipline.text.table import Column, TextTable


@dataclass(frozen=True)
class Declared:
    """A metric as it is declared."""

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
    entries = json_record.read(list[Declared], _core.metrics())
    return {entry.name: entry for entry in entries}


def ends(name: str, unit: str) -> tuple[float, float]:
    """Return between what a number of results can be at all.

    What is declared are counts, rates and levels, none of which is below nothing; no share is more
    than all.
    """
    known = name.rpartition(":")[2].partition(".")[0] in declared()
    return 0.0 if known else -math.inf, 100.0 if unit == "percent" else math.inf


@cache
def _ranks() -> dict[str, int]:
    return {name: rank for rank, name in enumerate(declared())}


def rank(name: str) -> int:
    """Return the rank of a metric, of any tenant, in tables; unknown metrics come last."""
    ranks = _ranks()
    return ranks.get(name.rpartition(":")[2], len(ranks))


def label(name: str) -> str:
    """Name a number of results, [TENANT:]METRIC[.COMPONENT], for people; an unknown one as it is.

    `b:latency_ns.p99` is "Latency, 99th percentile, of b".
    """
    tenant, _, whole = name.rpartition(":")
    metric, _, component = whole.partition(".")
    known = declared().get(metric)
    if known is None:
        return name
    part = f", {_component(component)}" if component else ""
    return f"{known.label}{part}{f', of {tenant}' if tenant else ''}"


def _component(name: str) -> str:
    """Write a figure of a latency in words, and names of other parts without underscores."""
    digits = name.removeprefix("p")
    if name == "p50":
        return "median"
    is_percentile = name.startswith("p") and digits.replace(".", "", 1).isdigit()
    return f"{digits}th percentile" if is_percentile else name.replace("_", " ")


def table() -> TextTable:
    """Return all metrics, group by group."""
    for_people = {"unit": "unit", "by": "by", "about": "what it is"}
    name, *others = (field.name for field in fields(Declared))
    first = Column("metric", name, form=_indented)
    shown = TextTable([first, *(Column(for_people.get(key), key) for key in others)])
    group = ""
    for entry in declared().values():
        if entry.group != group:
            group = entry.group
            shown.add_heading(group)
        shown.add(*(getattr(entry, key) for key in (name, *others)))
    return shown


def _indented(name: str) -> str:
    return f"  {name}"
