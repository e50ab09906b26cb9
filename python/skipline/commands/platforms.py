"""`skipline platforms list | show | check`."""

import click

from skipline import _core
from skipline.commands import options, suggestions
from skipline.commands.command import Group
from skipline.commands.options import Format
from skipline.text import terminal


@click.group(
    cls=Group,
    invoke_without_command=True,
    examples=[
        "skipline platforms",
        "skipline platforms show skylake-gold-6140",
        "skipline platforms check mine.toml",
    ],
)
@click.pass_context
def platforms(context: click.Context) -> None:
    """Facts about machines, each with its source."""
    if context.invoked_subcommand is None:
        _list()


@platforms.command(
    "list", examples=["skipline platforms list", "skipline platforms list | grep skylake"]
)
def list_all() -> None:
    """List the known platforms, cards and SSDs."""
    _list()


def _list() -> None:
    from skipline.platforms.platforms_view import overview

    terminal.show(overview())


@platforms.command(
    "show",
    examples=[
        "skipline platforms show skylake-gold-6140",
        "skipline platforms show mine.toml --format json",
        "skipline platforms show skylake-gold-6140 --format csv > facts.csv",
    ],
)
@click.argument(
    "name",
    metavar="NAME",
    help="Name of a known platform, or a TOML file.",
    shell_complete=suggestions.platforms,
)
@options.output
def show(name: str, output: Format) -> None:
    """Show a platform's facts with confidence and source."""
    from skipline.platforms.platform_facts import facts

    if output is Format.JSON:
        terminal.emit_json(_core.platform(name))
        return
    known = facts(name)
    from skipline.platforms import platforms_view

    if output is Format.CSV:
        terminal.emit(platforms_view.facts_table(name, known).as_csv())
    else:
        terminal.show(platforms_view.facts_table(name, known))


@platforms.command(
    "check",
    examples=["skipline platforms check mine.toml", "skipline platforms check machines/node7.toml"],
)
@click.argument(
    "file",
    metavar="FILE",
    help="Platform file, on disk or built in.",
    shell_complete=suggestions.toml_files,
)
def check(file: str) -> None:
    """Check a platform file: keys, ranges, a source for every number."""
    from skipline.platforms.platform_facts import facts

    terminal.emit_for_people(f"{file}: good, {len(facts(file))} facts")
