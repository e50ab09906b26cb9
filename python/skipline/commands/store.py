"""`skipline store list | show | sql | export | merge | forget | check | salvage`."""

import math
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from skipline import atomic
from skipline._core import InputError
from skipline.commands import options
from skipline.commands.command import Group
from skipline.commands.options import Format
from skipline.text import csv_text, terminal

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType

    from skipline.store.store import Store

_file = click.argument(
    "path", metavar="STORE", help="Of a sweep (--store) or an experiment (points.duckdb)."
)
_sweep = click.option(
    "--sweep", metavar="N", type=int, help="Number of a sweep; default: the last one."
)
_metrics = click.option(
    "--metric",
    "metrics",
    metavar="NAME",
    multiple=True,
    help="METRIC[.COMPONENT], or p99; repeatable.",
)


@click.group(
    cls=Group,
    extra="sweeps",
    no_args_is_help=True,
    examples=[
        "skipline store list results.duckdb",
        "skipline store show results.duckdb --metric throughput_gbps",
        "skipline store export results.duckdb --parquet results.parquet",
    ],
)
def store() -> None:
    """Look at what sweeps and experiments have kept; export, merge, forget, check, salvage."""


@store.command(
    "list",
    examples=[
        "skipline store list results.duckdb",
        "skipline store list results.duckdb --format json",
    ],
)
@_file
@options.output
def list_sweeps(path: str, output: Format) -> None:
    """List the sweeps of a store: points, done, failed, stale, missing."""
    with _open(path) as opened:
        found = opened.sweeps()
    from skipline.store import view

    _print(found, output, view.sweeps(found))


@store.command(
    "show",
    examples=[
        "skipline store show results.duckdb",
        "skipline store show results.duckdb --sweep 1 --metric p99",
        "skipline store show results.duckdb --failed",
    ],
)
@_file
@_sweep
@_metrics
@click.option("--failed", is_flag=True, help="Only points that are not done, with the reason.")
@options.output
def show(
    path: str, sweep: int | None, metrics: tuple[str, ...], failed: bool, output: Format
) -> None:
    """Show the points of a sweep: axes, numbers, state."""
    with _open(path) as opened:
        from skipline.store import frames, view

        found = frames.with_state(opened, sweep, _full_names(metrics) or None, failed=failed)
        axes, units = [*opened.keys(sweep), "seed"], opened.units(sweep)
    _print(found, output, view.points(found, [a for a in axes if a in found.columns], units))


@store.command(
    "sql",
    examples=[
        "skipline store sql results.duckdb 'FROM points SELECT status, error'",
        "skipline store sql results.duckdb 'SELECT * FROM sweeps' --format csv",
    ],
)
@_file
@click.argument("query", metavar="QUERY", help="SQL of DuckDB; nothing is changed.")
@options.output
def sql(path: str, query: str, output: Format) -> None:
    """Ask in SQL: tables points, numbers, sweeps, members; views answers, results."""
    with _open(path) as opened:
        found = opened.sql(query)
    from skipline.store import view

    _print(found, output, view.query_result(found))


@store.command(
    "export",
    examples=[
        "skipline store export results.duckdb --parquet results.parquet",
        "skipline store export results.duckdb --csv p99.csv --metric latency_ns.p99",
    ],
)
@_file
@_sweep
@_metrics
@click.option("--parquet", metavar="FILE", type=click.Path(path_type=Path), help="Parquet file.")
@click.option("--csv", metavar="FILE", type=click.Path(path_type=Path), help="CSV file.")
def export(
    path: str, sweep: int | None, metrics: tuple[str, ...], parquet: Path | None, csv: Path | None
) -> None:
    """Write a row per number, or with --metric a row per point and a column per metric."""
    if parquet is None and csv is None:
        raise InputError(f"{path}: where to: --parquet FILE, --csv FILE, or both")
    with _open(path) as opened:
        names = _full_names(metrics)
        found = opened.frame(names, sweep) if names else opened.numbers(None, sweep)
    for target, content in ((parquet, _parquet), (csv, _csv)):
        if target is not None:
            atomic.write(target, content(found))
            terminal.note(f"wrote {target}: {len(found):,} rows")


@store.command(
    "merge",
    examples=[
        "skipline store merge all.duckdb node1.duckdb node2.duckdb",
        "skipline store merge results.duckdb cluster/results.duckdb",
    ],
)
@_file
@click.argument("others", metavar="OTHER...", nargs=-1, required=True, help="Stores to add.")
def merge(path: str, others: tuple[str, ...]) -> None:
    """Add the sweeps and points of other stores; what both have stays as it is."""
    from skipline.store import opening

    # Nothing is made before all of them are known to be stores.
    opening.check_file(path, write=True)
    _refuse_itself(path, others)
    from skipline import interruption
    from skipline.store import upkeep
    from skipline.store.writing import Writer

    for other in others:
        opening.open_store(other, write=False).close()
    done: list[str] = []
    try:
        with interruption.held(), Writer(path) as writer:
            for other in others:
                added = upkeep.merge(writer, other)
                done.append(f"{other}: {added.sweeps} sweeps and {added.points:,} points added")
                terminal.emit_for_people(done[-1])
    except KeyboardInterrupt:
        raise terminal.Interrupted(_so_far(path, len(done), len(others))) from None


