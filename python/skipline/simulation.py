"""Starts a simulation in the compiled core."""

import json
from collections.abc import Callable, Mapping
from os import PathLike, fspath
from typing import Protocol, runtime_checkable

from skipline import _core
from skipline._core import InputError
from skipline.result import Result, parse

Progress = Callable[[dict[str, float]], None]


@runtime_checkable
class SupportsToList(Protocol):
    """A number or an array of numpy, which knows itself as a number or a list of Python."""

    def tolist(self) -> object:
        """Return that."""


def run(
    scenario: str | PathLike[str],
    overrides: Mapping[str, object] | None = None,
    *,
    seed: int | None = None,
    trace_packet: int | None = None,
    progress: Progress | None = None,
) -> Result:
    """Simulate the scenario at a path on disk or of a built-in file.

    `overrides` replaces scenario keys (`{"rx_descriptors": 1024, "traffic.pcap": "x.pcap"}`) by
    values of Python or numpy; a `str` is a text whatever it says.
    `progress` is called about ten times a second with packets, fraction (0 to 1), simulated_ns.
    Raises InputError for bad input, RunError if the run cannot finish.
    """
    settings = [(key, _literal_of(key, value)) for key, value in (overrides or {}).items()]
    return parse(_core.run(scenario, settings, seed, trace_packet, progress), fspath(scenario))


def _literal_of(key: str, value: object) -> str:
    try:
        return toml_literal(value)
    except TypeError as error:
        raise InputError(f"overrides: `{key}`: {error}") from error


def toml_literal(value: object) -> str:
    """Write a value as `--set` takes it. Texts get quotes: unquoted, "5" would be a number.

    Raises TypeError for what no scenario can have.
    """
    match _plain(value):
        case bool(value):
            return "true" if value else "false"
        case float(value) if value.is_integer():
            return str(int(value))  # a whole number is good for keys of both kinds
        case str(value):
            return _quoted(value)
        case int() | float() as value:
            return str(value)
        case list() | tuple() | range() as value:
            return f"[{', '.join(toml_literal(entry) for entry in value)}]"
        case Mapping() as value:
            entries = (f"{_quoted(str(key))} = {toml_literal(e)}" for key, e in value.items())
            return f"{{ {', '.join(entries)} }}"
        case value:
            allowed = "allowed: texts, paths, numbers, True, False, lists and mappings of these"
            raise TypeError(f"{value!r} is of type {type(value).__name__}; {allowed}")


def _plain(value: object) -> object:
    """Return a path, or a number or an array of numpy, as Python's own types."""
    match value:
        case PathLike():
            return fspath(value)
        case SupportsToList():
            return value.tolist()
        case _:
            return value


def _quoted(text: str) -> str:
    """Write a TOML string; JSON's escapes are TOML's, but JSON leaves the delete character bare."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


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
