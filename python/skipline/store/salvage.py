"""Writes what can be read of a damaged store to a new one, and says what is lost.

The damaged file is copied and stays as it is. In the copy its beginning is made anew and what was
cut off is filled with zeros; blocks are read only where their checksum holds. A point whose numbers
do not match its digest is left out: no number comes from a damaged part.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skipline import atomic
from skipline._core import InputError, RunError
from skipline.store import opening, parts, schema
from skipline.store.connection import Connection, StoreFault
from skipline.store.kept_results import mismatched
from skipline.store.writing import Writer

if TYPE_CHECKING:
    import pyarrow as pa

# Rows that DuckDB keeps together: a column of a group is in blocks of its own, a vector in one.
_GROUP_ROWS, _VECTOR_ROWS = 122_880, 2048
_OF_LOST_SWEEP = "sweep {} of a damaged store"


@dataclass
class Saved:
    """Rows of each table that were saved, and in words what is lost."""

    rows: dict[str, int] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    damaged: set[str] = field(default_factory=set)
    """Tables of which not all rows were saved."""


def salvage(path: str, new: str) -> Saved:
    """Write what can be read of the store `path` to the new file `new`.

    InputError if there is nothing to read or `new` is there, RunError if it cannot be written.
    """
    opening.check_file(path, write=False)
    opening.check_file(new, write=True)
    if Path(new).exists():
        raise InputError(f"{new}: this file is there already; name a new one")
    saved = Saved()
    with atomic.scratch_directory(Path(new)) as scratch:
        copy, draft = str(scratch / "copy.duckdb"), str(scratch / "new.duckdb")
        with parts.held(path) as looked:
            if looked is None:
                raise InputError(
                    f"{path}: another process is writing this store; wait until it has ended"
                )
            _copy(path, copy, looked, saved)
        tables = _read(copy, path, saved)
        with Writer(draft) as writer:
            _fill(writer, tables, saved)
        if Path(draft + parts.LOG).exists():
            raise RunError(f"{new}: cannot be written: the disk is full, or not to be written")
        atomic.move(Path(draft), Path(new))
    return saved


def _copy(path: str, copy: str, looked: parts.Parts, saved: Saved) -> None:
    """Copy a store and its log, without what keeps DuckDB from reading the rest."""
    page = looked.page
    if looked.damage and page is None:
        raise InputError(
            f"{path}: nothing of this store can be saved: {'; '.join(looked.damage)}; simulate its "
            "sweeps again, into another file"
        )
    # The store comes last: where its copy is finished, writers are no longer kept away.
    _copy_log(path, copy, looked, saved)
    atomic.copy(Path(path), Path(copy))
    if looked.damage and page is not None:
        _mend(Path(copy), looked, page)
        if None in looked.pages:
            saved.lost.append(
                "maybe the last changes: of two pages that say what is in it one can be read"
            )


def _copy_log(path: str, copy: str, looked: parts.Parts, saved: Saved) -> None:
    """Copy what can be used of the log of a store, if it has one."""
    log = Path(path + parts.LOG)
    if not log.is_file():
        return
    content = log.read_bytes()
    kept = content if looked.log_bytes is None else content[: looked.log_bytes]
    if len(kept) < len(content):
        lost = len(content) - len(kept)
        saved.lost.append(f"{lost:,} of {len(content):,} bytes of its log, the last changes")
    if kept:
        atomic.write(Path(copy + parts.LOG), kept)


def _mend(copy: Path, looked: parts.Parts, page: parts.Page) -> None:
    """Give a copy the beginning and the length that DuckDB asks for."""
    changes = {at * parts.PAGE_BYTES: page.content for at in (1, 2)}
    if not looked.is_head_good:
        fresh = copy.with_name("fresh.duckdb")
        Writer(str(fresh)).close()
        changes[0] = fresh.read_bytes()[: parts.PAGE_BYTES]
    atomic.patch(copy, changes, max(looked.size, page.ends))


def _read(copy: str, path: str, saved: Saved) -> "dict[str, pa.Table]":
    """Return the rows of each table that can be read."""
    try:
        connection = opening.connect_to_copy(copy, path)
    except InputError as error:
        log = Path(copy + parts.LOG)
        if not log.exists():
            raise InputError(
                f"{path}: nothing of this store can be saved: {_reason(error)}; simulate its "
                "sweeps again, into another file"
            ) from None
        # What its changes belong to may be lost.
        saved.lost.append(f"its log, {log.stat().st_size:,} bytes: the last changes")
        log.unlink()
        return _read(copy, path, saved)
    try:
        known = {name for (name,) in connection.rows("SHOW TABLES")}
        return {name: _rows(connection, name, saved) for name in schema.NAMES if name in known}
    finally:
        connection.close()


def _reason(error: InputError) -> str:
    return error.reason if isinstance(error, StoreFault) else str(error)


def _rows(connection: Connection, table: str, saved: Saved) -> "pa.Table":
    """Return the rows of a table that can be read, in their order."""
    import pyarrow as pa

    try:
        return connection.arrow(f"SELECT * FROM {table}")
    except StoreFault:
        pass
    found = list(_readable(connection, table))
    rows = sum(part.num_rows for part in found)
    try:
        (count,) = connection.row(f"SELECT count(*) FROM {table}") or (0,)
        lost = f"{count - rows:,} of {count:,} rows"
    except StoreFault:
        lost = "an unknown number of rows"
    saved.damaged.add(table)
    saved.lost.append(f"{lost} of the table {table}")
    empty = connection.arrow(f"SELECT * FROM {table} LIMIT 0")
    return pa.concat_tables([empty, *found])


def _readable(connection: Connection, table: str) -> "Iterator[pa.Table]":
    """Yield the parts of a table that can be read: groups of rows, or the vectors of one."""
    try:
        (last,) = connection.row(f"SELECT max(rowid) FROM {table}") or (None,)
    except StoreFault:
        return
    for group in range(0, (-1 if last is None else last) + 1, _GROUP_ROWS):
        for step in (_GROUP_ROWS, _VECTOR_ROWS):
            read = [
                _part(connection, table, first, first + step)
                for first in range(group, min(group + _GROUP_ROWS, last + 1), step)
            ]
            if step == _VECTOR_ROWS or None not in read:
                yield from (part for part in read if part is not None)
                break


def _part(connection: Connection, table: str, first: int, end: int) -> "pa.Table | None":
    query = f"SELECT * FROM {table} WHERE rowid BETWEEN {first} AND {end - 1}"
    try:
        return connection.arrow(query)
    except StoreFault:
        return None


def _fill(writer: Writer, tables: "dict[str, pa.Table]", saved: Saved) -> None:
    """Write rows that belong together to a new store."""
    with writer.transaction() as connection:
        for name, table in tables.items():
            columns = [row[0] for row in connection.rows(f"DESCRIBE {name}")]
            kept = [column for column in table.column_names if column in columns]
            names = ", ".join(kept)
            # A key that is there twice is one of a damaged part.
            unless = "OR IGNORE " if name == "points" else ""
            into = f"INSERT {unless}INTO {name} ({names}) SELECT {names} FROM saved_rows"
            connection.insert(into, {"saved_rows": table.select(kept)})
        _leave_out_points(connection, saved)
        _restore_sweeps(connection, saved)
    for name in schema.NAMES:
        (count,) = writer.connection.row(f"SELECT count(*) FROM {name}") or (0,)
        saved.rows[name] = count


def _leave_out_points(connection: Connection, saved: Saved) -> None:
    """Remove points without their numbers, and numbers without their point."""
    wrong = mismatched(connection)
    if "numbers" in saved.damaged:
        # Whether these have all their numbers cannot be told.
        unknown = "SELECT point FROM points WHERE status = 'done' AND digest IS NULL"
        wrong |= {point for (point,) in connection.rows(unknown)}
    if wrong:
        chosen = [sorted(wrong)]
        connection.execute("DELETE FROM points WHERE point IN (SELECT unnest(?::BIGINT[]))", chosen)
        saved.lost.append(f"{len(wrong):,} points of which not all numbers can be read")
    connection.execute("DELETE FROM numbers WHERE point NOT IN (SELECT point FROM points)")


def _restore_sweeps(connection: Connection, saved: Saved) -> None:
    """Name the sweeps of which only the members are left; have others be asked again.

    The same sweep asked again then records its members anew, and takes the points that are there.
    """
    lost = connection.rows(
        "SELECT sweep, min(axes) FROM members WHERE sweep NOT IN (SELECT sweep FROM sweeps) "
        "GROUP BY sweep"
    )
    for sweep, axes in lost:
        found = connection.row(
            "SELECT any_value(scenario), any_value(points.simulator), min(finished_at) "
            "FROM members JOIN points USING (question) WHERE sweep = ?",
            [sweep],
        )
        scenario, simulator, began = found or (None, None, None)
        title = _OF_LOST_SWEEP.format(sweep)
        keys = json.dumps(list(json.loads(axes)))
        row: list[Any] = [sweep, f"{schema.SALVAGED}{title}", title, scenario or "", keys]
        row += ["{}", simulator or "", began or _now()]
        connection.execute("INSERT INTO sweeps VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
    if "members" in saved.damaged:
        connection.execute(
            f"UPDATE sweeps SET digest = '{schema.SALVAGED}' || digest, "
            "title = title || ' (salvaged, maybe not all of its runs)'"
        )


def _now() -> object:
    from skipline.store import rows

    return rows.now()
