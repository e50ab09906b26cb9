"""Time budgets as a table."""

from collections.abc import Iterable

from skipline.platforms.budget import Item
from skipline.text.table import Column, TextTable


def budget_table(budget: Iterable[Item], platform: str | None) -> TextTable:
    """Return the budgets, one per row."""
    columns = (
        Column("budget", "name"),
        Column("ns", "value_ns", form=".2f", right=True),
        Column("how", "how"),
    )
    title = f"Time budgets on {platform}" if platform else "Time budgets on any server"
    return TextTable(columns, budget, title=title, is_title_centred=True, has_edges=True)
