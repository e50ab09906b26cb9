"""`skipline run`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skipline._core import InputError
from skipline.commands import options, suggestions
from skipline.commands.command import Command
from skipline.commands.options import Format, WholeNumber

if TYPE_CHECKING:
    from skipline.runs.perfetto_file import TimelineRequest

_SIMULATED_BYTES = 256 << 30
# Packets of a timeline: by default, and at most. 10,000 of 1500 bytes have a million operations.
DEFAULT_PACKETS = 1000
MOST_PACKETS = 100_000
# Seeds of --repeats: their results are all in memory.
MOST_REPEATS = 10_000


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
        "skipline run experiments/ddio-bench/l2fwd.toml --explain --perfetto l2.pftrace",
        "skipline run examples/previous-copy-engine.toml --trace-descriptor 500",
        "skipline run experiments/ddio-bench/l2fwd.toml --format json --out baseline",
    ],
)
@click.argument(
    "scenario",
    metavar="SCENARIO",
    help="Scenario file, on disk or built in, or the name of an example.",
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
@click.option(
    "--repeats",
    metavar="R",
    type=click.IntRange(min=1, max=MOST_REPEATS),
    help="Run with R seeds side by side, and show means over them.",
)
@options.output
@options.out("Also write DIR/result.json; with --repeats DIR/seed-N/result.json.", "DIR")
@click.option(
    "--explain",
    is_flag=True,
    help="Who evicted whom, read or not; why requests missed the LLC, and device writes too.",
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
@click.option(
    "--perfetto",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write a timeline for ui.perfetto.dev: every line operation in a window of the run.",
)
@click.option(
    "--perfetto-from",
    metavar="N",
    type=WholeNumber(),
    help="First packet of the window; default: 0, or the traced descriptor alone.",
)
@click.option(
    "--perfetto-packets",
    metavar="N",
    type=click.IntRange(min=1, max=MOST_PACKETS),
    help=f"Packets of the window, 1 to {MOST_PACKETS:,}; default: {DEFAULT_PACKETS:,}.",
)
def run(  # noqa: PLR0913, PLR0917 - one argument for each option
    scenario: str,
    settings: tuple[str, ...],
    seed: int | None,
    repeats: int | None,
    output: Format,
    out: Path | None,
    explain: bool,
    show_all: bool,
    trace_packet: int | None,
    trace_line: int | None,
    trace_descriptor: int | None,
    perfetto: Path | None,
    perfetto_from: int | None,
    perfetto_packets: int | None,
) -> None:
    """Simulate one scenario."""
    from skipline.runs import run_command
    from skipline.scenarios import names

    scenario = names.path_of(scenario)
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
        _timeline(perfetto, perfetto_from, perfetto_packets, trace_descriptor),
        repeats,
    )
    with _experiments_named(scenario):
        run_command.execute(request, output.value)


def _timeline(
    file: Path | None, first: int | None, packets: int | None, descriptor: int | None
) -> "TimelineRequest | None":
    """Return the timeline that the options ask for."""
    from skipline.runs.perfetto_file import TimelineRequest

    if file is None:
        for flag, given in (("--perfetto-from", first), ("--perfetto-packets", packets)):
            if given is not None:
                raise InputError(f"{flag} {given}: this is the window of --perfetto FILE; add it")
        return None
    if descriptor is not None and first is None and packets is None:
        return TimelineRequest(file, None)
    return TimelineRequest(file, (first or 0, packets or DEFAULT_PACKETS))


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
