"""`skipline schema`."""

import click

from skipline import _core, terminal
from skipline.commands.command import Command

# Files that have a JSON schema.
_KINDS = ("scenario", "platform", "result")


@click.command(
    cls=Command,
    examples=[
        "skipline schema scenario > scenario.schema.json",
        "skipline schema platform",
        "skipline schema result",
    ],
)
@click.argument("kind", type=click.Choice(_KINDS), help="Kind of file.")
def schema(kind: str) -> None:
    """Print the JSON schema of a kind of file, for editors."""
    terminal.emit(_core.schema(kind))
