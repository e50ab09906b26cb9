"""`skipline diff`."""

import json
from typing import TYPE_CHECKING

import click

from skipline.commands import options, suggestions
from skipline.commands.command import Command
from skipline.commands.options import Format
from skipline.text import terminal

if TYPE_CHECKING:
    from skipline.diff.comparison import Comparison

# Fewer give no interval of the difference that is of use.
_REPEATS = 5
_L2FWD = "experiments/ddio-bench/l2fwd.toml"


@click.command(
    cls=Command,
    extra="sweeps",
    examples=[
        "skipline diff before/result.json after/result.json",
        f"skipline diff {_L2FWD} \\\n  {_L2FWD} --set-b ddio_ways=6",
        "skipline diff before.duckdb after.duckdb --gate 'p99<=1.05x'",
        "skipline diff mine.toml counted.jsonl",
    ],
)
@click.argument(
    "before", metavar="A", help="Result or its folder, store, scenario, or windows of monitor."
)
@click.argument("now", metavar="B", help="To be judged against A; a store against a store.")
@click.option(
    "--set-a",
    metavar="KEY=VALUE",
    multiple=True,
    help="Setting of scenario A; repeatable.",
    shell_complete=suggestions.settings,
)
@click.option(
    "--set-b",
    metavar="KEY=VALUE",
    multiple=True,
    help="Setting of scenario B; repeatable.",
    shell_complete=suggestions.settings,
)
@click.option(
    "--repeats",
    metavar="R",
    type=click.IntRange(min=2),
    default=_REPEATS,
    help=f"Seeds that scenarios run with; default: {_REPEATS}.",
)
@options.seed
@click.option(
    "--socket",
    metavar="N",
    type=click.IntRange(min=0),
    help="Socket whose counters count; default: where devices wrote most.",
)
@click.option("--sweep", metavar="N", type=int, help="Sweep of the stores; default: the last.")
@click.option(
    "--gate",
    "gates",
    metavar="BOUND",
    multiple=True,
    help="Exit with 1 unless NAME<=FACTORx or NAME>=FACTORx holds; repeatable.",
)
@click.option("--same", is_flag=True, help="Exit with 1 if any number differs significantly.")
@click.option("--all", "everything", is_flag=True, help="Show every number.")
@options.output
def diff(  # noqa: PLR0913, PLR0917 - one argument for each option
    before: str,
    now: str,
    set_a: tuple[str, ...],
    set_b: tuple[str, ...],
    repeats: int,
    seed: int | None,
    socket: int | None,
    sweep: int | None,
    gates: tuple[str, ...],
    same: bool,
    everything: bool,
    output: Format,
) -> None:
    """Compare two results, stores or scenarios: differences, their size, and if they are chance.

    A side may also be what a server has counted: `skipline-host monitor --format json > FILE`.

    Exit status: 0, also when something differs; 1 if a --gate is broken, or with --same if anything
    differs significantly; 2 for bad input.
    """
    from skipline.diff import bound, sides

    bounds = [bound.parse(text, "--gate") for text in gates]
    from skipline.scenarios import settings

    first = sides.parse_request(before, settings.parse_settings(list(set_a)))
    second = sides.parse_request(now, settings.parse_settings(list(set_b)))
    from skipline.runs import seeds

    chosen = seeds.of_repeats(seeds.FIRST if seed is None else seed, repeats)
    choice = sides.Choice(chosen, sweep, socket)
    with terminal.progress_bar("simulating") as bar:
        left = sides.read(first, choice, lambda share: bar.update(share / 2))
        right = sides.read(second, choice, lambda share: bar.update((1 + share) / 2))
    from skipline.diff import comparison

    compared = comparison.compare(left, right, bounds)
    _print(compared, output, everything=everything)
    if compared.broken or (same and compared.changed):
        raise click.exceptions.Exit(1)


def _print(compared: "Comparison", output: Format, *, everything: bool) -> None:
    match output:
        case Format.JSON:
            from skipline.diff import view

            told = {**compared.as_json(), "model_error": view.model_error(compared)}
            terminal.emit_json(json.dumps(told, indent=1))
        case Format.CSV:
            from skipline.diff import view

            terminal.emit(view.numbers_table(compared).as_csv())
        case Format.TABLE:
            from skipline.diff import view

            terminal.show(*view.overview(compared, everything=everything))
