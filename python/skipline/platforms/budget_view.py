"""Time budgets as a table for people, and as CSV."""

from collections.abc import Iterable

from rich.table import Table

from skipline.platforms.budget import Item
from skipline.text import csv_text


def table(budget: Iterable[Item], platform: str) -> Table:
    """Return the budgets as a table."""
    shown = Table("budget", "ns", "how", box=None, title=f"Time budgets on {platform}")
    shown.columns[1].justify = "right"
    for item in budget:
        shown.add_row(item.name, f"{item.value_ns:.2f}", item.how)
    return shown


def as_csv(budget: Iterable[Item]) -> str:
    """Write one row per budget."""
    return csv_text.from_rows(Item._fields, budget)
