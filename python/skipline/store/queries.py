"""Queries of users: each is answered, or refused in words; none changes anything."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from skipline._core import InputError
from skipline.store.connection import Connection, StoreFault, unlike

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

_MOST_BYTES = 1 << 30
_READING = {"SELECT", "EXPLAIN"}
_AS_THEY_ARE = {
    *("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT"),
    *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "FLOAT", "DOUBLE", "VARCHAR"),
}


def answer(connection: Connection, query: str, values: Sequence[object] = ()) -> "pl.DataFrame":
    """Return what a query finds; InputError for no query, several, or one that does not read."""
    import polars as pl

    try:
        _require_one_reading(connection, query)
        found = _printable_columns(connection, query, values)
    except StoreFault as fault:
        raise InputError(
            f"{connection.path}: this query cannot be answered: {fault.reason}"
        ) from None
    frame = pl.from_arrow(found.rename_columns(unlike(found.column_names)))
    return frame if isinstance(frame, pl.DataFrame) else frame.to_frame()


def _require_one_reading(connection: Connection, query: str) -> None:
    path = connection.path
    kinds = connection.statements(query)
    if not kinds:
        raise InputError(f"{path}: no query; one is `FROM points SELECT status, error`")
    if len(kinds) > 1:
        raise InputError(
            f"{path}: {len(kinds)} statements; ask one query at a time (PIVOT is one if its values "
            "are named: `PIVOT ... ON column IN (...)`)"
        )
    if kinds[0] not in _READING:
        raise InputError(
            f"{path}: {kinds[0]} is refused: a query reads the store (SELECT, FROM, WITH, VALUES, "
            "DESCRIBE, SUMMARIZE, EXPLAIN) and changes nothing"
        )


def _printable_columns(connection: Connection, query: str, values: Sequence[object]) -> "pa.Table":
    """Return the answer; what is neither number, truth nor text as the text that DuckDB writes."""
    # A comment at its end ends with its line.
    inner = f"({query.strip().rstrip(';')}\n)"
    try:
        types = connection.columns(f"SELECT * FROM {inner}", values)
    except StoreFault:
        # No part of another query, as EXPLAIN, whose answers are texts; or it is wrong and says so.
        return connection.texts(query, values, _MOST_BYTES)
    if all(kind in _AS_THEY_ARE for _, kind in types):
        return connection.arrow(query, values, _MOST_BYTES)
    names = [f"column{at}" for at in range(len(types))]
    shown = ", ".join(
        name if kind in _AS_THEY_ARE else f"CAST({name} AS VARCHAR)"
        for name, (_, kind) in zip(names, types, strict=True)
    )
    wrapped = f"SELECT {shown} FROM {inner} AS answer({', '.join(names)})"
    return connection.arrow(wrapped, values, _MOST_BYTES).rename_columns(
        [name for name, _ in types]
    )
