"""Suggests the known names that a mistyped one is closest to."""

from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str], most: int = 1) -> str:
    """Return ` (did you mean 'x' or 'y'?)`, at most so many, or nothing when no name is close."""
    import difflib  # only mistakes need it

    matches = difflib.get_close_matches(name, list(known), n=most, cutoff=0.5)
    names = " or ".join(f"'{match}'" for match in matches)
    return f" (did you mean {names}?)" if matches else ""
