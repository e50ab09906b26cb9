"""`skipline trace`: an address trace through a machine, printed per level."""

import csv
import io
from typing import Any

from pydantic import BaseModel, ConfigDict
from rich.table import Table

from skipline import _core, quantity, result_view, terminal
from skipline.result import MissKinds


class Level(BaseModel):
    """What one level did."""

    model_config = ConfigDict(frozen=True)

    name: str
    hits: int
    misses: int
    writebacks: int
    references: dict[str, dict[str, int]]
    miss_kinds: MissKinds | None = None


class TraceResult(BaseModel):
    """What a trace did to the levels of a machine, as `--format json` prints it."""

    trace: str
    format: str
    machine: str
    accesses: int
    references: int
    fetches_left_out: int
    levels: list[Level]
    memory_lines_read: int
    memory_lines_written: int
    line_ops: int
    wall_s: float
    line_ops_per_s: float
    simulated_ns: float


def execute(
    file: str,
    machine: str,
    trace_format: str | None,
    output: str,
    explain: bool,
    seed: int | None,
) -> None:
    """Replay the trace and print what each level did as `output` (table, json or csv)."""
    with terminal.progress_bar("replaying") as bar:
        text = _core.trace(
            file,
            machine,
            trace_format,
            explain,
            seed,
            lambda _references, fraction: bar.update(fraction or 0.0),
        )
    if output == "json":
        terminal.emit(text)
        return
    result = TraceResult.model_validate_json(text)
    if output == "csv":
        terminal.emit(_as_csv(result))
        return
    parts: list[Any] = [_levels_table(result), "", *_facts(result)]
    if explain:
        kinds = {level.name: level.miss_kinds for level in result.levels if level.miss_kinds}
        parts += ["", result_view.miss_kinds_table(kinds, "Why lines missed", "level")]
    terminal.show(*parts)


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
    facts = [
        f"{result.accesses:,} lines asked for by {result.references:,} references "
        f"({result.format}); memory: {result.memory_lines_read:,} lines read, "
        f"{result.memory_lines_written:,} written.",
        f"Took {result.wall_s:.2f} s: {result.line_ops_per_s / 1e6:,.1f} million line operations "
        "per second.",
    ]
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
