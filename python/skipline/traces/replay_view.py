"""A replayed trace as tables."""

from typing import Any

from skipline.runs import result_view
from skipline.traces.replay import TraceResult, levels_table


def overview(result: TraceResult, *, miss_kinds: bool) -> list[Any]:
    """Show what each level did, and with `miss_kinds` why lines missed there."""
    parts: list[Any] = [levels_table(result), "", *_facts(result)]
    if miss_kinds:
        kinds = {level.name: level.miss_kinds for level in result.levels if level.miss_kinds}
        parts += ["", result_view.miss_kinds_table(kinds, "Why lines missed", "level")]
    return parts


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
