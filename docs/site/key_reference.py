"""The reference of scenario keys, generated from the JSON schema of scenario files."""

import json
from collections.abc import Iterator
from typing import Any

from skipline import _core

Schema = dict[str, Any]
_FACT = {"value", "source", "confidence"}

_INTRODUCTION = """# Scenario keys

A scenario is a TOML file. Each key can also be given to `skipline run` as `--set KEY=VALUE`; a
tenant or a co-runner of a list by its number (`tenant.0.cores`). `skipline schema scenario` prints
the same for editors. Keys of a table are written below its name (`[traffic]`) or with a dot
(`traffic.pattern`)."""


_PLATFORM_INTRODUCTION = """# Platform keys

A platform is a TOML file that describes a machine: [how to write one](../how-to/platforms.md). Each
fact is stated as `KEY = { value = ..., source = "...", confidence = "..." }`; its unit is in the
key. `confidence` is `seen`, `memory` (a guess), `derived` or `fitted`, which names the measurements
in `fitted_on`. `skipline schema platform` prints the same for editors."""


def scenario_keys() -> str:
    """Return the page of all keys of a scenario."""
    return _page(_INTRODUCTION, json.loads(_core.schema("scenario")))


def platform_keys() -> str:
    """Return the page of all keys of a platform file."""
    return _page(_PLATFORM_INTRODUCTION, json.loads(_core.schema("platform")))


def _page(introduction: str, schema: Schema) -> str:
    definitions: dict[str, Schema] = schema["$defs"]
    parts = [introduction, "## Top level", _table(schema["properties"], definitions)]
    shown = set[str]()
    for name, key in sorted(schema["properties"].items()):
        for table in _tables(key, definitions):
            if table not in shown:
                shown.add(table)
                parts += _section(name, definitions[table], schema, definitions)
    return "\n\n".join(parts) + "\n"


def _tables(key: Schema, definitions: dict[str, Schema]) -> Iterator[str]:
    """Yield the definitions of tables that a key refers to."""
    for reference in _references(key):
        if "properties" in definitions[reference] and not _is_fact(definitions[reference]):
            yield reference


def _is_fact(definition: Schema) -> bool:
    """Return whether a table is a value with its source."""
    properties: Schema = definition.get("properties", {})
    return properties.keys() >= _FACT


def _references(key: Schema) -> Iterator[str]:
    if "$ref" in key:
        yield str(key["$ref"]).rsplit("/", 1)[-1]
    for choice in (*key.get("anyOf", ()), key.get("items")):
        if isinstance(choice, dict):
            yield from _references(choice)


def _section(
    name: str, table: Schema, whole: Schema, definitions: dict[str, Schema]
) -> Iterator[str]:
    yield f"## {name}"
    yield table.get("description", "")
    top = whole["properties"]
    own = {key: value for key, value in table["properties"].items() if top.get(key) != value}
    if len(own) < len(table["properties"]):
        same = ", ".join(f"`{key}`" for key in sorted(table["properties"].keys() - own.keys()))
        yield f"As at the top level: {same}."
    if own:
        yield _table(own, definitions)


def _table(properties: dict[str, Schema], definitions: dict[str, Schema]) -> str:
    cells = {
        name: [_values(key, definitions), _default(key), _meaning(key)]
        for name, key in sorted(properties.items())
    }
    header = ["value", "default", "meaning"]
    if not any(default for _, default, _ in cells.values()):
        header.remove("default")
        cells = {name: [values, meaning] for name, (values, _, meaning) in cells.items()}
    rows = [["key", *header], ["---"] * (len(header) + 1)]
    rows += [[f"`{name}`", *row] for name, row in cells.items()]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _meaning(key: Schema) -> str:
    return " ".join(key.get("description", "").split()).replace("|", r"\|")


def _values(key: Schema, definitions: dict[str, Schema]) -> str:
    """Say which values a key takes."""
    kinds = list(dict.fromkeys(_kinds(key, definitions)))
    return ", ".join(kinds) or "any"


def _kinds(key: Schema, definitions: dict[str, Schema]) -> Iterator[str]:
    if "$ref" in key:
        yield from _kinds(definitions[str(key["$ref"]).rsplit("/", 1)[-1]], definitions)
    for choice in (*key.get("anyOf", ()), *key.get("oneOf", ())):
        yield from _kinds(choice, definitions)
    yield from (f"`{value}`" for value in key.get("enum", ()) if value is not None)
    if _is_fact(key):
        yield from _kinds(key["properties"]["value"], definitions)
    elif "const" in key:
        yield f"`{key['const']}`"
    elif "properties" in key:
        yield "table"
    elif "enum" not in key:
        kinds = key.get("type", ())
        text = "path of a file" if "pattern" in key else "text"
        named = {"integer": "whole number", "string": text, "boolean": "`true`, `false`"}
        for kind in [kinds] if isinstance(kinds, str) else kinds:
            if kind == "array":
                yield "list"
            elif kind != "null":
                yield named.get(kind, kind) + _range(key)


def _range(key: Schema) -> str:
    if "minimum" not in key or "maximum" not in key:
        return ""
    return f" from {key['minimum']:.15g} to {key['maximum']:.15g}"


def _default(key: Schema) -> str:
    default = key.get("default")
    if default is None or isinstance(default, dict | list):
        return ""
    return f"`{json.dumps(default).strip(chr(34))}`"
