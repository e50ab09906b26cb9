"""Opens the file of a store, or says at once why it cannot be one, or is damaged."""

import os
import re
import shutil
import stat
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skipline import _core
from skipline._core import InputError, RunError
from skipline.store import parts, schema
from skipline.store.connection import Connection, StoreFault, first_line

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_IN_MEMORY = ":memory:"
_OF_LOCKS = ("Could not set lock on file", "Conflicting lock is held")
_HOLDER = re.compile(r"PID (\d+)")
# Bytes that a point takes on the disk while it is written, and those of an empty store.
_BYTES_OF_POINT, _BYTES_OF_STORE = 16 << 10, 4 << 20
_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
# A reader asks its own file and nothing else: neither others, nor variables of Python, nor the net.
# DuckDB takes writing its own file and log for no access to others; so, once they are open, it gets
# no files at all, and no setting can be changed any more.
_OF_READERS: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "python_enable_replacements": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "temp_directory": "",
}
_SHUT = ("SET disabled_filesystems = 'LocalFileSystem'", "SET lock_configuration = true")
# Files that this process has open, by device and inode: looking at one would give up its lock.
_open: Counter[tuple[int, int]] = Counter()


def open_store(path: str | None, *, write: bool, is_whole: bool = False) -> Connection:
    """Connect to a store; InputError for a file that is none, is damaged, or is not to be opened.

    Without a path the store is in memory. One that is known to be whole is not read for that again.
    """
    if path is None:
        connection = Connection("a store in memory", _connect(_IN_MEMORY, write=True))
    else:
        check_file(path, write=write)
        if not is_whole:
            require_whole(path)
        opened = _connect(path, write=write)
        connection = Connection(path, opened, _note_open(path))
    try:
        if not write:
            _shut(connection)
        _check_format(connection, connection.path, write)
    except BaseException:
        connection.close()
        raise
    return connection


def _connect(path: str, *, write: bool) -> "DuckDBPyConnection":
    import duckdb

    # DuckDB takes what is before a colon for the name of a service.
    file = path if path == _IN_MEMORY or path.startswith("/") else f"./{path}"
    try:
        return duckdb.connect(file, read_only=not write, config={} if write else _OF_READERS)
    except (duckdb.Error, RuntimeError, UnicodeError) as error:
        raise InputError(_refused(path, str(error) or type(error).__name__)) from None


def connect_to_copy(copy: str, path: str) -> Connection:
    """Connect to a copy of what may be left of the store `path`."""
    connection = Connection(path, _connect(copy, write=False))
    _shut(connection)
    return connection


def _shut(connection: Connection) -> None:
    """Keep what a reader asks from all files, its own included."""
    # Readers in one process share what DuckDB has open, and one of them has done it.
    if connection.row("SELECT current_setting('lock_configuration')") == (False,):
        for setting in _SHUT:
            connection.execute(setting)


def _note_open(path: str) -> Callable[[], None]:
    """Note that a file is open; return what notes that it no longer is."""
    found = Path(path).stat()
    key = found.st_dev, found.st_ino
    _open[key] += 1

    def closed() -> None:
        _open[key] -= 1

    return closed


def _is_open(path: str) -> bool:
    found = Path(path).stat()
    return _open[found.st_dev, found.st_ino] > 0


def require_whole(path: str) -> None:
    """Refuse a store that is not as it was written; nothing is opened for that."""
    if not exists(path) or _is_open(path):
        return
    # While another process writes it, DuckDB refuses to open it.
    looked = parts.look(path)
    if looked is not None and looked.damage:
        more = len(looked.damage) - 1
        others = f", and {more} more" if more else ""
        raise InputError(
            f"{path}: this store is damaged: {looked.damage[0]}{others}; nothing was "
            f"written to it; `skipline store check {path}` says what is damaged, `skipline "
            f"store salvage {path} NEW.duckdb` writes what can be read to a new store"
        )


def exists(path: str) -> bool:
    """Return whether there is a file that has something in it."""
    return Path(path).is_file() and Path(path).stat().st_size > 0


