"""A comparison as tables."""

from collections.abc import Iterable

from rich.console import RenderableType
from rich.text import Text

from skipline.diff.change import Change
from skipline.diff.comparison import Broken, Comparison, Found
from skipline.model_error import view as model_error_view
from skipline.scenarios import metrics
from skipline.text import quantity
from skipline.text.table import Column, Styled, TextTable, texts

# Of many points the largest changes are shown, most certain ones of many numbers.
_MOST_ROWS = 40
_MAIN = "main"
_LATENCIES = ("latency_ns.p50", "latency_ns.p99")


def overview(compared: Comparison, *, everything: bool) -> list[RenderableType]:
    """Show what was compared, which settings differ, what has changed, which bounds are broken."""
    parts: list[RenderableType] = [_sides(compared)]
    if compared.settings:
        parts += ["", _settings(compared)]
    parts += ["", Text(_sentence(compared))]
    shown = compared.found if everything else _chosen(compared)
    most = len(shown) if everything else _MOST_ROWS
    if shown:
        parts += ["", _changes(shown[:most])]
        if rest := shown[most:]:
            parts.append(Text(f"{len(rest):,} more that differ: --all"))
        elif not everything and len(shown) < len(compared.found):
            parts.append(Text("Shown: numbers that matter most, and all that differ. All: --all"))
    if known := model_error(compared):
        parts += ["", Text(known)]
    if compared.broken:
        parts += ["", _bounds(compared.broken)]
    return parts


def model_error(compared: Comparison) -> str:
    """Return what is known of the model's own error, of side B if it is one point."""
    if compared.is_measured:
        return ""
    if compared.before.is_store:
        return model_error_view.general()
    return model_error_view.of_numbers(
        (one.change.name, one.change.now) for one in compared.found
    ).replace("Model error (90 %)", "Model error of B (90 %; that of a change is not known)", 1)


def numbers_table(compared: Comparison) -> TextTable:
    """Return a row per number and point, for programs."""
    axes = list(dict.fromkeys(key for one in compared.found for key in one.axes))
    keys = (*axes, *Change._fields, "percent", "unit", "significant")
    table = TextTable(Column(None, key) for key in keys)
    for one in compared.found:
        values = (*one.change, one.change.percent, one.unit, one.significant)
        table.add(*(one.axes.get(key) for key in axes), *values)
    return table


def _sides(compared: Comparison) -> TextTable:
    table = TextTable(texts("", "A", "B"))
    table.add("", compared.before.name, compared.now.name)
    for key in dict.fromkeys([*compared.before.origin, *compared.now.origin]):
        left, right = (side.origin.get(key, "–") for side in (compared.before, compared.now))
        if key != "simulator" or left != right:
            table.add(key, left, right)
    return table


def _settings(compared: Comparison) -> TextTable:
    table = TextTable((Column("setting"), Column("A", absent="–"), Column("B", absent="–")))
    for one in compared.settings:
        table.add(one.key, one.before, one.now)
    return table


def _sentence(compared: Comparison) -> str:
    points = len({one.point for one in compared.found})
    pairs = max((one.change.pairs for one in compared.found), default=0)
    changed, numbers = len(compared.changed), len(compared.found)
    told = f"{changed:,} of {numbers:,} numbers differ by more than chance"
    where = f" at {points:,} points" if compared.before.is_store else ""
    seeds = f" ({_compared_by(pairs)})"
    missing = [
        f"{count:,} points only in {name}"
        for count, name in ((compared.only_before, "A"), (compared.only_now, "B"))
        if count
    ]
    return "; ".join([f"{told}{where}{seeds}", *missing]) + "."


def _compared_by(pairs: int) -> str:
    if pairs > 1:
        return f"{pairs} seeds, paired"
    return f"{'one run each' if pairs else 'not paired'}; 95 % intervals of each side"


def _chosen(compared: Comparison) -> list[Found]:
    """Return the numbers that matter most, then all others that differ; of stores what differs."""
    if compared.is_measured:
        return compared.found
    declared = metrics.declared()

    def headline(found: Found) -> bool:
        tenant, _, name = found.change.name.rpartition(":")
        known = declared.get(name)
        # Metrics of the main tenant are also there without its name.
        return tenant != _MAIN and (name in _LATENCIES or (known is not None and known.headline))

    def by_size(found: list[Found]) -> list[Found]:
        return sorted(found, key=lambda one: -abs(one.change.percent or 0.0))

    tenants = {one.change.name.rpartition(":")[0] for one in compared.found} - {"", _MAIN}
    changed = [one for one in compared.changed if not headline(one)]
    # Alone, the main tenant's own rates are those of the machine.
    alone = f"{_MAIN}:" if not tenants else "\0"
    others = by_size([one for one in changed if not one.change.name.startswith(alone)])
    if compared.before.is_store:
        return [*by_size([one for one in compared.changed if headline(one)]), *others]
    return [*(one for one in compared.found if headline(one)), *others]


def _changes(found: Iterable[Found]) -> TextTable:
    rows = list(found)
    with_points = any(one.axes for one in rows)
    columns = (
        *texts("", *(["point"] if with_points else []), "number"),
        Column("A", form=",.5g"),
        Column("B", form=",.5g"),
        Column("unit"),
        Column("change", form="{:+.2f} %".format),
        *texts("± 95 %", ""),
    )
    table = TextTable(columns)
    for one in rows:
        change = one.change
        factor, unit = quantity.scale(change.now, one.unit)
        values = (change.before / factor, change.now / factor, unit, change.percent)
        mark, verdict = ("*", "differs") if one.significant else ("", _same(one))
        styled = Styled(verdict, "bold" if one.significant else "dim")
        point = [one.point] if with_points else []
        table.add(mark, *point, change.name, *values, _half_width(change), styled)
    return table


def _half_width(change: Change) -> str:
    if change.ci95 is None or not change.before:
        return ""
    return f"{100 * change.ci95 / abs(change.before):.2f} %"


def _same(found: Found) -> str:
    """Return in words why a number is not called different."""
    if found.change.difference == 0:
        return "the same"
    return "cannot be told" if found.change.chance is None else "may be chance"


def _bounds(broken: list[Broken]) -> TextTable:
    columns = (*texts("bound that is broken", "where"), Column("change", form="{:+.2f} %".format))
    table = TextTable(columns)
    for one in broken[:_MOST_ROWS]:
        percent = one.found.change.percent
        table.add(Styled(one.bound.text, "red"), one.found.point, percent)
    return table
