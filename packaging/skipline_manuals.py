"""Writes a manual page for each command of `skipline`: python packaging/skipline_manuals.py DIR.

Commands that the binary `skipline-host` carries out have the binary's own pages, by the same names.
"""

import argparse
import inspect
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import click
from click_man.man import ManPage

from skipline import _core, atomic
from skipline.cli import app
from skipline.commands.command import Command, Group
from skipline.commands.host import PassedOn

# Their pages are those of the binary.
_OF_THE_BINARY = "skipline-host"


def _commands(context: click.Context) -> Iterator[click.Context]:
    """Yield the context of a command and of all below it."""
    yield context
    group = context.command
    if isinstance(group, click.Group):
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None, name
            below = click.Context(command, info_name=name, parent=context)
            yield from _commands(below)


def _literal(text: str) -> str:
    """Text as roff takes it for text: a point at the start of a line would be a request."""
    return re.sub(r"^(?=[.'])", r"\\&", text.replace("\\", "\\e"), flags=re.MULTILINE)


def page(context: click.Context) -> str:
    """Return the manual page of a command, in roff."""
    command = context.command
    assert isinstance(command, Command | Group), context.command_path
    made = ManPage(context.command_path)
    made.version = _core.version()
    made.date = time.strftime(
        "%Y-%m-%d", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
    )
    made.short_help = _literal(command.short_help or "")
    made.description = _literal(inspect.cleandoc(command.help or ""))
    made.synopsis = " ".join(command.collect_usage_pieces(context))
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    made.options = [(option, _literal(about)) for option, about in filter(None, records)]
    if isinstance(command, click.Group):
        names = command.list_commands(context)
        found = [(name, command.get_command(context, name)) for name in names]
        made.commands = [(name, _literal(one.short_help or "")) for name, one in found if one]
    return str(made) + _examples(command)


def _examples(command: Command | Group) -> str:
    if not command.examples:
        return ""
    lines = _literal("\n".join(command.examples)).replace("-", r"\-")
    return f".SH EXAMPLES\n.nf\n{lines}\n.fi\n"


def write(directory: Path) -> list[Path]:
    """Write all pages below a directory; return their files."""
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for context in _commands(click.Context(app, info_name="skipline")):
        name = context.command_path.replace(" ", "-")
        is_of_binary = name == _OF_THE_BINARY or isinstance(context.command, PassedOn)
        if not is_of_binary:
            path = directory / f"{name}.1"
            atomic.write(path, page(context))
            written.append(path)
    return written


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path, help="where to write them")
    print(f"{len(write(parser.parse_args().directory))} pages")
