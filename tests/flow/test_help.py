"""Help of every command: it fits in 80 columns, and its examples work."""

import itertools
import re
import shlex
from collections.abc import Iterator
from typing import Any

import click
import pytest

from command_line import Skipline
from skipline import _core, cli
from skipline.commands.command import Command, Group

COLUMNS = 80
Path = tuple[str, ...]


def commands(group: click.Group, path: Path = ()) -> Iterator[tuple[Path, click.Command]]:
    """Yield every command and group with the words that call it."""
    yield path, group
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


EVERY = dict(commands(cli.app))
# Others are passed on to a program that has help of its own.
OWN = [path for path, command in EVERY.items() if not command.context_settings]


def calls(example: str) -> list[str]:
    """The words behind `skipline` in an example, without redirections."""
    (call,) = re.findall(r"skipline ([^>|)]*)", example.replace("\\\n", " "))
    return shlex.split(call)


def examples(path: Path) -> tuple[str, ...]:
    command = EVERY[path]
    assert isinstance(command, Command | Group)
    return command.examples


EXAMPLES = [example for path in OWN for example in examples(path)]


@pytest.mark.parametrize("path", OWN, ids=" ".join)
def test_help_fits_in_80_columns_and_ends_with_examples(skipline: Skipline, path: Path) -> None:
    done = skipline(*path, "--help")
    assert done.code == 0, done.err
    assert max(map(len, done.out.splitlines())) <= COLUMNS
    _, _, end = done.out.partition("\nExamples:\n")
    shown = [line.removeprefix("  ") for line in end.splitlines()]
    assert shown == [line for example in examples(path) for line in example.splitlines()]
    assert 2 <= len(examples(path)) <= 4


@pytest.mark.parametrize("path", OWN, ids=" ".join)
def test_examples_are_of_their_command(path: Path) -> None:
    assert all(tuple(calls(example)[: len(path)]) == path for example in examples(path))


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_words_of_an_example_are_understood(
    example: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = []

    def record(**values: Any) -> None:
        called.append(values)

    for command in EVERY.values():
        if not isinstance(command, click.Group):
            monkeypatch.setattr(command, "callback", record)
    code = cli.app.main(calls(example), prog_name="skipline", standalone_mode=False)
    assert len(called) == 1 or calls(example) in (["platforms"], ["testbeds"], ["examples"])
    assert not code


@pytest.mark.parametrize("example", [example for example in EXAMPLES if calls(example)[0] == "run"])
def test_scenarios_of_examples_are_built_in(example: str) -> None:
    words = calls(example)
    settings = [
        after.partition("=") for word, after in itertools.pairwise(words) if word == "--set"
    ]
    _core.check_scenario(words[1], [(key, value) for key, _, value in settings])


@pytest.mark.parametrize(
    "example",
    [
        example
        for example in EXAMPLES
        if re.match(
            r"budget|completion|experiment (list|show)|metrics|platforms|schema",
            " ".join(calls(example)),
        )
        and ".toml" not in example
    ],
)
def test_examples_that_take_no_time_work(skipline: Skipline, example: str) -> None:
    done = skipline(*calls(example))
    assert (done.code, done.err) == (0, "")
    assert done.out
