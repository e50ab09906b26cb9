"""Tables as CSV: a line of names, and a line for each row."""

import csv
import io
from collections.abc import Iterable


def from_rows(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Write rows below the names of their columns."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()