@store.command(
    "forget",
    examples=[
        "skipline store forget results.duckdb --sweep 2",
        "skipline store forget results.duckdb --failed --stale",
    ],
)
@_file
@click.option("--sweep", metavar="N", type=int, help="This sweep, and points that only it has.")
@click.option("--failed", is_flag=True, help="Points that failed: the next sweep runs them again.")
@click.option("--stale", is_flag=True, help="Points of other simulators than the sweep's last.")
def forget(path: str, sweep: int | None, failed: bool, stale: bool) -> None:
    """Remove a sweep, failed points, or stale ones."""
    from skipline.store import opening

    if not opening.exists(path):
        raise InputError(f"{path}: no such store")
    from skipline import interruption
    from skipline.store import upkeep
    from skipline.store.writing import Writer

    told = ""
    try:
        with interruption.held():
            with Writer(path) as writer:
                removed = upkeep.forget(writer, sweep, failed=failed, stale=stale)
            told = f"{path}: {removed.sweeps} sweeps and {removed.points:,} points forgotten"
            terminal.emit_for_people(told)
    except KeyboardInterrupt:
        raise terminal.Interrupted(told or f"{path} is as it was") from None


@store.command(
    "check",
    examples=[
        "skipline store check results.duckdb",
        "skipline store check reports/ddio-tune/points.duckdb",
    ],
)
@_file
def check(path: str) -> None:
    """Read a whole store; say what is damaged, if anything is."""
    from skipline.store import checking

    found = checking.check(path)
    if found.damage:
        listed = "".join(f"\n  {one}" for one in found.damage)
        raise InputError(
            f"{path}: this store is damaged:{listed}\n`skipline store salvage {path} NEW.duckdb` "
            "writes what can be read to a new store"
        )
    terminal.emit_for_people(f"{path}: whole: {_listed(found.rows)}")


@store.command(
    "salvage",
    examples=[
        "skipline store salvage damaged.duckdb saved.duckdb",
        "skipline store salvage reports/ddio-tune/points.duckdb points.duckdb",
    ],
)
@_file
@click.argument("new", metavar="NEW", help="File of the new store.")
def salvage(path: str, new: str) -> None:
    """Write what can be read of a damaged store to a new one; say what is lost."""
    from skipline.store import salvage as salvaging

    saved = salvaging.salvage(path, new)
    for one in saved.lost:
        terminal.emit_for_people(f"lost: {one}")
    whole = "" if saved.lost else "; nothing is lost"
    terminal.emit_for_people(f"{new}: saved {_listed(saved.rows)}{whole}")


def _listed(rows: dict[str, int]) -> str:
    """Name how many rows there are of what."""
    names = {"points": "points", "numbers": "numbers", "sweeps": "sweeps", "members": "runs"}
    return ", ".join(f"{rows.get(table, 0):,} {name}" for table, name in names.items())


def _so_far(path: str, done: int, wanted: int) -> str:
    return f"{done} of {wanted} stores were added to {path}" if done else f"{path} is as it was"


def _full_names(names: tuple[str, ...]) -> list[str]:
    """Return the names that numbers have in stores; short ones are those that `report` takes."""
    from skipline.diff import bound

    return [bound.full_name(name) for name in names]


def _open(path: str) -> "Store":
    from skipline.store import opening

    opening.check_file(path, write=False)
    from skipline.store.store import Store

    return Store(path)


def _refuse_itself(path: str, others: tuple[str, ...]) -> None:
    from skipline.store import opening

    for other in others:
        opening.check_file(other, write=False)
        if opening.exists(path) and Path(other).samefile(path):
            raise InputError(f"{other}: this is the store that is to be added to")


def _print(found: "pl.DataFrame", output: Format, table: "RenderableType") -> None:
    match output:
        case Format.JSON:
            import json

            rows = [{name: _in_json(one) for name, one in row.items()} for row in found.to_dicts()]
            terminal.emit_json(json.dumps({"rows": rows}, indent=1, default=str))
        case Format.CSV:
            terminal.emit(csv_text.from_frame(found))
        case Format.TABLE:
            terminal.show(table)


def _parquet(found: "pl.DataFrame") -> bytes:
    import io

    content = io.BytesIO()
    found.write_parquet(content)
    return content.getvalue()


def _csv(found: "pl.DataFrame") -> str:
    return csv_text.from_frame(found)


def _in_json(value: object) -> object:
    """Return a value as JSON has it: no NaN or infinity, a decimal as the number that it is."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Decimal):
        if value == value.to_integral_value():
            return int(value)
        nearest = float(value)
        return nearest if Decimal(repr(nearest)) == value else f"{value:f}"
    return value
