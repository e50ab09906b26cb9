"""`skipline trace`: an address trace through a machine, printed per level."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from skipline import terminal
from skipline._core import InputError
from skipline.commands.options import Format, Output, Seed

if TYPE_CHECKING:
    from skipline import replay


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


def trace(  # noqa: PLR0913, PLR0917 - one argument for each option
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="Address trace, - for standard input.")
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option(
            metavar="M",
            help="Platform file, or name of a known platform; default with --standard: "
            "three-level-lru.",
        ),
    ] = None,
    trace_format: Annotated[
        TraceFormat | None, typer.Option(help="Format; default: by name or content.")
    ] = None,
    standard: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Instead of FILE a standard trace: 4mib- or 64mib-, sequential or random.",
        ),
    ] = None,
    output: Output = Format.TABLE,
    explain: Annotated[
        bool, typer.Option(help="Why lines missed: compulsory, capacity, conflict.")
    ] = False,
    timed: Annotated[
        bool, typer.Option(help="Also how long the machine takes; slower by far.")
    ] = False,
    seed: Seed = None,
) -> None:
    """Replay an address trace through a machine: hits, misses, write-backs per level."""
    from skipline import replay, replay_view

    chosen = None if trace_format is None else trace_format.value
    request = _Request(file, standard, machine, chosen)
    with terminal.progress_bar("replaying") as bar:

        def tell(_references: int, fraction: float | None) -> None:
            bar.update(fraction or 0.0)

        text = _replay(request, replay.Wanted(timed, explain, seed), tell)
    match output:
        case Format.JSON:
            terminal.emit(text)
        case Format.CSV:
            terminal.emit(replay_view.as_csv(replay.TraceResult.model_validate_json(text)))
        case Format.TABLE:
            result = replay.TraceResult.model_validate_json(text)
            terminal.show(*replay_view.overview(result, miss_kinds=explain))


def _replay(request: _Request, wanted: "replay.Wanted", tell: "replay.Progress") -> str:
    from skipline import replay

    match request:
        case _Request(file=str(file), standard=None, machine=str(machine)):
            return replay.file_as_json(file, machine, request.trace_format, wanted, tell)
        case _Request(file=str(), standard=None, machine=None):
            raise InputError("--machine: missing; name a platform file or a known platform")
        case _Request(file=None, standard=str(name), trace_format=None):
            machine = request.machine or replay.STANDARD_MACHINE
            return replay.standard_as_json(name, machine, wanted, tell)
        case _Request(file=None, standard=None):
            raise InputError("FILE: missing; name a trace, - for standard input, or use --standard")
        case _:
            raise InputError("--standard: the trace has a name; leave out FILE and --trace-format")