def check_file(path: str, *, write: bool) -> None:
    """Refuse what cannot be the file of a store; of DuckDB nothing is needed for that."""
    if path.startswith(_IN_MEMORY):
        raise InputError(f"{path}: a store is a file; this would keep nothing; name a file")
    file = Path(path)
    try:
        os.fsencode(path).decode()
    except UnicodeError:
        raise InputError(f"{path}: this name is not UTF-8; rename the file") from None
    if file.is_dir():
        raise InputError(f"{path}: this is a directory; name the file of a store")
    if file.exists() and not file.is_file():
        raise InputError(f"{path}: not a regular file; a store is one")
    if not exists(path):
        _check_new(path, write=write)
        return
    if not _is_open(path) and not parts.is_store(path):
        raise InputError(
            f"{path}: not a store (not a DuckDB file), or its beginning is lost; name another file"
        )
    # Root can write a file without write permission; such a store is left as it is all the same.
    if write and not (file.stat().st_mode & _WRITABLE and os.access(file, os.W_OK)):
        raise InputError(f"{path}: this store is read-only; `chmod u+w {path}`, or name another")
    if write:
        _check_directory(file)


def _check_new(path: str, *, write: bool) -> None:
    """Refuse a file that is missing or empty where there has to be a store, or can be none."""
    file = Path(path)
    log = f"{path}{parts.LOG}"
    if exists(log):
        raise InputError(
            f"{path}: this store is damaged: its log {log} is there, and the store itself is not; "
            "put it back beside its log, or name another file"
        )
    if not write:
        found = "this file is empty, not a store" if file.is_file() else "no such store"
        raise InputError(f"{path}: {found}; `skipline sweep --store {path}` writes one")
    _check_directory(file)


def _check_directory(file: Path) -> None:
    folder = file.parent
    if not folder.is_dir():
        raise InputError(f"{file}: the directory {folder} does not exist")
    if not os.access(folder, os.W_OK):
        raise InputError(f"{file}: the directory {folder} is not writable")


def require_room(path: str | None, points: int) -> None:
    """Refuse a sweep whose points the disk has no room for."""
    if path is None:
        return
    free = shutil.disk_usage(Path(path).absolute().parent).free
    needed = _BYTES_OF_STORE + points * _BYTES_OF_POINT
    if free < needed:
        raise InputError(
            f"{path}: the disk has {free / 1e6:.0f} MB left; {points:,} points need about "
            f"{needed / 1e6:.0f} MB; free some, or name a file elsewhere"
        )


def _check_format(connection: Connection, path: str, write: bool) -> None:
    tables = {name for (name,) in connection.rows("SHOW TABLES")}
    if not tables and write:
        _set_up(connection, schema.TABLES + schema.VIEWS)
        return
    if "meta" not in tables:
        raise InputError(f"{path}: not a store of sweeps; it has tables of something else")
    missing = [name for name in schema.NAMES if name not in tables]
    if missing:
        raise InputError(f"{path}: not a store of sweeps: it has no table {missing[0]}")
    kind, number, by = _kind(connection, path)
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


def _set_up(connection: Connection, statements: str) -> None:
    """Bring tables and views to the format of this version, all or nothing."""
    try:
        connection.begin()
        connection.execute(statements)
        connection.execute("DELETE FROM meta")
        row = [schema.KIND, schema.FORMAT, _core.version()]
        connection.execute("INSERT INTO meta VALUES (?, ?, ?)", row)
        connection.commit()
    except StoreFault as fault:
        raise RunError(f"{connection.path}: cannot be written: {fault.reason}") from None


def _kind(connection: Connection, path: str) -> tuple[Any, ...]:
    """Return what a store says of itself: kind, format and the version that wrote it."""
    try:
        found = connection.row("SELECT kind, format, written_by FROM meta")
    except StoreFault as fault:
        raise InputError(f"{path}: not a store of sweeps: {fault.reason}") from None
    return found or ("", None, "")


def _refused(path: str, message: str) -> str:
    if any(told in message for told in _OF_LOCKS):
        holder = _HOLDER.search(message)
        by = f"process {holder[1]}" if holder else "another process"
        return f"{path}: {by} is writing this store; wait until it has ended, or name another file"
    return f"{path}: not a store that can be opened: {first_line(message)}"
