"""Stores as tables for people."""

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from skipline.text import foreign, quantity

if TYPE_CHECKING:
    import polars as pl

# Longer tables are for programs: the rest is counted.
MOST_ROWS = 200


def sweeps(frame: "pl.DataFrame") -> Table:
    """Show the sweeps of a store."""
    table = _table("sweep", "scenario", "axes", "points", "done", "failed", "stale", "missing")
    for row in frame.iter_rows(named=True):
        counts = [f"{row[name]:,}" for name in ("points", "done", "failed", "stale", "missing")]
        axes = ", ".join(json.loads(row["axes"]))
        title = _cell(row["title"] or row["scenario"])
        table.add_row(str(row["sweep"]), title, _cell(axes), *counts)
    return table


def points(frame: "pl.DataFrame", axes: list[str], units: dict[str, str]) -> Table:
    """Show a row per point: its axes, its numbers with units, what is wrong with it."""
    names = [name for name in frame.columns if name not in (*axes, "state")]
    heads = [f"{name}, {units[name]}" if units.get(name) else name for name in names]
    table = _table(*axes, *heads, "state")
    for row in frame.head(MOST_ROWS).iter_rows(named=True):
        cells = [_cell(row[axis]) for axis in axes]
        cells += [quantity.text(row[name], None, "").value for name in names]
        table.add_row(
            *cells, Text(_cell(row["state"]), style="" if row["state"] == "done" else "red")
        )
    if len(frame) > MOST_ROWS:
        table.add_row(f"{len(frame) - MOST_ROWS:,} more: --format csv, or skipline store export")
    return table


def query_result(frame: "pl.DataFrame") -> Table:
    """Show what a query found."""
    table = _table(*frame.columns)
    for row in frame.iter_rows():
        table.add_row(*map(_cell, row))
    return table


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case float():
            return f"{value:g}"
        case Decimal():
            return f"{value:f}"
    return foreign.in_cell(str(value))


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in columns:
        table.add_column(foreign.in_cell(name))
    return table
