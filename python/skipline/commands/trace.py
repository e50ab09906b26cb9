"""`skipline trace`: an address trace through a machine, printed per level."""

from enum import StrEnum
from typing import NamedTuple

import click

from skipline._core import InputError
from skipline.commands import options, suggestions
from skipline.commands.command import Command
from skipline.commands.options import Format
from skipline.text import terminal
from skipline.traces import trace_calls


class TraceFormat(StrEnum):
    """Formats of address traces."""

    DIN = "din"
    LACKEY = "lackey"
    CHAMPSIM = "champsim"
    RAW64 = "raw64"


class _Request(NamedTuple):
    """A trace in a file or a standard one, and a machine."""

    file: str | None
    standard: str | None
    machine: str | None
    trace_format: str | None


@click.command(
    cls=Command,
    examples=[
        "skipline trace --standard 4mib-random",
        "skipline trace --standard 64mib-sequential --explain --format json",
        "skipline trace program.din --machine skylake-gold-6140 --timed",
        "zcat loads.raw64.gz | skipline trace - --machine three-level-lru \\\n"
        "    --trace-format raw64",
    ],
)
@click.argument(
    "file",
    metavar="[FILE]",
    required=False,
    type=click.Path(allow_dash=True),
    help="Address trace, - for standard input.",
)
@click.option(
    "--machine",
    metavar="M",
    help="Platform file, or name of a known platform; default with --standard: three-level-lru.",
    shell_complete=suggestions.platforms,
)
@options.choice("--trace-format", kind=TraceFormat, help="Format; default: by name or content.")
@click.option(
    "--standard",
    metavar="NAME",
    help="Instead of FILE a standard trace: 4mib- or 64mib-, sequential or random.",
    shell_complete=suggestions.standard_traces,
)
@options.output
@click.option("--explain", is_flag=True, help="Why lines missed: compulsory, capacity, conflict.")
@click.option("--timed", is_flag=True, help="Also how long the machine takes; slower by far.")
@options.seed
def trace(  # noqa: PLR0913, PLR0917 - one argument for each option
    file: str | None,
    machine: str | None,
    trace_format: TraceFormat | None,
    standard: str | None,
    output: Format,
    explain: bool,
    timed: bool,
    seed: int | None,
) -> None:
    """Replay an address trace through a machine: hits, misses, write-backs per level."""
    chosen = None if trace_format is None else trace_format.value
    request = _Request(file, standard, machine, chosen)
    with terminal.progress_bar("replaying") as bar:

        def report(_references: int, fraction: float | None) -> None:
            bar.update(fraction or 0.0)

        text = _replay(request, trace_calls.Wanted(timed, explain, seed), report)
    if output is Format.JSON:
        terminal.emit_json(text)
        return
    from skipline.traces import replay, replay_view

    result = replay.parse(text)
    if output is Format.CSV:
        terminal.emit(replay.levels_table(result).as_csv())
    else:
        terminal.show(*replay_view.overview(result, miss_kinds=explain))


def _replay(request: _Request, wanted: trace_calls.Wanted, report: trace_calls.Progress) -> str:
    match request:
        case _Request(file=str(file), standard=None, machine=str(machine)):
            return trace_calls.of_file(file, machine, request.trace_format, wanted, report)
        case _Request(file=str(), standard=None, machine=None):
            raise InputError("--machine: missing; name a platform file or a known platform")
        case _Request(file=None, standard=str(name), trace_format=None):
            machine = request.machine or trace_calls.STANDARD_MACHINE
            return trace_calls.of_standard(name, machine, wanted, report)
        case _Request(file=None, standard=None):
            raise InputError("FILE: missing; name a trace, - for standard input, or use --standard")
        case _:
            raise InputError("--standard: the trace has a name; leave out FILE and --trace-format")
