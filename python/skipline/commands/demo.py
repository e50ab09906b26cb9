"""`skipline demo`."""

import click

from skipline.commands import options
from skipline.commands.command import Command
from skipline.commands.options import Format
from skipline.text import terminal


@click.command(
    cls=Command,
    examples=[
        "skipline demo",
        "skipline demo --messages 20000",
        "skipline demo --messages 20000 --format csv",
    ],
)
@click.option(
    "--messages",
    metavar="N",
    type=click.IntRange(min=10_240, max=20_000_000),
    default=200_000,
    help="Round trips of each run; default: 200000.",
)
@options.seed
@options.output
def demo(messages: int, seed: int | None, output: Format) -> None:
    """Show what DDIO saves: ping-pong latency and counters with DDIO off and on."""
    from skipline.runs import demo as work

    measured = work.measure(messages, seed)
    match output:
        case Format.TABLE:
            terminal.show(*work.views(measured))
        case Format.JSON:
            terminal.emit_json(work.as_json(measured))
        case Format.CSV:
            terminal.emit(work.numbers_table(measured).as_csv())
