"""The facts of platforms as tables."""

import json
from collections.abc import Iterable

from rich.console import Group, RenderableType

from skipline import _core
from skipline.platforms import devices
from skipline.platforms.platform_facts import Fact, facts
from skipline.text.table import Column, Styled, TextTable, numbers, texts

CONFIDENCE_STYLE = {"seen": "green", "derived": "cyan", "memory": "yellow", "fitted": "magenta"}
_CONFIDENCES = tuple(CONFIDENCE_STYLE)


def overview() -> RenderableType:
    """List the known platforms, and the cards and SSDs that scenarios name beside them.

    Of a platform: how many facts it has and states itself, how sure they are.
    """
    columns = (Column("platform"), *numbers("facts", "own", *_CONFIDENCES))
    table = TextTable(columns, has_edges=True)
    for name in _core.platform_names():
        known = facts(name)
        counts = [sum(fact.confidence == level for fact in known) for level in _CONFIDENCES]
        own = sum(fact.origin is None for fact in known)
        table.add(name, len(known), own, *counts)
    how = "skipline platforms show NAME: every fact with its source"
    return Group(table, "", how, *(part for key in devices.KINDS for part in _devices(key)))


def _devices(key: str) -> Iterable[RenderableType]:
    """Return a table of the devices of a kind, with the key that takes their names."""
    table = TextTable(texts(devices.KINDS[key], "what it is"), has_edges=True)
    for device in devices.known(key):
        table.add(device.name, device.title)
    return "", table, f"In a scenario: {key} = NAME"


def facts_table(name_or_path: str, known: Iterable[Fact]) -> TextTable:
    """Return a platform's facts, with the file of those that it inherits."""
    columns = (
        Column("key", "key"),
        Column("value", "value", form=plain, right=True),
        Column("confidence", "confidence"),
        Column("from"),
        Column("source"),
        *(Column(None, key) for key in ("source", "fitted_on", "origin")),
    )
    table = TextTable(columns, title=name_or_path, is_title_centred=True, has_edges=True)
    for fact in known:
        source = fact.source + (f" (fitted on {fact.fitted_on})" if fact.fitted_on else "")
        confidence = Styled(fact.confidence, CONFIDENCE_STYLE.get(fact.confidence, ""))
        for_people = (fact.key, fact.value, confidence, _shown(fact.origin), source)
        table.add(*for_people, fact.source, fact.fitted_on, fact.origin)
    return table


def _shown(origin: str | None) -> str:
    """Return the origin of a fact in short: a built-in file without its ending."""
    return "own" if origin is None else origin.removesuffix(".toml")


def plain(value: object) -> str:
    """Write the value of a fact."""
    return json.dumps(value) if isinstance(value, list | dict | bool) else str(value)
