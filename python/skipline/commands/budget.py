"""`skipline budget`."""

import json

import click

from skipline.commands import options, suggestions
from skipline.commands.command import Command
from skipline.commands.options import Format
from skipline.text import terminal


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
    help="Name of a known platform, or a TOML file; without it no NIC and no memory.",
    shell_complete=suggestions.platforms,
)
@options.output
def budget(platform: str | None, output: Format) -> None:
    """Show how much time a packet has, and what NIC and memory take of it."""
    from skipline.platforms import budget as work

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
