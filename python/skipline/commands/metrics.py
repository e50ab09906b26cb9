"""`skipline metrics`."""

import json

import click

from skipline.commands import options
from skipline.commands.command import Command
from skipline.commands.options import Format
from skipline.text import terminal


@click.command(
    cls=Command,
    examples=["skipline metrics", "skipline metrics --format csv > metrics.csv"],
)
@options.output
def metrics(output: Format) -> None:
    """List every metric of results: unit, what its numbers are by, meaning."""
    from skipline.scenarios import metrics as work

    table = work.table()
    match output:
        case Format.TABLE:
            terminal.show(table)
        case Format.JSON:
            terminal.emit_json(json.dumps(table.records(), indent=2))
        case Format.CSV:
            terminal.emit(table.as_csv())
