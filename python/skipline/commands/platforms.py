"""`skipline platforms list | show | check`."""

from typing import Annotated

import typer

from skipline import _core, terminal
from skipline.commands.options import Format, Output

app = typer.Typer(help="Facts about machines, each with its source.")


@app.callback(invoke_without_command=True)
def default(context: typer.Context) -> None:
    """Facts about machines, each with its source."""
    if context.invoked_subcommand is None:
        list_all()


@app.command("list")
def list_all() -> None:
    """List the known platforms."""
    from skipline.platforms import overview

    terminal.show(overview())


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name, or a TOML file.")],
    output: Output = Format.TABLE,
) -> None:
    """Show a platform's facts with confidence and source."""
    from skipline.platforms import as_csv, details

    match output:
        case Format.TABLE:
            terminal.show(details(name))
        case Format.JSON:
            terminal.emit(_core.platform(name))
        case Format.CSV:
            terminal.emit(as_csv(name))


@app.command("check")
def check(file: Annotated[str, typer.Argument(metavar="FILE")]) -> None:
    """Check a platform file: keys, ranges, a source for every number."""
    from skipline.platforms import facts

    terminal.emit_for_people(f"{file}: good, {len(facts(file))} facts")
