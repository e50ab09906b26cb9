"""Commented scenarios, each from a question that people ask. They are built into the module.

The comment above a scenario has the commands to run, what to look at, and what comes out.
"""

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from skipline import _core, atomic
from skipline._core import InputError
from skipline.text.nearest import did_you_mean
from skipline.text.table import Column, TextTable

if TYPE_CHECKING:
    from rich.console import RenderableType

_FOLDER = "examples/"
_SUFFIX = ".toml"


class Example(NamedTuple):
    """A scenario and the question that it answers."""

    name: str
    question: str
    path: str
    """By this path `skipline run` finds it in any folder."""
    text: str


class Copied(NamedTuple):
    """The outcome of copying an example."""

    target: Path
    replaced: bool
    """Another file of that name was there."""


def entries() -> list[Example]:
    """Return all examples, by name."""
    paths = sorted(path for path in _core.builtin_files() if path.startswith(_FOLDER))
    return [_load(path) for path in paths if path.endswith(_SUFFIX)]


def find(name: str) -> Example:
    """Return the example `name`, which may be written as its path or its file."""
    wanted = name.removeprefix(_FOLDER).removesuffix(_SUFFIX)
    known = entries()
    for example in known:
        if example.name == wanted:
            return example
    names = [example.name for example in known]
    raise InputError(
        f"example '{name}': unknown{did_you_mean(wanted, names)}; known: {', '.join(names)}"
    )


def copy(example: Example, folder: Path, *, replace: bool) -> Copied:
    """Write the example, and the file that it reads if it has one, into `folder`.

    Other files of these names are refused unless `replace`.
    """
    texts = {
        atomic.prepare_directory(folder) / path.removeprefix(_FOLDER): _core.builtin_file(path)
        for path in _core.builtin_files()
        if Path(path).with_suffix("") == Path(example.path).with_suffix("")
    }
    known = [target for target in texts if target.exists() or target.is_symlink()]
    if known and not replace:
        raise InputError(
            f"{known[0]}: this file exists and was left as it is; "
            "name another folder, or --replace it"
        )
    for target, text in texts.items():
        atomic.write(target, text or "")
    return Copied(folder / f"{example.name}{_SUFFIX}", bool(known))


def listing(examples: list[Example]) -> "RenderableType":
    """List examples with their questions."""
    from rich.console import Group

    return Group(
        table(examples),
        "",
        "skipline examples show NAME: the scenario, what to run, what comes out",
        "skipline run examples/NAME.toml: from any folder",
    )


def table(examples: list[Example]) -> TextTable:
    """Return name, question and path of each example."""
    columns = (Column("example", "name"), Column("question", "question"), Column(None, "path"))
    return TextTable(columns, (example[:3] for example in examples))


def _load(path: str) -> Example:
    text = _core.builtin_file(path) or ""
    name = path.removeprefix(_FOLDER).removesuffix(_SUFFIX)
    return Example(name, tomllib.loads(text)["question"], path, text)
