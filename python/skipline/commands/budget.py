"""`skipline budget`."""

import json

import click

from skipline.commands import options, suggestions
from skipline.commands.command import Command
from skipline.commands.options import Format
from skipline.text import terminal

_DEFAULT = "cascade-lake-blog"


@click.command(
    cls=Command,
    examples=[
        "skipline budget",
        "skipline budget skylake-gold-6140",
        "skipline budget skylake-gold-6140 --format json",
    ],
)
@click.argument(
    "platform",
    metavar="[PLATFORM]",
    required=False,
    help=f"Name of a known platform, or a TOML file; default: {_DEFAULT}.",
    shell_complete=suggestions.platforms,
)
@options.output
def budget(platform: str | None, output: Format) -> None:
    """Show how much time a packet has, and what NIC and memory take of it."""
    from skipline.platforms import budget as work

    if platform is None:
        platform = _DEFAULT
        terminal.note(
            f"the numbers of {platform}: name another platform, or a file of your server "
            "(docs/tutorials/my-own-server.md)"
        )
    items = work.items(platform)
    from skipline.platforms.budget_view import budget_table

    table = budget_table(items, platform)
    match output:
        case Format.TABLE:
            terminal.show(table)
        case Format.JSON:
            terminal.emit_json(json.dumps({item.name: item.value_ns for item in items}, indent=2))
        case Format.CSV:
            terminal.emit(table.as_csv())
