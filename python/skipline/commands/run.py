"""`skipline run`."""

from pathlib import Path
from typing import Annotated

import typer

from skipline.commands.options import Format, Output, Seed, in_64_bits


def _address(text: str) -> int:
    """Read a physical address, decimal or hexadecimal."""
    try:
        address = int(text, 0)
    except ValueError:
        raise typer.BadParameter(f"{text} is not an address, like 0x1f40 or 8000") from None
    if not 0 <= address < 256 << 30:
        raise typer.BadParameter(f"{text} is not in the simulated memory: 0 to 256 GiB")
    return address


def run(  # noqa: PLR0913, PLR0917 - one argument for each option
    scenario: Annotated[
        str, typer.Argument(metavar="SCENARIO", help="Scenario file, on disk or built in.")
    ],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Replace a scenario key; repeatable."),
    ] = None,
    seed: Seed = None,
    output: Output = Format.TABLE,
    out: Annotated[Path | None, typer.Option(help="Also write DIR/result.json.")] = None,
    explain: Annotated[
        bool, typer.Option(help="Who evicted whom, read or not; why requests missed the LLC.")
    ] = False,
    show_all: Annotated[bool, typer.Option("--all", help="Show every number.")] = False,
    trace_packet: Annotated[
        int | None,
        typer.Option(metavar="N", callback=in_64_bits, help="Print packet N line by line."),
    ] = None,
    trace_line: Annotated[
        int | None,
        typer.Option(
            metavar="ADDRESS", parser=_address, help="Print the story of the line at ADDRESS."
        ),
    ] = None,
) -> None:
    """Simulate one scenario."""
    from skipline import run_command

    request = run_command.Request(
        scenario, settings or [], seed, out, explain, show_all, trace_packet, trace_line
    )
    run_command.execute(request, output.value)
