"""A scenario of `skipline-host observe`: values with their sources, open questions, its windows."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from skipline import resources

WINDOWS = ".windows.jsonl"
_VALUE = re.compile(
    r"^(?:# )?(?P<key>[a-z0-9_.]+) "
    r"(?:= (?P<value>.*?)|is left to the platform|is that of the main tenant)  "
    r"# (?P<origin>read|measured|assumed|stated): (?P<source>.*)$"
)
_ITEM = re.compile(r"^#   (?P<text>.+)$")
_TENANT = "[[tenant]]"
_ASKED = "# Asked"
_UNREAD = "# Not read"


class Value(NamedTuple):
    """A value of an observed scenario; `value` is None where it is not stated.

    The key of a tenant beside the main one begins with its number, like `tenant.0.cores`.
    """

    key: str
    value: str | None
    origin: str
    source: str


class Observed(NamedTuple):
    """What an observed scenario says about itself, beside its keys."""

    values: list[Value]
    asked: list[str]
    unread: list[str]

    def without(self, keys: Collection[str]) -> "Observed":
        """Return the same without values and questions of keys that are stated elsewhere."""
        return Observed(
            [value for value in self.values if value.key not in keys],
            [text for text in self.asked if text.partition(":")[0] not in keys],
            self.unread,
        )

    def of_origin(self, origin: str) -> list[Value]:
        """Return the values of an origin: read, measured, assumed or stated."""
        return [value for value in self.values if value.origin == origin]


def read(path: str) -> Observed:
    """Read the comments of a scenario; one that was not observed has none."""
    values: list[Value] = []
    lists: dict[str, list[str]] = {_ASKED: [], _UNREAD: []}
    current: list[str] | None = None
    tenants = 0
    prefix = ""
    for line in resources.read_keys(path).splitlines():
        if line == _TENANT:
            prefix = f"tenant.{tenants}."
            tenants += 1
        elif found := _VALUE.match(line):
            key = prefix + found["key"]
            values.append(Value(key, found["value"], found["origin"], found["source"]))
        elif (item := _ITEM.match(line)) and current is not None:
            current.append(item["text"])
        else:
            current = next((lists[title] for title in lists if line.startswith(title)), None)
    return Observed(values, lists[_ASKED], lists[_UNREAD])


def windows_beside(scenario: Path) -> Path:
    """Return the file of the windows beside a scenario."""
    return scenario.with_name(scenario.name.removesuffix(".toml") + WINDOWS)
