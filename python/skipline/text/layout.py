"""Lays tables out in the columns that a terminal has: nothing is cut off.

A table that is too wide gets narrower columns first, down to the longest word in each. Where even
that is too wide, its rows are stacked: each becomes a few lines.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Group
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from skipline.text.table import TextTable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

# Longer words, such as paths, may go on in the next line; numbers and names stay whole.
_LONGEST_WORD = 40
_INDENTATION = 4
_GAP = Text("   ")


@dataclass(frozen=True)
class _Needs:
    """Columns that the cells of a column need: without a break, and with breaks between words."""

    most: int
    least: int


def fit_to_width(shown: "RenderableType", console: "Console") -> "RenderableType":
    """Return what shows all of `shown` within the width of the console."""
    match shown:
        case Group():
            return Group(*(fit_to_width(part, console) for part in shown.renderables))
        case TextTable():
            return _fitted_table(shown.__rich__(), console)
        case Table():
            return _fitted_table(shown, console)
        case Text(no_wrap=True):
            # A path: who copies it wants it in one piece.
            shown.overflow = "ignore"
    return shown


def _fitted_table(table: Table, console: "Console") -> "RenderableType":
    cells = [list(column.cells) for column in table.columns]
    needs = [
        _needs([column.header, *own] if table.show_header else own, column.min_width, console)
        for column, own in zip(table.columns, cells, strict=True)
    ]
    # Without edges and lines, what is beside cells is their padding.
    left, right = table.padding[3], table.padding[1]
    edges = 0 if table.pad_edge else left + right
    room = console.width - (left + right) * len(needs) + edges
    widths = _widths(needs, room)
    if widths is None:
        return _stacked(table, cells, console.width)
    for column, width in zip(table.columns, widths, strict=True):
        column.width, column.min_width = width, None
        column.no_wrap, column.overflow = False, "fold"
    return table


def _needs(cells: "Sequence[RenderableType]", wished: int | None, console: "Console") -> _Needs:
    unbounded = console.options.update(max_width=1 << 20)
    measured = [(cell, Measurement.get(console, unbounded, cell)) for cell in cells]
    most = max((need.maximum for _, need in measured), default=0)
    most = max(most, wished or 0)
    longest_word = max((_indented(cell) + need.minimum for cell, need in measured), default=0)
    return _Needs(most, min(longest_word, _LONGEST_WORD))


def _widths(needs: list[_Needs], room: int) -> list[int] | None:
    """Divide `room`: the widest columns become narrower first. None if there is not enough."""
    if sum(need.least for need in needs) > room:
        return None
    widths = [need.most for need in needs]
    for _ in range(sum(widths) - room):
        spare = [index for index, need in enumerate(needs) if widths[index] > need.least]
        widths[max(spare, key=lambda index: widths[index])] -= 1
    return widths


def _stacked(table: Table, cells: "list[list[RenderableType]]", width: int) -> Group:
    """Write each row below the one before, over as many lines as it takes."""
    headings = [" ".join(str(column.header).split()) for column in table.columns]
    parts: list[RenderableType] = [] if table.title is None else [table.title]
    for row in zip(*cells, strict=True):
        texts = [cell.copy() if isinstance(cell, Text) else Text(str(cell)) for cell in row]
        if table.show_header:
            parts += _by_headings(headings, texts, width)
        else:
            parts.append(Text("  ").join(text for text in texts if text.plain.strip()))
    return Group(*parts)


def _by_headings(headings: list[str], texts: list[Text], width: int) -> "list[RenderableType]":
    """Return the first cell of a row, and below it the others, as many to a line as fit."""
    named = [
        Text(f"{heading}: " if heading else "").append_text(text[_indentation(text) :])
        for heading, text in zip(headings, texts, strict=True)
        if text.plain.strip()
    ]
    if len(named) == 1 and texts[0].plain.strip():
        named = texts[:1]  # a title of the rows below, not a row
    if not named:
        return [Text()]
    first, *others = named
    lines: list[Text] = []
    for one in others:
        longer = _GAP.join([lines[-1], one]) if lines else one
        if lines and longer.cell_len <= width - _INDENTATION:
            lines[-1] = longer
        else:
            lines.append(one)
    return [first, *(Padding(line, (0, 0, 0, _INDENTATION)) for line in lines)]


def _indented(cell: "RenderableType") -> int:
    """Return how many spaces stand before the first word of a cell."""
    return _indentation(cell if isinstance(cell, Text) else Text(str(cell)))


def _indentation(text: Text) -> int:
    """Return how many spaces a cell begins with: they only align it."""
    return len(text.plain) - len(text.plain.lstrip())
