"""`skipline trace`: an address trace through a machine, printed per level."""

import csv
import io
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from skipline import quantity, replay, result_view, terminal
from skipline._core import InputError
from skipline.replay import TraceResult


@dataclass(frozen=True)
class Request:
    """What the command line asks for: a trace in a file or a standard one, and a machine."""

    file: str | None
    standard: str | None
    machine: str | None
    trace_format: str | None
    wanted: replay.Wanted


def execute(request: Request, output: str) -> None:
    """Replay the trace and print what each level did as `output` (table, json or csv)."""
    with terminal.progress_bar("replaying") as bar:

        def tell(_references: int, fraction: float | None) -> None:
            bar.update(fraction or 0.0)

        text = _replay(request, tell)
    if output == "json":
        terminal.emit(text)
        return
    result = TraceResult.model_validate_json(text)
    if output == "csv":
        terminal.emit(_as_csv(result))
        return
    parts: list[Any] = [_levels_table(result), "", *_facts(result)]
    if request.wanted.miss_kinds:
        kinds = {level.name: level.miss_kinds for level in result.levels if level.miss_kinds}
        parts += ["", result_view.miss_kinds_table(kinds, "Why lines missed", "level")]
    terminal.show(*parts)


def _replay(request: Request, tell: replay.Progress) -> str:
    match request:
        case Request(file=str(file), standard=None, machine=str(machine)):
            return replay.file_as_json(file, machine, request.trace_format, request.wanted, tell)
        case Request(file=str(), standard=None, machine=None):
            raise InputError("--machine: missing; name a platform file or a known platform")
        case Request(file=None, standard=str(name), trace_format=None):
            machine = request.machine or replay.STANDARD_MACHINE
            return replay.standard_as_json(name, machine, request.wanted, tell)
        case Request(file=None, standard=None):
            raise InputError("FILE: missing; name a trace, - for standard input, or use --standard")
        case _:
            raise InputError("--standard: the trace has a name; leave out FILE and --trace-format")


def _levels_table(result: TraceResult) -> Table:
    table = Table(title=f"{result.trace} on {result.machine}", box=None, title_justify="left")
    table.add_column("level")
    for name in ("hits", "misses", "miss rate", "write-backs"):
        table.add_column(name, justify="right")
    for level in result.levels:
        asked = level.hits + level.misses
        rate = f"{100 * level.misses / asked:.2f} %" if asked else "-"
        numbers = [quantity.count(number) for number in (level.hits, level.misses)]
        table.add_row(level.name, *numbers, rate, quantity.count(level.writebacks))
    return table


def _facts(result: TraceResult) -> list[str]:
    per_second = f"{result.line_ops_per_s / 1e6:,.1f} million line operations per second"
    facts = [
        f"{result.accesses:,} lines asked for by {result.references:,} references "
        f"({result.format}); memory: {result.memory_lines_read:,} lines read, "
        f"{result.memory_lines_written:,} written.",
        f"Took {result.wall_s:.3f} s for {result.line_ops:,} line operations: {per_second}.",
    ]
    if result.simulated_ns is not None and result.real_time_factor is not None:
        facts.append(
            f"Simulated {result.simulated_ns / 1e6:,.3f} ms: {result.real_time_factor:.3g} "
            "simulated seconds per second."
        )
    if result.fetches_left_out:
        facts.append(
            f"{result.fetches_left_out:,} instruction fetches were left out: the machine has no "
            "l1i table."
        )
    return facts


def _as_csv(result: TraceResult) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("level", "hits", "misses", "writebacks"))
    for level in result.levels:
        writer.writerow((level.name, level.hits, level.misses, level.writebacks))
    return text.getvalue()
