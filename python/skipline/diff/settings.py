"""Settings that differ between two resolved scenarios."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

# Keys that describe a scenario for people and change no result.
_WORDS = {"title", "question"}


class Differing(NamedTuple):
    """A key and its values on both sides; None where it is not stated."""

    key: str
    before: Any
    now: Any


def differing(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[Differing]:
    """Return the keys with other values, in order."""
    left, right = dict(_leaves("", before)), dict(_leaves("", now))
    return [
        Differing(key, left.get(key), right.get(key))
        for key in dict.fromkeys([*left, *right])
        if left.get(key) != right.get(key) and key not in _WORDS
    ]


def _leaves(prefix: str, value: object) -> Iterator[tuple[str, object]]:
    """Yield what is in tables and in lists of tables by dotted keys."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(f"{prefix}.{key}" if prefix else str(key), inner)
    elif isinstance(value, list) and any(isinstance(one, Mapping) for one in value):
        for at, inner in enumerate(value):
            yield from _leaves(f"{prefix}.{at}", inner)
    else:
        yield prefix, value
