"""Does one table value show the same values to people, and all of them to programs?"""

import csv
import io
import sys
from subprocess import run

import pytest
from rich.console import Console
from rich.text import Text

from skipline.text import layout
from skipline.text.table import Column, Styled, TextTable, numbers, texts


@pytest.fixture
def ways() -> TextTable:
    table = TextTable(
        (
            Column("platform", "name", form=str.lower),
            Column("latency", "latency_ns", unit="ns", form=",.1f", right=True, decimals=3),
            Column("share", form="{:.0f} %".format, right=True, absent="–"),
            Column(None, "origin"),
        ),
        title="Ways",
    )
    table.add_heading("Level 3")
    table.add(Styled("Skylake", "cyan"), 1234.56789, 12.5, "own")
    table.add("rome", None, None, None, style="dim")
    return table


def _lines(table: TextTable, width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, markup=False, highlight=False)
    with console.capture() as captured:
        console.print(layout.fit_to_width(table, console))
    return [line.rstrip() for line in captured.get().splitlines()]


def test_people_see_headings_with_units_and_formatted_values(ways: TextTable) -> None:
    assert ways.headings() == ["platform", "latency, ns", "share"]
    assert list(ways.texts()) == [["skylake", "1,234.6", "12 %"], ["rome", "", "–"]]
    assert ways.numeric() == [1, 2]


def test_programs_get_every_value_below_its_key(ways: TextTable) -> None:
    records = [
        {"name": "Skylake", "latency_ns": 1234.568, "origin": "own"},
        {"name": "rome", "latency_ns": None, "origin": None},
    ]
    assert ways.records() == records
    read = list(csv.DictReader(io.StringIO(ways.as_csv())))
    assert [row["latency_ns"] for row in read] == ["1234.568", ""]
    assert [row["origin"] for row in read] == ["own", ""]


def test_a_terminal_has_title_headings_and_rows(ways: TextTable) -> None:
    title, head, blank, heading, first, second = _lines(ways, 60)
    assert (title, blank, heading) == ("Ways", "", "Level 3")
    assert head.split() == ["platform", "latency,", "ns", "share"]
    assert first.split() == ["skylake", "1,234.6", "12", "%"]
    assert second.split() == ["rome", "–"]
    assert first.index("1,234.6") + len("1,234.6") == head.index("ns") + len("ns")


def test_a_narrow_terminal_loses_nothing(ways: TextTable) -> None:
    shown = " ".join(" ".join(_lines(ways, 14)).split())
    for text in ("skylake", "latency, ns: 1,234.6", "share: 12 %"):
        assert text in shown


def test_styles_are_those_of_cells_and_rows(ways: TextTable) -> None:
    shown = ways.__rich__()
    cells = list(shown.columns[0].cells)
    assert Text("skylake", style="cyan") in cells
    assert [row.style for row in shown.rows][-1] == "dim"


def test_a_notebook_has_the_same_texts(ways: TextTable) -> None:
    markup = ways.as_html(["a < b"])
    for text in ("<strong>Ways</strong>", "latency, ns", "1,234.6", "a &lt; b"):
        assert text in markup
    assert "own" not in markup


def test_a_row_has_a_value_for_each_column() -> None:
    table = TextTable((*texts("name"), *numbers("hits")))
    table.add("l1")
    with pytest.raises(ValueError, match="shorter"):
        table.__rich__()


def test_building_a_table_loads_nothing_for_terminals() -> None:
    code = (
        "import sys; from skipline.text.table import TextTable, texts;"
        "TextTable(texts('a')).as_csv(); sys.exit('rich' in sys.modules)"
    )
    assert run([sys.executable, "-c", code], check=False).returncode == 0
