"""`skipline budget`."""

import json
from typing import Annotated

import typer

from skipline import terminal
from skipline.commands.options import Format, Output


def budget(
    platform: Annotated[
        str, typer.Argument(metavar="PLATFORM", help="Name of a known platform, or a TOML file.")
    ] = "cascade-lake-blog",
    output: Output = Format.TABLE,
) -> None:
    """Show how much time a packet has, and what NIC and memory take of it."""
    from skipline import budget as work

    items = work.items(platform)
    match output:
        case Format.TABLE:
            terminal.show(work.table(items, platform))
        case Format.JSON:
            terminal.emit(json.dumps({item.name: item.value_ns for item in items}, indent=2))
        case Format.CSV:
            terminal.emit(work.as_csv(items))
