"""Libraries that are not installed with Skipline itself: extras, and how to get them.

A run, a trace and their pages need none of these. A command says which it needs before it begins,
and whoever asks a result for more, as for a data frame, hears it then.
"""

from collections.abc import Iterable
from importlib.util import find_spec

# The libraries by the names under which they are imported; pyproject.toml lists their versions.
_SWEEPS = ("duckdb", "numpy", "polars", "pyarrow", "pydantic", "scipy")
_REPORTS = (*_SWEEPS, "altair", "vl_convert")
EXTRAS = {
    "sweeps": _SWEEPS,
    "advise": (*_SWEEPS, "optuna"),
    "reports": _REPORTS,
    "ray": (*_SWEEPS, "ray"),
    "notebook": (*_REPORTS, "ipykernel"),
}
_MOST_NAMED = 3
# The smallest extra that brings a library.
_BRINGS = {library: extra for extra, all_of in reversed(EXTRAS.items()) for library in all_of}


class MissingExtra(ImportError):
    """A library that is not installed; the message is the sentence that says how to get it."""


def require(extra: str, purpose: str, libraries: Iterable[str] = ()) -> None:
    """Refuse what needs an extra, or some libraries of it, if one is missing: MissingExtra."""
    missing = [one for one in libraries or EXTRAS[extra] if find_spec(one) is None]
    if missing:
        raise MissingExtra(sentence(extra, purpose, missing))


def for_library(error: ModuleNotFoundError) -> MissingExtra | None:
    """Return how to get a library that was not found; None if no extra brings it."""
    library = (error.name or "").partition(".")[0]
    extra = _BRINGS.get(library)
    return None if extra is None else MissingExtra(sentence(extra, "this", [library]))


def sentence(extra: str, purpose: str, missing: Iterable[str]) -> str:
    """Say what a purpose needs, and how it is installed."""
    names = list(missing)
    more = len(names) - _MOST_NAMED
    listed = ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f"{purpose} needs {listed}, not installed here: pip install 'skipline[{extra}]'"
