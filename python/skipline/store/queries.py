"""Queries of users: each is answered, or refused in words; none changes anything.

What a query may be is looked at here. That it can write nothing even so is seen to where a store is
opened: without files, and with settings that stay.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from skipline._core import InputError
from skipline.store import columns
from skipline.store.connection import Connection, StoreFault
from skipline.text import different

if TYPE_CHECKING:
    import polars as pl

_MOST_BYTES = 1 << 30
_OF_EXPLAIN = {"explain", "analyze", "analyse", "verbose"}
_WORD = re.compile(rb"\w+|.", re.DOTALL)


def answer(connection: Connection, query: str, values: Sequence[object] = ()) -> "pl.DataFrame":
    """Return what a query finds; InputError for no query, several, or one that does not read."""
    try:
        kind, text = _one_reading(connection, query)
        if kind == "EXPLAIN":  # which is no part of another query; its answers are texts
            return columns.frame(connection.arrow(query, values, _MOST_BYTES))
        return _found(connection, _without_end(connection, text), values)
    except StoreFault as fault:
        raise InputError(
            f"{connection.path}: this query cannot be answered: {fault.reason}"
        ) from None


def _one_reading(connection: Connection, query: str) -> tuple[str, str]:
    """Return kind and text of the only statement of a query, which reads."""
    path = connection.path
    found = connection.statements(query)
    if not found:
        raise InputError(f"{path}: no query; one is `FROM points SELECT status, error`")
    if len(found) > 1:
        raise InputError(
            f"{path}: {len(found)} statements; ask one query at a time (PIVOT is one if its values "
            "are named: `PIVOT ... ON column IN (...)`)"
        )
    ((kind, text),) = found
    # EXPLAIN ANALYZE carries out what it explains.
    inner = _explained(connection, text) if kind == "EXPLAIN" else kind
    if inner != "SELECT":
        raise InputError(
            f"{path}: {inner} is refused: a query reads the store (SELECT, FROM, WITH, VALUES, "
            "DESCRIBE, SUMMARIZE, EXPLAIN of one of these) and changes nothing"
        )
    return kind, text


def _explained(connection: Connection, text: str) -> str:
    """Return the kind of the statement behind EXPLAIN."""
    content = text.encode()
    tokens = [(at, _word(content, at)) for at in connection.tokens(text)]
    begin = next((at for at, word in tokens if word not in _OF_EXPLAIN), len(content))
    try:
        return _only_kind(connection, content[begin:])
    except StoreFault:
        # What is in parentheses are options, as (FORMAT json): the statement is behind them.
        behind = [at for at, word in tokens if word == ")" and at > begin]
        if _word(content, begin) != "(" or not behind:
            raise
        return _only_kind(connection, content[behind[0] + 1 :])


def _only_kind(connection: Connection, content: bytes) -> str:
    kinds = [kind for kind, _ in connection.statements(content.decode())]
    return kinds[0] if len(kinds) == 1 else "EXPLAIN"


def _word(content: bytes, at: int) -> str:
    found = _WORD.match(content, at)
    return "" if found is None else found[0].decode(errors="replace").lower()


def _found(connection: Connection, query: str, values: Sequence[object]) -> "pl.DataFrame":
    """Return the answer; as text what has no type in a frame, or does not fit into it."""
    # A comment at its end ends with its line.
    inner = f"({query}\n)"
    described = connection.columns(f"SELECT * FROM {inner}", values)
    names = different.names(name for name, _ in described)
    places = [f"column{at}" for at in range(len(names))]
    as_texts = {at for at, (_, kind) in enumerate(described) if not columns.has_type(kind)}
    while True:
        shown = ", ".join(
            f"CAST({place} AS VARCHAR)" if at in as_texts else place
            for at, place in enumerate(places)
        )
        asked = f"SELECT {shown} FROM {inner} AS answer({', '.join(places)})"
        found = connection.arrow(asked, values, _MOST_BYTES).rename_columns(names)
        misfits = columns.misfits(found)
        if not misfits:
            return columns.frame(found)
        as_texts |= misfits


def _without_end(connection: Connection, text: str) -> str:
    """Return a statement without the semicolons that end it, and what follows them."""
    content = text.encode()
    ends = [at for at in connection.tokens(text) if content[at : at + 1] == b";"]
    return content[: ends[0]].decode() if ends else text
