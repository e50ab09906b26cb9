"""`skipline demo`."""

from typing import Annotated

import typer

from skipline import terminal
from skipline.commands.options import Format, Output, Seed


def demo(
    messages: Annotated[
        int, typer.Option(metavar="N", min=10_240, max=20_000_000, help="Round trips of each run.")
    ] = 200_000,
    seed: Seed = None,
    output: Output = Format.TABLE,
) -> None:
    """Show what DDIO saves: ping-pong latency and counters with DDIO off and on."""
    from skipline import demo as work

    measured = work.measure(messages, seed)
    match output:
        case Format.TABLE:
            terminal.show(*work.views(measured))
        case Format.JSON:
            terminal.emit(work.as_json(measured))
        case Format.CSV:
            terminal.emit(work.as_csv(measured))
