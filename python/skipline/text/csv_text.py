"""Tables as CSV: a line of names, and a line for each row.

Tables that people bring may come from a spreadsheet: with a byte order mark, and with semicolons or
tabs between cells.
"""

import csv
import io
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from skipline.text import different, foreign

if TYPE_CHECKING:
    import polars as pl

_BYTE_ORDER_MARK = "\ufeff"
_DELIMITERS = ",;\t"


def rows(text: str) -> Iterator[list[str]]:
    """Return the rows of a table; its first line shows what is between cells: `,`, `;` or tab."""
    return csv.reader(_lines(text), delimiter=_delimiter(text))


def records(text: str) -> "csv.DictReader[str]":
    """Return the rows of a table by the names in its first line, as `rows` divides them."""
    return csv.DictReader(_lines(text), delimiter=_delimiter(text))


def _lines(text: str) -> io.StringIO:
    return io.StringIO(text.removeprefix(_BYTE_ORDER_MARK), newline="")


def _delimiter(text: str) -> str:
    names = next((line for line in text.splitlines() if line.strip()), "")
    outside_quotes = "".join(names.split('"')[::2])
    # Of delimiters that are equally frequent the first is taken: a comma if there is none.
    return max(_DELIMITERS, key=outside_quotes.count)


def from_rows(columns: Iterable[str], table: Iterable[Iterable[object]]) -> str:
    """Write rows below the names of their columns."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_printable, columns))
    writer.writerows(map(_printable, row) for row in table)
    return text.getvalue()


def from_frame(frame: "pl.DataFrame") -> str:
    """Write a data frame."""
    import polars as pl

    shown = [
        _shown(column) if column.dtype == pl.String else column for column in frame.get_columns()
    ]
    # Names of which only marks differ are the same without them.
    names = different.names([foreign.in_cell(name) for name in frame.columns])
    renamed = [column.alias(name) for column, name in zip(shown, names, strict=True)]
    return pl.DataFrame(renamed).write_csv()


def _shown(column: "pl.Series") -> "pl.Series":
    """Return a column of texts as they are shown; most have few that differ."""
    texts = column.unique().drop_nulls().to_list()
    changed = {text: shown for text in texts if (shown := foreign.in_cell(text)) != text}
    return column.replace(changed) if changed else column


def _printable(cell: object) -> object:
    return foreign.in_cell(cell) if isinstance(cell, str) else cell
