"""Starts a simulation in the compiled core."""

import json
from collections.abc import Callable, Mapping

from skipline import _core
from skipline._core import InputError
from skipline.result import Result, parse

Progress = Callable[[dict[str, float]], None]


def run(
    scenario: str,
    overrides: Mapping[str, object] | None = None,
    *,
    seed: int | None = None,
    trace_packet: int | None = None,
    progress: Progress | None = None,
) -> Result:
    """Simulate the scenario at a path on disk or of a built-in file.

    `overrides` replaces scenario keys (`{"rx_descriptors": 1024, "traffic.pcap": "x.pcap"}`).
    `progress` is called about ten times a second with packets, fraction (0 to 1), simulated_ns.
    Raises InputError for bad input, RunError if the run cannot finish.
    """
    settings = [(key, toml_literal(value)) for key, value in (overrides or {}).items()]
    return parse(_core.run(scenario, settings, seed, trace_packet, progress), scenario)


def toml_literal(value: object) -> str:
    """Write a setting as `--set` takes it: a text needs no quotes, except in a list or table."""
    return value if isinstance(value, str) else _toml(value)


def _toml(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case float() if value.is_integer():
            return str(int(value))  # a whole number is good for keys of both kinds
        case str():
            return json.dumps(value)
        case list() | tuple():
            return f"[{', '.join(_toml(entry) for entry in value)}]"
        case Mapping():
            entries = ", ".join(f"{json.dumps(key)} = {_toml(e)}" for key, e in value.items())
            return f"{{ {entries} }}"
        case _:
            return str(value)


def parse_settings(settings: list[str]) -> list[tuple[str, str]]:
    """Split `key=value` settings of the command line."""
    pairs = []
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            raise InputError(
                f"--set '{setting}': no key and value; "
                "write --set key=value, for example --set rx_descriptors=1024"
            )
        pairs.append((key.strip(), value.strip()))
    return pairs
