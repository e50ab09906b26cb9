"""Do modules import in one direction only, also inside functions?"""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from command_line import REPOSITORY

PACKAGE = REPOSITORY / "python" / "skipline"
# Modules and packages of `skipline`: each may import what stands in an earlier line.
ORDER = (
    ("_core",),
    ("extras", "interruption", "text"),
    ("atomic", "dsa", "resources", "slices"),
    ("model_error", "platforms", "scenarios"),
    ("runs",),
    ("store", "traces"),
    ("diff", "sweeps"),
    ("advice",),
    ("experiment",),
    ("calibrate", "claims"),
    ("report",),
    ("explorer", "host"),
    ("commands",),
    ("cli",),
    ("__init__", "__main__"),
)
# Besides these few, a module is in the package of its subject.
ALONE = {
    *("__init__", "__main__", "atomic", "cli", "dsa", "extras", "interruption"),
    *("resources", "slices"),
}
RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}
MODULES = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts): path
    for path in sorted(PACKAGE.rglob("*.py*"))
    if path.suffix in {".py", ".pyi"}
}


def _module(dotted: str) -> str | None:
    """Name the module of this package that an import asks for, below `skipline`."""
    inside = dotted.removeprefix("skipline").removeprefix(".")
    for name in (inside, f"{inside}.__init__".removeprefix(".")):
        if name in MODULES:
            return name
    return None


def _imports(path: Path) -> Iterator[str]:
    """Yield the modules that a file imports anywhere, those inside functions included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                asked = [alias.name for alias in names]
            case ast.ImportFrom(module=str(module), names=names, level=0):
                below = [f"{module}.{alias.name}" for alias in names]
                asked = [name if _module(name) else module for name in below]
            case _:
                continue
        for name in asked:
            if name.split(".")[0] == "skipline" and (found := _module(name)):
                yield found


GRAPH = {name: sorted(set(_imports(path))) for name, path in MODULES.items()}


def test_imports_are_found_also_inside_functions() -> None:
    assert "report.experiment_directory" in GRAPH["commands.experiment"]
    assert "experiment.outcome" in GRAPH["report.experiment_directory"]


def test_a_module_is_in_the_package_of_its_subject() -> None:
    assert {path.stem for path in PACKAGE.glob("*.py")} <= ALONE


def test_no_module_imports_itself_over_others() -> None:
    TopologicalSorter(GRAPH).prepare()


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_only_what_stands_before_it(name: str) -> None:
    top = name.split(".", maxsplit=1)[0]
    assert top in RANK, f"{top}: state its position in ORDER"
    for other in GRAPH[name]:
        below = other.split(".")[0]
        assert below == top or RANK[below] < RANK[top], f"{name} imports {other}"
