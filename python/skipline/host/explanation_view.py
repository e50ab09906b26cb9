"""An explanation of a server as text and tables."""

from rich.console import RenderableType
from rich.text import Text

from skipline.host.explanation import Explanation, joined
from skipline.host.observed import Value
from skipline.text import quantity
from skipline.text.table import Column, TextTable, texts

_MOST_LIMITS = 3


def overview(explained: Explanation) -> list[RenderableType]:
    """Show the disagreement first, then what leaks and what limits, then what is assumed."""
    parts: list[RenderableType] = [
        Text(explained.result.title, style="bold"),
        Text(explained.verdict),
        Text(explained.leak),
        Text(explained.result.answer),
    ]
    limits = [
        f"{limit.resource} {limit.utilisation_percent:.0f} %"
        for limit in explained.result.limits[:_MOST_LIMITS]
    ]
    if limits:
        parts.append(Text(f"Busiest: {'; '.join(limits)}."))
    if explained.compared:
        parts += ["", numbers(explained)]
    if assumed := explained.observed.of_origin("assumed"):
        parts += ["", Text("Assumed"), _assumed(assumed)]
    for title, lines in (
        ("Asked (skipline-host observe --set KEY=VALUE)", explained.observed.asked),
        ("Not read", explained.observed.unread),
    ):
        if lines:
            parts += ["", Text(title), *(Text(f"  {line}") for line in lines)]
    return parts


def numbers(explained: Explanation) -> TextTable:
    """Return a row for each number that model and window have."""
    columns = (
        *texts("number"),
        Column("model", "model", right=True),
        Column("window", "window", right=True),
        Column("difference", "difference", right=True),
        *texts("± 95 %", "judged"),
    )
    table = TextTable(columns)
    differing = {one.name for one in explained.disagreements}
    for one in explained.compared.found if explained.compared else []:
        change, unit = one.change, one.unit
        model, window = (
            joined(quantity.text(it, None, unit)) for it in (change.before, change.now)
        )
        difference = _difference(change.difference, change.ci95, unit)
        judged = "disagree" if change.name in differing else "agree"
        table.add(change.name, model, window, joined(difference), difference.ci95, judged)
    return table


def _difference(value: float, ci95: float | None, unit: str) -> quantity.Text:
    """Write a difference: that of percentages is in percentage points."""
    told = quantity.text(value, ci95, unit)
    return told._replace(unit="pp") if unit == "percent" else told


def _assumed(values: list[Value]) -> TextTable:
    table = TextTable(texts("key", "value", "why"))
    for value in values:
        table.add(value.key, value.value or "–", value.source)
    return table


def change(before: Explanation, after: Explanation) -> list[RenderableType]:
    """Show two observations of a server beside each other: the change, and what was predicted."""
    parts: list[RenderableType] = [
        Text(after.result.title, style="bold"),
        Text(f"Before: {before.verdict} {before.leak}"),
        Text(f"After: {after.verdict} {after.leak}"),
        "",
    ]
    table = TextTable(
        texts(
            "number",
            "window before",
            "window after",
            "model before",
            "model after",
            "change counted",
            "change predicted",
        )
    )
    earlier = {one.change.name: one for one in before.compared.found} if before.compared else {}
    for one in after.compared.found if after.compared else []:
        if (first := earlier.get(one.change.name)) is None:
            continue
        levels = (first.change.now, one.change.now, first.change.before, one.change.before)
        changes = (levels[1] - levels[0], levels[3] - levels[2])
        table.add(
            one.change.name,
            *(joined(quantity.text(level, None, one.unit)) for level in levels),
            *(joined(_difference(change, None, one.unit)) for change in changes),
        )
    parts += [table, "", Text(after.result.answer)]
    return parts
