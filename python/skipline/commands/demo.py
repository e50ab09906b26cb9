"""`skipline demo`."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import click

from skipline import atomic
from skipline._core import InputError, RunError
from skipline.commands import options
from skipline.commands.command import Command
from skipline.commands.options import Format
from skipline.text import terminal

if TYPE_CHECKING:
    from skipline.runs.result import Result

_DEFAULT_MESSAGES = 200_000
_PAGE = Path("reports", "demo", "report.html")


class Topic(StrEnum):
    """Topics of the demo."""

    LEAK = "leak"
    PING_PONG = "ping-pong"


@click.command(
    cls=Command,
    examples=[
        "skipline demo",
        "skipline demo ping-pong",
        "skipline demo ping-pong --messages 20000 --format csv",
    ],
)
@click.argument(
    "topic",
    metavar="[leak|ping-pong]",
    required=False,
    type=click.Choice([topic.value for topic in Topic]),
    help="A ring that leaks (default), or latency with DDIO off and on.",
)
@click.option(
    "--messages",
    metavar="N",
    type=click.IntRange(min=10_240, max=20_000_000),
    help="Round trips of each run of ping-pong; default: 200000.",
)
@options.seed
@options.output
def demo(topic: str | None, messages: int | None, seed: int | None, output: Format) -> None:
    """Show in ten seconds how a large ring leaks, or what DDIO saves in a ping-pong.

    The leak is told in words; its page, reports/demo/report.html, has the figures.
    """
    if messages is not None and topic == Topic.LEAK:
        raise InputError("--messages: the leak has no round trips; skipline demo ping-pong has")
    if topic == Topic.PING_PONG or messages is not None:
        _ping_pong(messages or _DEFAULT_MESSAGES, seed, output)
    else:
        _leak(seed, output)


def _leak(seed: int | None, output: Format) -> None:
    from skipline.runs import leak as work

    measured = work.measure(seed)
    match output:
        case Format.TABLE:
            terminal.emit_for_people(f"{work.story(measured)}\n")
            terminal.emit_for_people(work.questions(write_page(measured.large)))
        case Format.JSON:
            terminal.emit_json(work.as_json(measured))
        case Format.CSV:
            terminal.emit(work.numbers_table(measured).as_csv())


def write_page(result: "Result") -> str | None:
    """Write the page of a run; a folder that takes none costs the page, not the answer."""
    from skipline.report import run_page

    try:
        atomic.prepare_directory(_PAGE.parent)
        atomic.write(_PAGE, run_page.page(result))
    except (InputError, RunError, OSError) as error:
        terminal.note(f"note: no page was written: {error}")
        return None
    return str(_PAGE.resolve())


def _ping_pong(messages: int, seed: int | None, output: Format) -> None:
    from skipline.runs import ping_pong as work

    measured = work.measure(messages, seed)
    match output:
        case Format.TABLE:
            terminal.show(*work.views(measured))
        case Format.JSON:
            terminal.emit_json(work.as_json(measured))
        case Format.CSV:
            terminal.emit(work.numbers_table(measured).as_csv())
