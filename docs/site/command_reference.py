"""The reference of all commands, generated from the programs themselves."""

import re
from collections.abc import Iterator

import typer

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
    root = typer.main.get_command(cli.app)
    parts = ["# Commands of `skipline`", root.help or "", _EXIT_CODES.strip()]
    parts += _below(root, "skipline")
    return "\n\n".join(parts) + "\n"


def _below(group: object, path: str) -> Iterator[str]:
    """Yield a section for each command of a group, depth first."""
    for name, command in sorted(getattr(group, "commands", {}).items()):
        full = f"{path} {name}"
        yield from _section(command, full)
        yield from _below(command, full)


def _section(command: typer.core.TyperCommand, path: str) -> Iterator[str]:
    context = typer.Context(command, info_name=path)
    yield f"## {path}"
    yield (command.help or "").strip()
    if context.command.__class__.__name__ == "TyperGroup":
        return
    usage = command.get_usage(context).removeprefix("Usage: ")
    yield f"```\n{usage}\n```"
    records = [record for parameter in command.params if (record := _record(parameter, context))]
    if records:
        rows = (f"| `{_cell(name)}` | {_cell(text)} |" for name, text in records)
        yield "\n".join(["| argument or option | meaning |", "| --- | --- |", *rows])
    if context.ignore_unknown_options:
        name = path.removeprefix("skipline host ")
        yield f"Its options are [those of `skipline-host {name}`](host-commands.md)."


def _record(parameter: object, context: typer.Context) -> tuple[str, str] | None:
    record: tuple[str, str] | None = parameter.get_help_record(context)  # type: ignore[attr-defined]
    return None if record and record[0].startswith("--help") else record


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


def host_commands() -> str:
    """Return the page of `skipline-host`: the help of each command, as the binary prints it."""
    parts = ["# Commands of `skipline-host`"]
    parts.append("What `skipline-host COMMAND --help` prints. What it does to a machine:")
    parts[-1] += " [the real machine](../host.md)."
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
