"""Keys of scenarios as `--set` takes them, one step at a time, as the schema of scenarios has them.

`traffic.pa` goes on to `traffic.pattern=`, and that to the patterns.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from skipline import _core

Schema = dict[str, Any]
# Tables whose keys are those of another kind of file: facts of platforms.
_FACTS = "hardware"
# A key of files alone: no setting replaces it.
_VERSION = "schema_version"
# Meanings begin with what a key is, some with when it counts (`Random: ...`); more of it follows.
_BEGINNING = re.compile(r"(?:[^.,;:(]{1,24}: )?((?:[^.,;:(]|[.:](?=\S))+)")
# Names of keys end with their units.
_UNITS = {
    "_gbps": "Gbit/s",
    "_bytes": "B",
    "_percent": "%",
    "_ghz": "GHz",
    "_cycles": "cycles",
    "_ns": "ns",
    "_us": "µs",
}
# Keys of a table of facts that are no facts.
_NO_FACTS = {"because", "extends"}


class Step(NamedTuple):
    """A setting, or the beginning of one: it ends with `.` or `=` if it goes on."""

    text: str
    meaning: str


def completions(typed: str) -> Iterator[Step]:
    """Yield what may follow the beginning of a setting."""
    key, equals, value = typed.partition("=")
    if equals:
        found = _values(key)
        yield from (Step(f"{key}={one}", "") for one in found if one.startswith(value))
        return
    path, dot, last = key.rpartition(".")
    prefix = path + dot
    for name, ending, meaning in _keys(path):
        if name.startswith(last):
            yield Step(f"{prefix}{name}{ending}", meaning)


class Label(NamedTuple):
    """The meaning of a key in a few words, and its unit, which may be empty."""

    words: str
    unit: str

    @property
    def text(self) -> str:
        """Both, as axes are titled."""
        return f"{self.words}, {self.unit}" if self.unit else self.words

    @property
    def within(self) -> str:
        """The words as they are within a sentence; abbreviations keep their capitals."""
        first = self.words[:1] if self.words[1:2].isupper() else self.words[:1].lower()
        return first + self.words[1:]


def label(key: str) -> Label:
    """Return what people call a key: how its meaning begins; else the key itself.

    `packet_bytes` is "Frame size without FCS", in B.
    """
    path, _, last = key.rpartition(".")
    meaning = next((text for name, _, text in _keys(path) if name == last), "")
    found = _BEGINNING.match(meaning)
    # A meaning that begins with an ellipsis goes on with that of another key.
    if found is None or meaning.startswith("..."):
        return Label(key, "")
    words = found[1].strip().removesuffix(" in bytes")
    is_rate = "_per_" in last
    unit = next((unit for end, unit in _UNITS.items() if last.endswith(end) and not is_rate), "")
    return Label(words[:1].upper() + words[1:], unit)


def _keys(path: str) -> Iterator[tuple[str, str, str]]:
    """Yield name, ending and meaning of each key of the table at `path`."""
    schema, definitions = _table(path)
    if schema is None:
        return
    is_fact = path.startswith(f"{_FACTS}.")
    for name, key in schema.get("properties", {}).items():
        if (is_fact and name in _NO_FACTS) or (not path and name == _VERSION):
            continue
        table, listed = _table_of(key, definitions)
        is_table = table is not None or name == _FACTS
        if path == _FACTS and not is_table:
            continue  # names of the platform, not its facts
        ending = "=" if not is_table else ".0." if listed else "."
        yield name, ending, " ".join(str(key.get("description", "")).split())


def _values(path: str) -> list[str]:
    """Return the values of a key, if they can be listed."""
    table, _, name = path.rpartition(".")
    schema, definitions = _table(table)
    key = (schema or {}).get("properties", {}).get(name, {})
    return list(dict.fromkeys(_listed_values(key, definitions)))


def _listed_values(key: Schema, definitions: Schema) -> Iterator[str]:
    if "$ref" in key:
        found = _definition(key, definitions)
        # A fact is a table of its value and where that is from.
        yield from _listed_values(found.get("properties", {}).get("value", found), definitions)
    for choice in (*key.get("anyOf", ()), *key.get("oneOf", ())):
        yield from _listed_values(choice, definitions)
    yield from (str(value) for value in key.get("enum", ()) if value is not None)
    if "const" in key:
        yield str(key["const"])
    kinds = key.get("type", ())
    if "boolean" in ([kinds] if isinstance(kinds, str) else kinds):
        yield from ("true", "false")


def _table(path: str) -> tuple[Schema | None, Schema]:
    """Return the table at `path`, None if there is none, and the definitions that it refers to."""
    first, *others = path.split(".") if path else [""]
    kind = "platform" if first == _FACTS else "scenario"
    table: Schema | None = _schema(kind)
    definitions: Schema = _schema(kind)["$defs"]
    for name in others if kind == "platform" else path.split(".") if path else []:
        if name.isdigit():
            continue  # an entry of a list has the keys of its table
        key = (table or {}).get("properties", {}).get(name, {})
        table, _ = _table_of(key, definitions)
    return table, definitions


def _table_of(key: Schema, definitions: Schema) -> tuple[Schema | None, bool]:
    """Return the table that is the value of a key, if it is one, and whether there is a list."""
    if "$ref" in key:
        key = _definition(key, definitions)
    if "properties" in key and "value" not in key["properties"]:
        return key, False
    if "items" in key:
        return _table_of(key["items"], definitions)[0], True
    found = [_table_of(choice, definitions) for choice in key.get("anyOf", ())]
    tables = [(table, listed) for table, listed in found if table is not None]
    return tables[0] if tables else (None, False)


def _definition(key: Schema, definitions: Schema) -> Schema:
    found: Schema = definitions[str(key["$ref"]).rsplit("/", 1)[-1]]
    return found


@cache
def _schema(kind: str) -> Schema:
    schema: Schema = json.loads(_core.schema(kind))
    return schema
