"""Opens the file of a store, or says at once why it cannot be one."""

import os
import re
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from skipline import _core
from skipline._core import InputError, RunError
from skipline.store import schema

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

IN_MEMORY = ":memory:"
_HEAD = b"DUCK"
_HEAD_AT = 8
_HOLDER = re.compile(r"PID (\d+)")
# Bytes that a point takes on the disk while it is written, and those of an empty store.
_BYTES_OF_POINT, _BYTES_OF_STORE = 16 << 10, 4 << 20
_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def open_store(path: str, *, write: bool) -> "DuckDBPyConnection":
    """Connect to a store; InputError for a file that is none, or cannot be opened this way."""
    if path != IN_MEMORY:
        check_file(path, write=write)
    import duckdb

    try:
        connection = duckdb.connect(path, read_only=not write)
    except duckdb.IOException as error:
        raise InputError(_refused(path, str(error))) from None
    except duckdb.Error as error:
        raise InputError(f"{path}: not a store: {_first_line(error)}") from None
    try:
        _check_format(connection, path, write)
    except BaseException:
        connection.close()
        raise
    return connection


def exists(path: str) -> bool:
    """Return whether there is a file that has something in it."""
    return Path(path).is_file() and Path(path).stat().st_size > 0


def check_file(path: str, *, write: bool) -> None:
    """Refuse what cannot be the file of a store; of DuckDB nothing is needed for that."""
    file = Path(path)
    if file.is_dir():
        raise InputError(f"{path}: this is a directory; name the file of a store")
    if file.exists() and not file.is_file():
        raise InputError(f"{path}: not a regular file; a store is one")
    if not exists(path):
        if not write:
            found = "this file is empty, not a store" if file.is_file() else "no such store"
            raise InputError(f"{path}: {found}; `skipline sweep --store {path}` writes one")
        _check_directory(file)
        return
    if not is_store(file):
        raise InputError(f"{path}: not a store (not a DuckDB file); name another file")
    # Root can write a file without write permission; such a store is left as it is all the same.
    if write and not (file.stat().st_mode & _WRITABLE and os.access(file, os.W_OK)):
        raise InputError(f"{path}: this store is read-only; `chmod u+w {path}`, or name another")
    if write:
        _check_directory(file)


def _check_directory(file: Path) -> None:
    folder = file.parent
    if not folder.is_dir():
        raise InputError(f"{file}: the directory {folder} does not exist")
    if not os.access(folder, os.W_OK):
        raise InputError(f"{file}: the directory {folder} is not writable")


def require_room(path: str, points: int) -> None:
    """Refuse a sweep whose points the disk has no room for."""
    if path == IN_MEMORY:
        return
    free = shutil.disk_usage(Path(path).absolute().parent).free
    needed = _BYTES_OF_STORE + points * _BYTES_OF_POINT
    if free < needed:
        raise InputError(
            f"{path}: the disk has {free / 1e6:.0f} MB left; {points:,} points need about "
            f"{needed / 1e6:.0f} MB; free some, or name a file elsewhere"
        )


def is_store(file: Path) -> bool:
    """Return whether a file is one of DuckDB's."""
    with file.open("rb") as opened:
        return opened.read(_HEAD_AT + len(_HEAD))[_HEAD_AT:] == _HEAD


def _check_format(connection: "DuckDBPyConnection", path: str, write: bool) -> None:
    tables = {name for (name,) in connection.execute("SHOW TABLES").fetchall()}
    if not tables and write:
        _set_up(connection, schema.TABLES + schema.VIEWS)
        return
    if "meta" not in tables:
        raise InputError(f"{path}: not a store of sweeps; it has tables of something else")
    found = connection.execute("SELECT kind, format, written_by FROM meta").fetchone()
    kind, number, by = found or ("", None, "")
    if kind != schema.KIND:
        raise InputError(f"{path}: not a store of sweeps, but '{kind}'")
    if number not in range(schema.OLDEST_FORMAT, schema.FORMAT + 1):
        raise InputError(
            f"{path}: a store of format {number}, written by Skipline {by}; this is Skipline "
            f"{_core.version()}, which reads formats {schema.OLDEST_FORMAT} to {schema.FORMAT}; "
            "use that version, or name another file"
        )
    if write and number != schema.FORMAT:
        _set_up(connection, schema.UPGRADE)


def _set_up(connection: "DuckDBPyConnection", statements: str) -> None:
    """Bring tables and views to the format of this version, all or nothing."""
    import duckdb

    try:
        connection.begin()
        connection.execute(statements)
        connection.execute("DELETE FROM meta")
        row = [schema.KIND, schema.FORMAT, _core.version()]
        connection.execute("INSERT INTO meta VALUES (?, ?, ?)", row)
        connection.commit()
    except duckdb.Error as error:
        raise RunError(f"the store cannot be written: {_first_line(error)}") from None


def _refused(path: str, message: str) -> str:
    if "lock" in message:
        holder = _HOLDER.search(message)
        by = f"process {holder[1]}" if holder else "another process"
        return f"{path}: {by} is writing this store; wait until it has ended, or name another file"
    return f"{path}: cannot be opened: {message.splitlines()[0]}"


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
