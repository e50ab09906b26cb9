"""A connection to a store: whatever DuckDB cannot do becomes an error in words.

Nothing else calls DuckDB's `execute`.
"""

import json
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from skipline import interruption
from skipline._core import InputError

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

_BATCH_ROWS = 100_000
# What DuckDB says of Ctrl-C; no error of a query begins so.
_INTERRUPTED = ("INTERRUPT Error: ", "Query interrupted")


class StoreFault(InputError):
    """What DuckDB could not do with a store; `reason` is what it says, in one line."""

    def __init__(self, path: str, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"{path}: this store cannot be read: {reason}; `skipline store check {path}` looks for "
            "damage"
        )


class Connection:
    """Queries and statements; StoreFault for what fails, KeyboardInterrupt for Ctrl-C."""

    def __init__(
        self, path: str, opened: "DuckDBPyConnection", closed: Callable[[], None] = lambda: None
    ) -> None:
        self.path = path
        self._opened = opened
        # One that is forgotten is closed like one that is not.
        self._closed = weakref.finalize(self, closed)
        self._closed.atexit = False

    def rows(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return all rows that a query finds."""
        with in_words(self.path):
            return self._opened.execute(query, list(values)).fetchall()

    def row(self, query: str, values: Sequence[object] = ()) -> tuple[Any, ...] | None:
        """Return the first row that a query finds, if there is one."""
        with in_words(self.path):
            found: tuple[Any, ...] | None = self._opened.execute(query, list(values)).fetchone()
            return found

    def batches(self, query: str, values: Sequence[object] = ()) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the rows that a query finds, many at a time."""
        with in_words(self.path):
            found = self._opened.execute(query, list(values))
        while True:
            with in_words(self.path):
                rows = found.fetchmany(_BATCH_ROWS)
            if not rows:
                return
            yield rows

    def arrow(
        self, query: str, values: Sequence[object] = (), most_bytes: int | None = None
    ) -> "pa.Table":
        """Return the rows that a query finds; InputError if they take more memory than that."""
        import pyarrow as pa

        with in_words(self.path):
            reader = self._opened.execute(query, list(values)).to_arrow_reader(_BATCH_ROWS)
            batches, taken = [], 0
            for batch in reader:
                taken += batch.nbytes
                self._require_less(taken, most_bytes)
                batches.append(batch)
            return pa.Table.from_batches(batches, reader.schema)

    def _require_less(self, taken: int, most_bytes: int | None) -> None:
        if most_bytes is not None and taken > most_bytes:
            raise InputError(
                f"{self.path}: the answer takes more than {most_bytes >> 20} MiB; name the columns "
                "that are needed, or add LIMIT"
            )

    def columns(self, query: str, values: Sequence[object] = ()) -> list[tuple[str, str]]:
        """Return name and type of each column of what a query finds."""
        with in_words(self.path):
            found = self._opened.execute(f"DESCRIBE {query}", list(values)).fetchall()
            return [(str(name), str(kind)) for name, kind, *_ in found]

    def statements(self, text: str) -> list[tuple[str, str]]:
        """Return kind and text of each statement in a text; a kind is SELECT or INSERT, as such."""
        with in_words(self.path):
            found = self._opened.extract_statements(text)
            return [(one.type.name, one.query) for one in found]

    def tokens(self, text: str) -> list[int]:
        """Return where the tokens of a statement begin, in bytes of UTF-8; comments are none."""
        import duckdb

        with in_words(self.path):
            return [at for at, _ in duckdb.tokenize(text)]

    def execute(self, statement: str, values: Sequence[object] = ()) -> None:
        """Carry out a statement."""
        with in_words(self.path):
            self._opened.execute(statement, list(values))

    def insert(self, statement: str, tables: "dict[str, pa.Table]") -> None:
        """Carry out a statement that names tables of Arrow."""
        with in_words(self.path):
            for name, table in tables.items():
                self._opened.register(name, table)
            self._opened.execute(statement)
            for name in tables:
                self._opened.unregister(name)

    def begin(self) -> None:
        """Begin a transaction."""
        with in_words(self.path):
            self._opened.begin()

    def commit(self) -> None:
        """End a transaction: its changes stay."""
        with in_words(self.path):
            self._opened.commit()

    def rollback(self) -> None:
        """End a transaction: its changes go."""
        with in_words(self.path):
            self._opened.rollback()

    def close(self) -> None:
        """Close the file."""
        try:
            with in_words(self.path):
                self._opened.close()
        finally:
            self._closed()


@contextmanager
def in_words(path: str) -> Iterator[None]:
    """Turn what DuckDB raises inside into a StoreFault, and its word for Ctrl-C into Python's."""
    import duckdb

    try:
        yield
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except UnicodeDecodeError:
        raise StoreFault(path, "a text in it is not UTF-8") from None
    # Through Arrow its errors arrive as those of the system, or of values.
    except (duckdb.Error, OSError, ValueError, RuntimeError) as error:
        if _message(str(error)).startswith(_INTERRUPTED) or interruption.was_pressed():
            raise KeyboardInterrupt from None
        raise StoreFault(path, first_line(error)) from None


def first_line(error: object) -> str:
    """Return what an error says, without its picture of the query."""
    lines = [line.strip() for line in _message(str(error)).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def _message(text: str) -> str:
    """Return the message of an error, which may arrive as the JSON that DuckDB keeps it as."""
    # Seen once, in a process of many tests; why an error arrives so is not known.
    try:
        kept = json.loads(text)
        return f"{kept['exception_type']} Error: {kept['exception_message']}"
    except (ValueError, TypeError, KeyError):
        return text
