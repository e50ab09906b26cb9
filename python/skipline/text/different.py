"""Names that have to differ, as those of columns."""

from collections.abc import Iterable


def names(wanted: Iterable[str]) -> list[str]:
    """Return names of which no two are the same: the second `a` is `a_2`."""
    found: dict[str, None] = {}
    for name in wanted:
        number, other = 1, name
        while other in found:
            number, other = number + 1, f"{name}_{number + 1}"
        found[other] = None
    return list(found)
