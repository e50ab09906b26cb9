"""The reference of all commands, generated from the programs themselves."""

import inspect
import re
from collections.abc import Iterator

import click

from skipline import cli
from skipline.host import binary

_EXIT_CODES = """
Every command ends with one of these exit codes:

| code | meaning |
| --- | --- |
| 0 | done |
| 1 | the run failed |
| 2 | wrong usage or bad input; the message names file, key, value and what is allowed |
| 130 | interrupted |

`--format json` prints one JSON object on stdout and nothing else there; progress goes to stderr,
and only to a terminal.
"""


def commands() -> str:
    """Return the page of `skipline`."""
    parts = ["# Commands of `skipline`", cli.app.help or "", _EXIT_CODES.strip()]
    parts += _below(cli.app, click.Context(cli.app, info_name="skipline"))
    return "\n\n".join(parts) + "\n"


def _below(group: click.Group, context: click.Context) -> Iterator[str]:
    """Yield a section for each command of a group, depth first."""
    for name in sorted(group.list_commands(context)):
        command = group.get_command(context, name)
        assert command is not None
        below = click.Context(command, parent=context, info_name=name)
        yield from _section(command, below)
        if isinstance(command, click.Group):
            yield from _below(command, below)


def _section(command: click.Command, context: click.Context) -> Iterator[str]:
    path = context.command_path
    yield f"## {path}"
    yield inspect.cleandoc(command.help or "")
    if not isinstance(command, click.Group):
        usage = command.get_usage(context).removeprefix("Usage: ")
        yield f"```\n{usage}\n```"
        yield from _parameters(command, context)
    if context.ignore_unknown_options:
        name = path.removeprefix("skipline host ")
        yield f"Its options are [those of `skipline-host {name}`](host-commands.md)."
    elif examples := getattr(command, "examples", ()):
        lines = "\n".join(f"$ {example}" for example in examples)
        yield f"```\n{lines}\n```"


def _parameters(command: click.Command, context: click.Context) -> Iterator[str]:
    records = (parameter.get_help_record(context) for parameter in command.params)
    shown = [record for record in records if record and not record[0].startswith("--help")]
    if shown:
        rows = (f"| `{_cell(name)}` | {_cell(text)} |" for name, text in shown)
        yield "\n".join(["| argument or option | meaning |", "| --- | --- |", *rows])


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


def host_commands() -> str:
    """Return the page of `skipline-host`: the help of each command, as the binary prints it."""
    parts = ["# Commands of `skipline-host`"]
    parts.append("What `skipline-host COMMAND --help` prints. What it does to a machine:")
    parts[-1] += " [the real machine](../how-to/host.md)."
    for path in _host_paths([]):
        title = " ".join(["skipline-host", *path])
        parts.append(f"## {title}\n\n```text\n{_help(path)}\n```")
    return "\n\n".join(parts) + "\n"


def _host_paths(path: list[str]) -> Iterator[list[str]]:
    yield path
    listed = re.search(r"^Commands:\n((?:  .*\n|\n)+)", _help(path) + "\n", re.M)
    names = re.findall(r"^  ([a-z][\w-]*)", listed[1], re.M) if listed else []
    for name in names:
        if name != "help":
            yield from _host_paths([*path, name])


def _help(path: list[str]) -> str:
    return binary.output([*path, "--help"]).strip()
