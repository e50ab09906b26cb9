"""`skipline schema`."""

import json

import click

from skipline import _core, extras
from skipline.commands.command import Command
from skipline.text import terminal

# Files that have a JSON schema.
_EXPERIMENT = "experiment"
_KINDS = ("scenario", "platform", _EXPERIMENT, "result")


@click.command(
    cls=Command,
    examples=[
        "skipline schema scenario > scenario.schema.json",
        "skipline schema platform",
        "skipline schema experiment",
        "skipline schema result",
    ],
)
@click.argument("kind", type=click.Choice(_KINDS), help="Kind of file.")
def schema(kind: str) -> None:
    """Print the JSON schema of a kind of file, for editors."""
    if kind != _EXPERIMENT:
        terminal.emit_json(_core.schema(kind))
        return
    extras.require("sweeps", "`skipline schema experiment`")
    from skipline.experiment.definition import Experiment

    terminal.emit_json(json.dumps(Experiment.model_json_schema(), indent=2))
