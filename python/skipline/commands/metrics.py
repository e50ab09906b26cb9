"""`skipline metrics`."""

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
    from skipline import metrics as work

    match output:
        case Format.TABLE:
            terminal.show(work.overview())
        case Format.JSON:
            terminal.emit(work.as_json())
        case Format.CSV:
            terminal.emit(work.as_csv())
