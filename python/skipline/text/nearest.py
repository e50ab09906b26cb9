"""Suggests the known names that a mistyped one is closest to."""

from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str], most: int = 1) -> str:
    """Return ` (did you mean 'x' or 'y'?)`, at most so many, or nothing when no name is close."""
    import difflib  # only mistakes need it

    # Capitals, and a hyphen for an underscore, make no other name.
    plain: dict[str, str] = {}
    for one in known:
        plain.setdefault(one.lower().replace("_", "-"), one)
    wanted = name.lower().replace("_", "-")
    found = difflib.get_close_matches(wanted, list(plain), n=most, cutoff=0.5)
    matches = [plain[one] for one in found]
    names = " or ".join(f"'{match}'" for match in matches)
    return f" (did you mean {names}?)" if matches else ""
