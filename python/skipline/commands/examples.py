"""`skipline examples list | show | copy`."""

import json
from pathlib import Path

import click

from skipline.commands import options, suggestions
from skipline.commands.command import Group
from skipline.commands.options import Format
from skipline.text import terminal


@click.group(
    cls=Group,
    invoke_without_command=True,
    examples=[
        "skipline examples",
        "skipline examples show jumbo-frames",
        "skipline examples copy jumbo-frames",
    ],
)
@click.pass_context
def examples(context: click.Context) -> None:
    """Commented scenarios from questions that people ask."""
    if context.invoked_subcommand is None:
        _list(Format.TABLE)


@examples.command(
    "list", examples=["skipline examples list", "skipline examples list --format csv"]
)
@options.output
def list_all(output: Format) -> None:
    """List the examples with their questions."""
    _list(output)


def _list(output: Format) -> None:
    from skipline.scenarios import examples as known

    entries = known.entries()
    match output:
        case Format.JSON:
            terminal.emit_json(json.dumps({"examples": known.table(entries).records()}, indent=1))
        case Format.CSV:
            terminal.emit(known.table(entries).as_csv())
        case Format.TABLE:
            terminal.show(known.listing(entries))


@examples.command(
    "show",
    examples=["skipline examples show jumbo-frames", "skipline examples show imix > imix.toml"],
)
@click.argument(
    "name", metavar="NAME", help="Name of an example.", shell_complete=suggestions.examples
)
def show(name: str) -> None:
    """Print an example: its scenario, what to run, and what comes out."""
    from skipline.scenarios import examples as known

    terminal.emit(known.find(name).text)


@examples.command(
    "copy",
    examples=["skipline examples copy jumbo-frames", "skipline examples copy imix scenarios"],
)
@click.argument(
    "name", metavar="NAME", help="Name of an example.", shell_complete=suggestions.examples
)
@click.argument(
    "directory",
    metavar="[DIR]",
    required=False,
    default=Path(),
    type=click.Path(path_type=Path),
    help="Where to; default: the current folder.",
)
@click.option("--replace", is_flag=True, help="Overwrite a file of that name, and say so.")
def copy(name: str, directory: Path, replace: bool) -> None:
    """Copy an example into a folder, to change it. Nothing is overwritten unless you ask."""
    from skipline.scenarios import examples as known

    target, replaced = known.copy(known.find(name), directory, replace=replace)
    terminal.emit_for_people(f"{'replaced' if replaced else 'wrote'} {target}")
    terminal.emit_for_people(f"next: skipline run {target}")
