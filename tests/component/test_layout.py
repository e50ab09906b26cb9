"""Tables on terminals of any width: nothing is lost, and no line is longer than the terminal."""

import io

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from skipline.text import layout

LONGEST_WORD = 12
WORD = st.text("abcdefghijkl0123456789.,", min_size=1, max_size=LONGEST_WORD)
CELL = st.lists(WORD, max_size=6).map(" ".join)
ROWS = st.integers(1, 7).flatmap(
    lambda columns: st.lists(
        st.lists(CELL, min_size=columns, max_size=columns), min_size=2, max_size=6
    )
)


def printed(shown: Table | Group | Text, width: int) -> list[str]:
    """The lines of something on a terminal."""
    console = Console(file=io.StringIO(), width=width, markup=False, emoji=False, highlight=False)
    with console.capture() as captured:
        console.print(layout.fit_to_width(shown, console), crop=False)
    return [line.rstrip() for line in captured.get().splitlines()]


def table_of(rows: list[list[str]], *, headed: bool) -> Table:
    """A table; its first row is the headings of a headed one."""
    table = Table(box=None, show_header=headed)
    for heading in rows[0]:
        # What rich would cut with an ellipsis, or not make narrower.
        table.add_column(heading if headed else "", no_wrap=True, min_width=5)
    for row in rows[1:] if headed else rows:
        table.add_row(*row)
    return table


@given(ROWS, st.booleans(), st.integers(30, 120))
def test_every_word_is_there_in_no_more_columns(
    rows: list[list[str]], headed: bool, width: int
) -> None:
    lines = printed(table_of(rows, headed=headed), width)
    has = {word.removesuffix(":") for line in lines for word in line.split()}
    cells = [cell for row in (rows[1:] if headed else rows) for cell in row]
    assert {word.removesuffix(":") for cell in cells for word in cell.split()} <= has
    assert all(len(line) <= width for line in lines), lines


def test_a_table_that_fits_is_as_wide_as_its_cells() -> None:
    rows = [["name", "value"], ["one", "1"], ["twelve", "12"]]
    assert printed(table_of(rows, headed=True), 30) == [
        " name    value",
        " one     1",
        " twelve  12",
    ]


def test_the_widest_column_becomes_narrower_first() -> None:
    rows = [["name", "meaning"], ["one", "a text of many short words"]]
    assert printed(table_of(rows, headed=True), 24) == [
        " name   meaning",
        " one    a text of many",
        "        short words",
    ]


def test_rows_are_stacked_where_the_longest_words_do_not_fit_beside_each_other() -> None:
    names = ["platform", "facts", "own", "seen", "derived"]
    rows = [names, ["skylake-gold-6140", "135", "22", "", "11"], ["Others", "", "", "", ""]]
    assert printed(table_of(rows, headed=True), 30) == [
        "platform: skylake-gold-6140",
        "    facts: 135   own: 22",
        "    derived: 11",
        "Others",
    ]


def test_a_path_stays_in_one_piece() -> None:
    path = "/a/path/" + "long/" * 20
    assert printed(Group(Text(f"  {path}", no_wrap=True)), 30) == [f"  {path}"]


def test_a_word_longer_than_the_terminal_goes_on_in_the_next_line() -> None:
    rows = [["key", "value"], ["x", "m" * 70]]
    assert "".join("".join(printed(table_of(rows, headed=True), 30)).split()).endswith("m" * 70)
