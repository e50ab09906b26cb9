"""`skipline run`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from skipline._core import InputError
from skipline.commands import options, suggestions
from skipline.commands.command import Command
from skipline.commands.options import Format, WholeNumber

_SIMULATED_BYTES = 256 << 30


class Address(click.ParamType[int]):
    """A physical address, decimal or hexadecimal."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read an address, or refuse it with what is allowed."""
        try:
            address = int(value, 0)
        except ValueError:
            self.fail(f"{value} is not an address, like 0x1f40 or 8000", param, ctx)
        if not 0 <= address < _SIMULATED_BYTES:
            self.fail(f"{value} is not in the simulated memory: 0 to 256 GiB", param, ctx)
        return address


@click.command(
    cls=Command,
    examples=[
        "skipline run experiments/ddio-bench/l2fwd.toml",
        "skipline run experiments/blog/echo.toml --set ddio_ways=0 --explain",
        "skipline run examples/previous-copy-engine.toml --trace-descriptor 500",
        "skipline run experiments/ddio-bench/l2fwd.toml --format json --out baseline",
    ],
)
@click.argument(
    "scenario",
    metavar="SCENARIO",
    help="Scenario file, on disk or built in.",
    shell_complete=suggestions.scenarios,
)
@click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    help="Replace a scenario key; repeatable.",
    shell_complete=suggestions.settings,
)
@options.seed
@options.output
@options.out("Also write DIR/result.json.", "DIR")
@click.option(
    "--explain",
    is_flag=True,
    help="Who evicted whom, read or not; why requests missed the LLC.",
)
@click.option("--all", "show_all", is_flag=True, help="Show every number.")
@click.option(
    "--trace-packet", metavar="N", type=WholeNumber(), help="Print packet N line by line."
)
@click.option(
    "--trace-line",
    metavar="ADDRESS",
    type=Address(),
    help="Print the story of the line at ADDRESS.",
)
@click.option(
    "--trace-descriptor",
    metavar="N",
    type=WholeNumber(),
    help="Print descriptor N of the copy engines phase by phase.",
)
def run(  # noqa: PLR0913, PLR0917 - one argument for each option
    scenario: str,
    settings: tuple[str, ...],
    seed: int | None,
    output: Format,
    out: Path | None,
    explain: bool,
    show_all: bool,
    trace_packet: int | None,
    trace_line: int | None,
    trace_descriptor: int | None,
) -> None:
    """Simulate one scenario."""
    from skipline.runs import run_command

    request = run_command.Request(
        scenario,
        list(settings),
        seed,
        out,
        explain,
        show_all,
        trace_packet,
        trace_line,
        trace_descriptor,
    )
    with _experiments_named(scenario):
        run_command.execute(request, output.value)


@contextmanager
def _experiments_named(scenario: str) -> Iterator[None]:
    """Say of an experiment's file how it is run, in place of its first key that no scenario has."""
    try:
        yield
    except InputError as error:
        if "unknown key" not in str(error):
            raise
        from skipline.experiment import catalogue

        if not catalogue.is_experiment(scenario):
            raise
        raise InputError(
            f"{scenario}: this is an experiment, not a scenario; "
            f"to run it: skipline experiment run {scenario}"
        ) from error
