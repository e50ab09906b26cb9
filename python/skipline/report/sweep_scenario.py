"""The scenario of a sweep in words: its title, what is offered, which server."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from skipline import _core, resources
from skipline._core import InputError
from skipline.advice import knobs
from skipline.platforms import platform_facts
from skipline.store.store import Store
from skipline.text import toml_model

_CARD, _CARDS = "nic", "devices/nic/"
_TOLD = ("packet_bytes", "offered_gbps", "ports", "cores", "ddio_ways", "nic", "platform")
_OF_RUN = "run."
# A number of scenarios that receive packets.
_RECEIVED = "rx_packets"


def title(store: Store, number: int) -> str:
    """Return the title of a sweep, else that of its scenario, else the name of its file."""
    row = store.connection.row("SELECT title, scenario FROM sweeps WHERE sweep = ?", [number])
    title, scenario = row or ("", "")
    if title:
        return str(title)
    if scenario and resources.exists(scenario):
        stated = toml_model.top_level(resources.read_keys(scenario), scenario).get("title")
        if isinstance(stated, str) and stated:
            return stated
    return Path(scenario or "").stem or f"Sweep {number}"


def conditions(store: Store, number: int, axes: Sequence[str]) -> str:
    """Return what is offered, what serves it and where, without what the axes change.

    It is empty where the scenario is no longer there.
    """
    if (found := _resolved(store, number)) is None:
        return ""
    scenario, keys = found
    fixed = {name: value for name, value in keys.items() if name not in axes}
    receives = _RECEIVED in store.units(number)
    offered = _offered(fixed) if receives else ""
    card = _card(keys, scenario) if receives and _CARD not in axes else ""
    of_box = (_machine(fixed, card, scenario), _ways(fixed))
    served = _served(fixed, axes) if receives else _cores(fixed)
    parts = [offered, served, _series(of_box), _changed(store, number, axes)]
    whole = "; ".join(filter(None, parts))
    return whole[:1].upper() + whole[1:] if offered else whole


def choices(store: Store, number: int) -> list[str]:
    """Return the settings of a sweep's scenario that people choose on a server.

    There are none where the scenario is no longer there.
    """
    found = _resolved(store, number)
    return knobs.keys(found[1]) if found else []


def _resolved(store: Store, number: int) -> tuple[str, dict[str, Any]] | None:
    """Return the scenario of a sweep and its keys at the first point; None if it is gone."""
    row = store.connection.row("SELECT scenario FROM sweeps WHERE sweep = ?", [number])
    scenario = row[0] if row else None
    if not scenario or not resources.exists(scenario):
        return None
    try:
        return scenario, json.loads(_core.check_scenario(scenario, _settings(store, number)))
    except InputError:
        return None


def _changed(store: Store, number: int, axes: Sequence[str]) -> str:
    """Return the settings of all points that no other word tells; how long runs are is none."""
    told = {*axes, *_TOLD}
    changed = [
        f"{key} = {value}"
        for key, value in _settings(store, number)
        if key not in told and not key.startswith(_OF_RUN)
    ]
    return ", ".join(changed)


def _machine(fixed: dict[str, Any], card: str, scenario: str) -> str:
    """Say what runs on which server with which card, by the names that people have for these."""
    platform = fixed.get("platform")
    on = f"on {_name('platforms', str(platform), scenario)}" if platform else ""
    with_card = f"with {_name('devices/nic', card, scenario)}" if card else ""
    return " ".join(filter(None, (fixed.get("application"), on, with_card)))


def _name(folder: str, value: str, scenario: str) -> str:
    """Return the name that a file of facts states, else the file's own."""
    is_file = value.endswith(".toml")
    path = resources.path_beside(scenario, value) if is_file else f"{folder}/{value}.toml"
    stated = None
    if resources.exists(path):
        stated = toml_model.top_level(resources.read_keys(path), path).get("name")
    return stated if isinstance(stated, str) and stated else Path(value).stem


def _offered(fixed: dict[str, Any]) -> str:
    size, rate, ports = (fixed.get(name) for name in ("packet_bytes", "offered_gbps", "ports"))
    packets = f"{size:g} B packets" if size else ""
    of = f" of {packets}" if packets else " offered"
    told = f"{rate:g} Gbit/s{of}" if rate else packets
    return f"{told} at each of {ports} ports" if told and ports and ports > 1 else told


def _cores(fixed: dict[str, Any]) -> str:
    cores = fixed.get("cores")
    return f"{cores} core{'s' if cores > 1 else ''}" if cores else ""


def _served(fixed: dict[str, Any], axes: Sequence[str]) -> str:
    """Name cores and their queues: a pair of each core at each port of a card."""
    cores = fixed.get("cores")
    if not cores or "ports" in axes:
        return _cores(fixed)
    pairs = cores * (fixed.get("ports") or 1)
    return f"{_cores(fixed)}, {pairs} queue pair{'s' if pairs > 1 else ''}"


def _card(keys: dict[str, Any], scenario: str) -> str:
    """Return the card of a scenario, else that of its platform; empty if that has no name."""
    if keys.get(_CARD):
        return str(keys[_CARD])
    if "platform" not in keys:
        return ""
    facts = platform_facts.facts(keys["platform"], scenario)
    origins = (str(fact.origin) for fact in facts if fact.key.startswith(f"{_CARD}."))
    return next((Path(one).stem for one in origins if one.startswith(_CARDS)), "")


def _series(parts: Sequence[object]) -> str:
    return ", ".join(str(part) for part in parts if part)


def _ways(fixed: dict[str, Any]) -> str:
    ways = fixed.get("ddio_ways")
    if ways is None:
        return ""
    return f"{ways} DDIO way{'s' if ways > 1 else ''}" if ways else "DDIO is off"


def _settings(store: Store, number: int) -> list[tuple[str, str]]:
    """Return the settings of the first point that is done: those of all points, and its axes."""
    done = store.points(number)["settings"].drop_nulls()
    return [(key, value) for key, value in json.loads(done[0])] if len(done) else []
