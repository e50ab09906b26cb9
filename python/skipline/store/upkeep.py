"""Adds what another store has, and forgets what is not wanted."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from skipline._core import InputError
from skipline.store import opening
from skipline.store.store import Store
from skipline.store.writing import Writer

if TYPE_CHECKING:
    from skipline.store.connection import Connection

_OF_UNASKED = "question NOT IN (SELECT question FROM members)"
_OF_STALE = (
    "(question, simulator) IN (SELECT (points.question, points.simulator) FROM points "
    "JOIN members ON members.question = points.question JOIN sweeps USING (sweep) "
    "GROUP BY points.question, points.simulator "
    "HAVING bool_and(points.simulator <> sweeps.simulator))"
)
_OF_FAILED = "status <> 'done'"


class Changed(NamedTuple):
    """The numbers of sweeps and points that were added or removed."""

    sweeps: int
    points: int


def merge(writer: Writer, other: str) -> Changed:
    """Add the sweeps and points of another store; what both have stays as it is here.

    Returns how many sweeps and points were added.
    """
    opening.open_store(other, write=False).close()
    connection = writer.connection
    # Without a folder DuckDB takes what is before a colon for the name of a service.
    file = str(Path(other).absolute()).replace("'", "''")
    connection.execute(f"ATTACH '{file}' AS other (READ_ONLY)")
    try:
        with writer.transaction():
            before = _counts(connection)
            _add_points(connection)
            _add_sweeps(connection)
            after = _counts(connection)
    finally:
        connection.execute("DETACH other")
    return Changed(after.sweeps - before.sweeps, after.points - before.points)


def _add_points(connection: "Connection") -> None:
    connection.execute(
        "CREATE TEMP TABLE added AS SELECT point AS theirs, row_number() OVER (ORDER BY point) + "
        "(SELECT coalesce(max(point), 0) FROM points) AS ours FROM other.points "
        "WHERE (question, simulator) NOT IN (SELECT (question, simulator) FROM points)"
    )
    connection.execute(
        # Points of a store of format 1 have fewer columns.
        "INSERT INTO points BY NAME SELECT ours AS point, points.* EXCLUDE (point) "
        "FROM other.points AS points JOIN added ON point = theirs"
    )
    connection.execute(
        "INSERT INTO numbers SELECT ours, numbers.* EXCLUDE (point) FROM other.numbers AS numbers "
        "JOIN added ON point = theirs"
    )
    connection.execute("DROP TABLE added")


def _add_sweeps(connection: "Connection") -> None:
    connection.execute(
        "CREATE TEMP TABLE asked AS SELECT sweep AS theirs, row_number() OVER (ORDER BY sweep) + "
        "(SELECT coalesce(max(sweep), 0) FROM sweeps) AS ours FROM other.sweeps "
        "WHERE digest NOT IN (SELECT digest FROM sweeps)"
    )
    for table in ("sweeps", "members"):
        connection.execute(
            f"INSERT INTO {table} SELECT ours, {table}.* EXCLUDE (sweep) FROM other.{table} "
            f"AS {table} JOIN asked ON sweep = theirs"
        )
    connection.execute("DROP TABLE asked")


def forget(writer: Writer, sweep: int | None, *, failed: bool, stale: bool) -> Changed:
    """Remove a sweep with the points that no other one asks for, failed points, or stale ones."""
    if sweep is None and not failed and not stale:
        raise InputError(f"{writer.path}: say what to forget: --sweep N, --failed or --stale")
    connection = writer.connection
    before = _counts(connection)
    with writer.transaction():
        if sweep is not None:
            number = Store.of(connection).number(sweep)
            for table in ("sweeps", "members"):
                connection.execute(f"DELETE FROM {table} WHERE sweep = ?", [number])
            _delete(connection, _OF_UNASKED)
        if failed:
            _delete(connection, _OF_FAILED)
        if stale:
            _delete(connection, _OF_STALE)
    after = _counts(connection)
    return Changed(before.sweeps - after.sweeps, before.points - after.points)


def _delete(connection: "Connection", which: str) -> None:
    of_points = f"SELECT point FROM points WHERE {which}"
    connection.execute(f"DELETE FROM numbers WHERE point IN ({of_points})")
    connection.execute(f"DELETE FROM points WHERE point IN ({of_points})")


def _counts(connection: "Connection") -> Changed:
    row = connection.row("SELECT (SELECT count(*) FROM sweeps), (SELECT count(*) FROM points)")
    return Changed(0, 0) if row is None else Changed(int(row[0]), int(row[1]))
