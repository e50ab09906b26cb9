"""`skipline testbeds list | show`."""

import click

from skipline import _core
from skipline.commands import options, suggestions
from skipline.commands.command import Group
from skipline.commands.options import Format
from skipline.text import terminal


@click.group(
    cls=Group,
    invoke_without_command=True,
    examples=["skipline testbeds", "skipline testbeds show atc20-skylake"],
)
@click.pass_context
def testbeds(context: click.Context) -> None:
    """Settings that the experiments on one machine share, each with its source."""
    if context.invoked_subcommand is None:
        _list()


@testbeds.command(
    "list", examples=["skipline testbeds list", "skipline testbeds list | grep skylake"]
)
def list_all() -> None:
    """List the known testbeds."""
    _list()


def _list() -> None:
    from skipline.platforms import testbeds_view

    terminal.show(testbeds_view.overview())


@testbeds.command(
    "show",
    examples=[
        "skipline testbeds show atc20-skylake",
        "skipline testbeds show mine.toml --format json",
        "skipline testbeds show ispass20-xeon --format csv > settings.csv",
    ],
)
@click.argument(
    "name",
    metavar="NAME",
    help="Name of a known testbed, or a TOML file.",
    shell_complete=suggestions.testbeds,
)
@options.output
def show(name: str, output: Format) -> None:
    """Show a testbed's platform and settings with confidence and source."""
    if output is Format.JSON:
        terminal.emit_json(_core.testbed(name))
        return
    from skipline.platforms import testbeds_view
    from skipline.platforms.testbeds import read

    testbed = read(name)
    if output is Format.CSV:
        terminal.emit(testbeds_view.settings_table(testbed).as_csv())
    else:
        terminal.show(testbeds_view.details(testbed))
