"""Scenarios by short names: `forward-100g` is the built-in `examples/forward-100g.toml`."""

from pathlib import Path

from skipline import _core
from skipline._core import InputError
from skipline.text.nearest import did_you_mean

_FOLDERS = ("examples/", "experiments/")
_SUFFIX = ".toml"


def path_of(scenario: str) -> str:
    """Return the path of a scenario: as it is written, or that of a built-in one of that name.

    InputError if the name is that of an experiment, or nearly that of an example.
    """
    if "/" in scenario or scenario.endswith(_SUFFIX) or Path(scenario).exists():
        return scenario
    known = _known()
    if scenario in known:
        path = known[scenario]
        if path.startswith(_FOLDERS[1]) and _is_experiment(path):
            raise InputError(
                f"{scenario}: this is an experiment, not a scenario; "
                f"to run it: skipline experiment run {scenario}"
            )
        return path
    own = [path.name for path in Path().glob(f"*{_SUFFIX}")]
    near = did_you_mean(scenario, [*own, *known])
    if not near:
        return scenario
    raise InputError(
        f"{scenario}: no such scenario{near}; names of examples: skipline examples; "
        "a file of yours: write its path"
    )


def _known() -> dict[str, str]:
    """Return built-in paths by name; an example comes before an experiment of the same name."""
    found: dict[str, str] = {}
    for folder in _FOLDERS:
        for path in sorted(_core.builtin_files()):
            if path.startswith(folder) and path.endswith(_SUFFIX):
                found.setdefault(Path(path).stem, path)
    return found


def _is_experiment(path: str) -> bool:
    return "\nscenario = " in f"\n{_core.builtin_file(path)}"
