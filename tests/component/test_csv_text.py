"""Are tables of people read as they were meant, whatever program saved them?"""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipline.text import csv_text

ROWS = [["rx_descriptors", "ddio_ways"], ["128", "2"], ["256", "4"]]
CELLS = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), max_size=8)


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_each_delimiter_is_found_with_and_without_a_mark(
    mark: str, delimiter: str, end: str
) -> None:
    text = mark + end.join(delimiter.join(row) for row in ROWS)
    assert list(csv_text.rows(text)) == ROWS
    assert list(csv_text.records(text)) == [
        {"rx_descriptors": "128", "ddio_ways": "2"},
        {"rx_descriptors": "256", "ddio_ways": "4"},
    ]


def test_a_delimiter_within_quotes_does_not_count() -> None:
    assert list(csv_text.rows('"a;b;c",d\n1;2,3\n')) == [["a;b;c", "d"], ["1;2", "3"]]


def test_one_column_and_an_empty_table_have_no_delimiter() -> None:
    assert list(csv_text.rows("cores\n1\n2\n")) == [["cores"], ["1"], ["2"]]
    assert list(csv_text.rows("")) == []


@given(st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=5), st.sampled_from(",;\t"))
def test_what_a_writer_of_any_delimiter_wrote_is_read(
    table: list[list[str]], delimiter: str
) -> None:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerows([["first", "second"], *table])
    assert list(csv_text.rows(text.getvalue())) == [["first", "second"], *table]
