"""Suggests the known name that a mistyped one is closest to."""

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ` (did you mean 'x'?)`, or nothing when no known name is close."""
    matches = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" (did you mean '{matches[0]}'?)" if matches else ""
