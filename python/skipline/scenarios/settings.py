"""Settings of a scenario: from the command line or from Python to dotted keys with TOML values."""

import json
from collections.abc import Iterator, Mapping
from os import PathLike, fspath
from typing import Protocol, runtime_checkable

from skipline._core import InputError
from skipline.text import terminal

# The range of TOML's integers: 64 bits with a sign.
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_ALLOWED = "allowed: texts, paths, numbers, True, False, lists and mappings of these"


@runtime_checkable
class SupportsToList(Protocol):
    """A number or an array of numpy, which knows itself as a number or a list of Python."""

    def tolist(self) -> object:
        """Return that."""


def parse_settings(settings: list[str]) -> list[tuple[str, str]]:
    """Split `key=value` settings of the command line; of a key that is there twice the last wins.

    stderr says so.
    """
    pairs: list[tuple[str, str]] = []
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            raise InputError(
                f"--set '{setting}': not KEY=VALUE; "
                "write --set KEY=VALUE, for example --set rx_descriptors=1024"
            )
        pairs.append((key.strip(), value.strip()))
    last = dict(pairs)
    for key in [key for at, (key, _) in enumerate(pairs) if key in dict(pairs[:at])]:
        terminal.note(f"note: --set {key} is there twice; the last one wins: {last[key]}")
    return list(last.items())


def of_python(
    overrides: Mapping[str, object], keywords: Mapping[str, object]
) -> list[tuple[str, str]]:
    """Write settings as the core takes them: dotted keys and TOML values.

    Tables may be mappings in `overrides` and in `keywords`; a keyword has two underscores for a
    dot. Raises InputError for values that no scenario can have, and for what is stated twice.
    """
    dotted = {name.replace("__", "."): value for name, value in keywords.items()}
    found: dict[str, str] = {}
    for key, value in (*_leaves("", overrides), *_leaves("", dotted)):
        literal = _literal_of(key, value)
        _refuse_second(found, key, literal)
        found[key] = literal
    return list(found.items())


def _leaves(prefix: str, table: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield the keys of a table that are no tables themselves, with the path to them."""
    for name, value in table.items():
        if not isinstance(name, str | int):
            raise InputError(f"overrides: {name!r}: a key is a text, for example 'run.max_batches'")
        key = f"{prefix}{name}"
        if not isinstance(value, Mapping):
            yield key, value
        elif value:
            yield from _leaves(f"{key}.", value)
        else:
            raise InputError(f"overrides: `{key}`: this mapping is empty; state a key, or leave it")


def _refuse_second(found: Mapping[str, str], key: str, literal: str) -> None:
    """Refuse a key whose value, all of it or a part, has been stated before."""
    if key in found:
        raise InputError(
            f"overrides: `{key}`: stated twice, {found[key]} and {literal}; state it once"
        )
    for other in found:
        inner, outer = max(key, other, key=len), min(key, other, key=len)
        if inner.startswith(f"{outer}."):
            raise InputError(
                f"overrides: `{outer}` is stated whole, and `{inner}`, which is in it, apart; "
                "state one of them"
            )


def _literal_of(key: str, value: object) -> str:
    try:
        return toml_literal(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"overrides: `{key}`: {error}") from error


def toml_literal(value: object) -> str:
    """Write a value as `--set` takes it. Texts get quotes: unquoted, "5" would be a number.

    Raises TypeError for what no scenario can have, ValueError for an integer beyond 64 bits.
    """
    match _plain(value):
        case bool(value):
            return "true" if value else "false"
        case float(value):
            return _float(value)
        case str(value):
            return _quoted(value)
        case int(value):
            return _integer(value)
        case list() | tuple() | range() as value:
            return f"[{', '.join(toml_literal(entry) for entry in value)}]"
        case Mapping() as value:
            entries = (f"{_quoted(str(key))} = {toml_literal(e)}" for key, e in value.items())
            return f"{{ {', '.join(entries)} }}"
        case value:
            raise TypeError(f"{value!r} is of type {type(value).__name__}; {_ALLOWED}")


def _plain(value: object) -> object:
    """Return a path, or a number or an array of numpy, as Python's own types."""
    match value:
        case PathLike():
            return fspath(value)
        case SupportsToList():
            return value.tolist()
        case _:
            return value


def _float(value: float) -> str:
    """Write a float; a whole number has no point, since that is good for keys of both kinds."""
    if value.is_integer() and _LEAST <= value <= _MOST:
        return str(int(value))
    return float.__repr__(value)


def _integer(value: int) -> str:
    # Beyond that the core would take the digits for a text.
    if not _LEAST <= value <= _MOST:
        raise ValueError(f"{value} has more than 64 bits; allowed: -2^63 to 2^63 - 1")
    return int.__repr__(value)  # an IntEnum has a name, too


def _quoted(text: str) -> str:
    """Write a TOML string; JSON's escapes are TOML's, but JSON leaves the delete character bare."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
