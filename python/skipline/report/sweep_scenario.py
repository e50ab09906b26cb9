"""What a sweep is of, by its scenario: title, what is offered and where."""

import json
from collections.abc import Sequence
from pathlib import Path

from skipline import _core, resources
from skipline._core import InputError
from skipline.store.store import Store
from skipline.text import toml_model


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


def load(store: Store, number: int, axes: Sequence[str]) -> str:
    """Return what is offered and where, as far as the scenario is still there and says so."""
    row = store.connection.row("SELECT scenario FROM sweeps WHERE sweep = ?", [number])
    scenario = row[0] if row else None
    if not scenario or not resources.exists(scenario):
        return ""
    try:
        keys = json.loads(_core.check_scenario(scenario, _settings(store, number)))
    except InputError:
        return ""
    size, rate, ports, cores = (
        None if name in axes else keys.get(name)
        for name in ("packet_bytes", "offered_gbps", "ports", "cores")
    )
    packets = f"packets of {size:g} B" if size else ""
    at_each = f" at each of {ports} ports" if ports and ports > 1 else ""
    offered = f"{rate:g} Gbit/s{f' of {packets}' if packets else ''} offered" if rate else packets
    offered += at_each if offered else ""
    served = f"{cores} core{'s' if cores > 1 else ''}" if cores else ""
    told = ", ".join(filter(None, (offered, served)))
    whole = f"{told} on {keys['platform']}" if told else str(keys["platform"])
    return whole[:1].upper() + whole[1:] if told else whole


def _settings(store: Store, number: int) -> list[tuple[str, str]]:
    """Return the settings of the first point that is done: those of all points, and its axes."""
    done = store.points(number)["settings"].drop_nulls()
    return [(key, value) for key, value in json.loads(done[0])] if len(done) else []
