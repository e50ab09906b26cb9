"""Settings of a run: what differs from the defaults, what was replaced, and all of them."""

import json
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from skipline import _core, atomic
from skipline._core import InputError
from skipline.platforms import platform_facts
from skipline.report.document import Document, details, escape
from skipline.runs import result_view
from skipline.runs.result import Result
from skipline.scenarios.settings import toml_literal

# Keys that the head of the page shows.
_SHOWN_ABOVE = {"title", "question", "name"}
# Keys on which defaults depend have no default themselves.
_ALWAYS = ("platform", "application")
_TENANT = "tenant"


class Setting(NamedTuple):
    """A key of the scenario, what it is in the run, and what it would be if nothing stated it."""

    key: str
    value: object
    default: str

    @property
    def differs(self) -> bool:
        """Whether it is not what it would be without being stated."""
        return _text(self.value) != self.default


def add(document: Document, result: Result) -> None:
    """Append the settings: those that differ first, replaced facts, notes, then all."""
    document.heading("Settings", anchor="settings")
    every = list(settings(result.scenario))
    _add_notes(document, result)
    changed = [
        [setting.key, _text(setting.value), setting.default, _meaning(setting.key)]
        for setting in every
        if setting.differs
    ]
    caption = (
        "What differs from the defaults, which are those of the platform and application where "
        "they have their own. Source: the result's scenario."
    )
    header = ["key", "value", "default", "meaning"]
    document.add(document.table(header, changed, caption, [1, 2], stacked=True))
    _add_replaced(document, result)
    rows = [[setting.key, _text(setting.value), setting.default] for setting in every]
    whole = document.table(header[:3], rows, "All settings of the run.", [1, 2])
    document.add(details(f"All {len(rows)} settings", whole, on_paper=False))


def _add_notes(document: Document, result: Result) -> None:
    if sentences := result_view.notes(result):
        notes = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
        document.add(f'<ul class="notes" aria-label="Notes">{notes}</ul>')


def _add_replaced(document: Document, result: Result) -> None:
    replaced = dict(_flat(result.scenario.get("hardware") or {}))
    if not replaced:
        return
    own = _facts(result.scenario["platform"])
    rows = [[key, _text(value), _text(own.get(key))] for key, value in replaced.items()]
    caption = "Facts that the run replaces below hardware, and what the platform states."
    document.add(document.table(["fact", "value", "platform"], rows, caption, [1, 2]))


def settings(scenario: dict[str, Any]) -> Iterator[Setting]:
    """Yield every key of a scenario but its replaced facts; keys of tables with a dot."""
    usual = _defaults(str(scenario.get("platform")), str(scenario.get("application")))
    stated = {key: value for key, value in scenario.items() if key != "hardware"}
    for key, value in _flat(stated):
        if key not in _SHOWN_ABOVE:
            yield Setting(key, value, _default(key, usual, scenario))


def _default(key: str, usual: dict[str, object], scenario: dict[str, Any]) -> str:
    """Return what a key would be: what another tenant does not state it has of the main one."""
    if key in _ALWAYS:
        return "–"
    table, _, rest = key.partition(".")
    if table != _TENANT:
        return _text(usual.get(key))
    inherited = {key: value for key, value in _flat(scenario) if key not in _SHOWN_ABOVE}
    return _text(inherited.get(rest.partition(".")[2]))


def _flat(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield the leaves of nested tables as `--set` names them."""
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            yield from _flat(value, f"{name}.")
        elif isinstance(value, list) and any(isinstance(entry, dict) for entry in value):
            yield from _flat({str(at): entry for at, entry in enumerate(value)}, f"{name}.")
        else:
            yield name, value


def _text(value: object) -> str:
    """Write a value as scenario files do; a dash for none."""
    if value is None:
        return "–"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@cache
def _defaults(platform: str, application: str) -> dict[str, object]:
    """Return every key of a scenario that states nothing but these two.

    Where this cannot be one (the platform's file is elsewhere, the application needs more), only
    the defaults that hold for every platform are known.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "defaults.toml"
        keys = {"platform": platform, "application": application}
        lines = (f"{key} = {toml_literal(value)}\n" for key, value in keys.items())
        atomic.write(path, "".join(lines))
        try:
            return dict(_flat(json.loads(_core.check_scenario(path, []))))
        except InputError:
            return dict(_flat(_stated_defaults()))


def _stated_defaults() -> dict[str, Any]:
    keys = json.loads(_core.schema("scenario"))["properties"]
    return {name: key.get("default") for name, key in keys.items()}


def _facts(platform: str) -> dict[str, object]:
    """Return the facts of a known platform by key."""
    try:
        return {fact.key: fact.value for fact in platform_facts.facts(platform)}
    except InputError:
        return {}


def _meaning(key: str) -> str:
    """Return what the schema says of a key."""
    schema = json.loads(_core.schema("scenario"))
    found: dict[str, Any] = schema
    for part in key.split("."):
        table = _table(found, schema["$defs"])
        found = table if part.isdigit() else table.get("properties", {}).get(part, {})
    return " ".join(str(found.get("description", "")).split())


def _table(key: dict[str, Any], definitions: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the definition of a key's table, or of the tables of its list."""
    if "properties" in key:
        return key
    if "$ref" in key:
        return definitions[str(key["$ref"]).rsplit("/", 1)[-1]]
    choices = [choice for choice in key.get("anyOf", ()) if choice.get("type") != "null"]
    return _table(choices[-1], definitions) if choices else {}
