"""One table value: columns and rows, from which terminals, CSV, JSON and HTML are written.

A view builds a `TextTable` of values; each column says how its values read. Nothing that only
terminals need is loaded before a table is shown there.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skipline.text import csv_text, foreign

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

_HEADING = "bold cyan"


@dataclass(frozen=True)
class Styled:
    """A value that terminals show in a style of its own."""

    value: object
    style: str


@dataclass(frozen=True)
class Column:
    """A column of values: `heading` is its name for people, `key` its name for programs.

    Without a heading it is for programs alone, without a key for people alone.
    """

    heading: str | None
    key: str | None = None
    unit: str = ""
    """Unit of all values; follows the heading."""
    form: str | Callable[[Any], str] = ""
    """Format of a value that people see, as Python's `format` takes it, or a function."""
    absent: str = ""
    """Text for people where there is no value."""
    decimals: int | None = None
    """Digits behind the point that programs get; default: all."""
    right: bool = False
    style: str = ""
    heading_style: str = ""
    least_width: int | None = None

    @property
    def whole_heading(self) -> str:
        """The heading with its unit."""
        return f"{self.heading}, {self.unit}" if self.unit else self.heading or ""

    def text(self, value: object) -> str:
        """Write a value for people; what is a text already stays as it is."""
        if value is None:
            return self.absent
        if callable(self.form):
            return foreign.printable(self.form(value))
        return foreign.printable(value if isinstance(value, str) else format(value, self.form))

    def plain(self, value: object) -> object:
        """Return a value for programs."""
        if self.decimals is None or not isinstance(value, float):
            return value
        return round(value, self.decimals)


def texts(*headings: str) -> list[Column]:
    """Return columns of texts for people."""
    return [Column(heading) for heading in headings]


def numbers(*headings: str, form: str | Callable[[Any], str] = "") -> list[Column]:
    """Return columns for people whose values stand at the right."""
    return [Column(heading, form=form, right=True) for heading in headings]


_HEADING_COLUMN = Column("")


@dataclass(frozen=True)
class _Row:
    cells: tuple[object, ...]
    style: str = ""
    is_heading: bool = False


class TextTable:
    """A table: columns, and rows with a value for each of them."""

    def __init__(
        self,
        columns: Iterable[Column],
        rows: Iterable[Iterable[object]] = (),
        *,
        title: str | None = None,
        is_title_centred: bool = False,
        has_header: bool = True,
        has_edges: bool = False,
    ) -> None:
        self.columns = tuple(columns)
        self.title = title
        self._is_title_centred = is_title_centred
        self._has_header = has_header
        self._has_edges = has_edges
        self._rows = [_Row(tuple(row)) for row in rows]

    def add(self, *values: object, style: str = "") -> None:
        """Add a row, with a value for each column."""
        self._rows.append(_Row(values, style))

    def add_heading(self, text: str) -> None:
        """Add a heading of the rows that follow, which people see, with an empty line above."""
        self._rows += [_Row((), is_heading=True), _Row((Styled(text, _HEADING),), is_heading=True)]

    def headings(self) -> list[str]:
        """Return the headings of the columns that people see."""
        return [column.whole_heading for column in self._shown()]

    def texts(self) -> Iterator[list[str]]:
        """Yield the texts of each row, as people see them."""
        for row in self._rows:
            if not row.is_heading:
                yield [column.text(_value(cell)) for column, cell in self._shown_cells(row)]

    def numeric(self) -> list[int]:
        """Return which of the columns that people see stand at the right."""
        return [at for at, column in enumerate(self._shown()) if column.right]

    def records(self) -> list[dict[str, object]]:
        """Return each row for programs: values by the names of their columns."""
        keys = [column.key for column in self.columns if column.key]
        return [dict(zip(keys, row, strict=True)) for row in self._plain_rows()]

    def as_csv(self) -> str:
        """Write a line of names, and a line for each row."""
        keys = (column.key for column in self.columns if column.key)
        return csv_text.from_rows(keys, self._plain_rows())

    def as_html(self, notes: Iterable[str]) -> str:
        """Write the small table that notebooks show, with notes below."""
        from skipline.text import html_card

        title = self.title or ""
        return html_card.card(title, self.headings(), self.texts(), notes, self.numeric())

    def __rich__(self) -> "Table":
        """Return the table for terminals, not yet fitted to any width."""
        from rich.table import Table

        shown = Table(
            title=self.title,
            title_justify="center" if self._is_title_centred else "left",
            box=None,
            show_header=self._has_header,
            pad_edge=self._has_edges,
        )
        for column in self._shown():
            shown.add_column(
                _rich_heading(column),
                justify="right" if column.right else "left",
                style=column.style,
                min_width=column.least_width,
            )
        for row in self._rows:
            cells = (_rich_text(column, cell) for column, cell in self._shown_cells(row))
            shown.add_row(*cells, style=row.style or None)
        return shown

    def _shown(self) -> list[Column]:
        return [column for column in self.columns if column.heading is not None]

    def _shown_cells(self, row: _Row) -> Iterator[tuple[Column, object]]:
        """Yield the cells that people see; a heading has only the first, in no column's format."""
        if row.is_heading:
            yield from ((_HEADING_COLUMN, cell) for cell in row.cells)
            return
        for column, cell in zip(self.columns, row.cells, strict=True):
            if column.heading is not None:
                yield column, cell

    def _plain_rows(self) -> Iterator[list[object]]:
        for row in self._rows:
            if not row.is_heading:
                cells = zip(self.columns, row.cells, strict=True)
                yield [column.plain(_value(cell)) for column, cell in cells if column.key]


def _value(cell: object) -> object:
    return cell.value if isinstance(cell, Styled) else cell


def _rich_heading(column: Column) -> "str | Text":
    if not column.heading_style:
        return column.whole_heading
    from rich.text import Text

    return Text(column.whole_heading, style=column.heading_style)


def _rich_text(column: Column, cell: object) -> "str | Text":
    if not isinstance(cell, Styled):
        return column.text(cell)
    from rich.text import Text

    return Text(column.text(cell.value), style=cell.style)
