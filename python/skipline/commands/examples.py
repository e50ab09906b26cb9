"""`skipline examples list | show | copy`."""

from pathlib import Path
from typing import Annotated

import typer

from skipline import terminal
from skipline.commands.options import Format, Output

app = typer.Typer(help="Commented scenarios from questions that people ask.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of an example.")]


@app.callback(invoke_without_command=True)
def default(context: typer.Context) -> None:
    """Commented scenarios from questions that people ask."""
    if context.invoked_subcommand is None:
        list_all()


@app.command("list")
def list_all(output: Output = Format.TABLE) -> None:
    """List the examples with their questions."""
    from skipline import examples

    entries = examples.entries()
    match output:
        case Format.JSON:
            terminal.emit(examples.as_json(entries))
        case Format.CSV:
            terminal.emit(examples.as_csv(entries))
        case Format.TABLE:
            terminal.show(examples.listing(entries))


@app.command("show")
def show(name: Name) -> None:
    """Print an example: its scenario, what to run, and what comes out."""
    from skipline import examples

    terminal.emit(examples.find(name).text)


@app.command("copy")
def copy(
    name: Name,
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where to; default: the current folder.")
    ] = Path(),
    replace: Annotated[
        bool, typer.Option("--replace", help="Overwrite a file of that name, and say so.")
    ] = False,
) -> None:
    """Copy an example into a folder, to change it. Nothing is overwritten unless you ask."""
    from skipline import examples

    target, replaced = examples.copy(examples.find(name), directory, replace=replace)
    terminal.emit_for_people(f"{'replaced' if replaced else 'wrote'} {target}")
    terminal.emit_for_people(f"next: skipline run {target}")
