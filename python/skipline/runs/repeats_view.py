"""Results of one scenario with several seeds: means over the seeds, and what each seed gave."""

import json
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.text import Text

from skipline import _core
from skipline.runs import result_view
from skipline.runs.result import Entry, Result
from skipline.text import quantity
from skipline.text.quantity import Number
from skipline.text.table import Column, TextTable, numbers

# Fewer seeds give no interval (`half_width_95`).
_LEAST_SEEDS = 5


class Spread(NamedTuple):
    """A number over the seeds: its mean with the half width of its 95 % interval, and its range.

    The interval is None of fewer than five seeds; all are None if nothing was counted.
    """

    mean: Number
    ci95: Number
    least: Number
    greatest: Number


def spread(found: Sequence[Number]) -> Spread:
    """Summarise a number; seeds that counted nothing have none."""
    values = [float(value) for value in found if value is not None]
    if not values:
        return Spread(None, None, None, None)
    mean = math.fsum(values) / len(values)
    return Spread(mean, _core.half_width_95(values), min(values), max(values))


def over_seeds(results: Sequence[Result]) -> dict[tuple[str, str | None], Spread]:
    """Return every number of the results by metric and component."""
    found: dict[tuple[str, str | None], list[Number]] = {}
    for one in results:
        for entry in one.entries():
            found.setdefault((entry.metric, entry.component), []).append(entry.value)
    return {key: spread(values) for key, values in found.items()}


def as_json(texts: Sequence[str], results: Sequence[Result]) -> str:
    """Return seeds, means and all results as one object; each result keeps its bytes."""
    metrics: dict[str, dict[str, object]] = {}
    for (name, component), over in over_seeds(results).items():
        unit = next(one.metrics[name].unit for one in results if name in one.metrics)
        metric = metrics.setdefault(name, {"value": None, "ci95": None, "unit": unit})
        for key, number in (("value", over.mean), ("ci95", over.ci95)):
            _put(metric, key, component, number)
    told = json.dumps({"seeds": [one.seed for one in results], "metrics": metrics})
    return f'{told.removesuffix("}")}, "runs": [{", ".join(texts)}]}}'


def _put(metric: dict[str, object], key: str, component: str | None, number: Number) -> None:
    if component is None:
        metric[key] = number
        return
    parts = metric[key]
    if not isinstance(parts, dict):
        parts = metric[key] = {}
    parts[component] = number


def numbers_table(results: Sequence[Result]) -> TextTable:
    """Return every number of every seed, for programs."""
    rows = ((one.seed, *entry) for one in results for entry in one.entries())
    return TextTable((Column(None, key) for key in ("seed", *Entry._fields)), rows)


def overview(results: Sequence[Result], *, everything: bool) -> RenderableType:
    """Show means over the seeds, their intervals and ranges: the numbers that matter, or all."""
    first, seeds = results[0], [one.seed for one in results]
    over = over_seeds(results)
    table = TextTable(
        (
            Column("", least_width=34),
            *numbers("mean", "95 %", "least", "greatest"),
            Column("unit"),
        )
    )
    for title, entries in _groups(first, everything=everything):
        table.add_heading(title)
        for entry in entries:
            name = entry.metric if entry.component is None else f"{entry.metric}.{entry.component}"
            table.add(f"  {name}", *_row(entry, over[entry.metric, entry.component]))
    few = (
        [f"Fewer than {_LEAST_SEEDS} seeds give no interval."] if len(seeds) < _LEAST_SEEDS else []
    )
    return Group(
        Text(first.title, style="bold"),
        f"{len(seeds)} runs, seeds {seeds[0]} to {seeds[-1]}: means over the seeds, and where "
        "95 % of such means lie.",
        table,
        "",
        *few,
        *_unsettled(results),
        f"Took {sum(one.wall_s for one in results):.2f} s of simulation. One of them in words: "
        f"--seed {seeds[0]} without --repeats.",
    )


def _groups(first: Result, *, everything: bool) -> Iterator[tuple[str, Sequence[Entry]]]:
    if everything:
        yield from result_view.groups(first)
        yield from result_view.latencies_of_all(first)
        return
    for tenant in ("", *first.tenants()):
        title = f"Tenant {tenant}" if tenant else "Key numbers"
        yield title, list(first.key_numbers(tenant))


def _row(entry: Entry, over: Spread) -> list[str]:
    """Write a number of all seeds in the unit that fits its mean."""
    mean = quantity.text_beside(entry.metric, over.mean, over.ci95, entry.unit)
    if over.mean is None:
        return [mean.value, "", "", "", mean.unit]
    in_ns = entry.unit == "ns" and entry.metric.endswith("_ns")
    factor, _ = (1.0, "") if in_ns else quantity.scale(over.mean, entry.unit)
    ends = (_end(end or 0, factor, entry.unit) for end in (over.least, over.greatest))
    return [mean.value, mean.ci95, *ends, mean.unit]


def _end(value: float, factor: float, unit: str) -> str:
    """Write an end of a range in the unit of the mean; counts stay whole."""
    is_plain = factor == 1 and quantity.scale(value, unit)[0] == 1
    return quantity.text(value / factor, None, unit if is_plain else "").value


def _unsettled(results: Sequence[Result]) -> list[str]:
    unsettled = [str(one.seed) for one in results if not one.settled]
    if not unsettled:
        return []
    return [f"Not settled, so that they describe how it began: seeds {', '.join(unsettled)}."]
