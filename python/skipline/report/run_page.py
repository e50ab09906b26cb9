"""The report of a single run: headline numbers, figures, every metric."""

import json
from collections.abc import Iterator

from skipline import quantity, result_view
from skipline.report import run_figures
from skipline.report.document import Document, Markup, card, cards, details, escape, table
from skipline.report.fitted import fitted_table
from skipline.result import Entry, Result
from skipline.result_view import groups, readable, run_facts


def page(result: Result) -> str:
    """Return the HTML page of a run."""
    document = Document(result.title)
    document.add(f"<h1>{escape(result.title)}</h1>")
    document.add(f'<p class="facts">{escape(run_facts(result)[2])}</p>')
    document.add(cards(_headlines(result)))
    document.heading("Figures")
    document.panels(run_figures.panels(result))
    document.heading("Metrics", "Each with the half width of its 95 % interval.")
    document.add(f'<div class="blocks">{"".join(_blocks(result))}</div>')
    document.heading("How it ran")
    for line in run_facts(result)[:-1]:
        document.add(f"<p>{escape(line)}</p>")
    document.add(fitted_table(result.fitted_parameters))
    scenario = f"<pre>{escape(json.dumps(result.scenario, indent=2))}</pre>"
    document.add(details("The scenario with all defaults", scenario))
    return document.render()


def _blocks(result: Result) -> Iterator[str]:
    for title, entries in [*groups(result), *result_view.latencies(result)]:
        rows = table(["metric", "value", "95 %", "unit"], _rows(result, entries), [1])
        yield f"<section><h3>{escape(title)}</h3>{rows}</section>"


def _headlines(result: Result) -> Iterator[str]:
    for name in result.headlines():
        for entry in result.metrics[name].entries(name):
            if entry.component is None:
                text = quantity.text(entry.value, entry.ci95, entry.unit)
                label = result.description(name).label
                yield card(label, f"{text.value} {text.unit}", text.ci95)


def _rows(result: Result, entries: list[Entry]) -> list[list[object]]:
    return [
        [_name(result, entry), *quantity.text(entry.value, entry.ci95, entry.unit)]
        for entry in entries
    ]


def _name(result: Result, entry: Entry) -> Markup:
    """Write the label of a number; its name in results shows as a tooltip."""
    label, name = result.description(entry.metric).label, entry.metric
    if entry.component is not None:
        label, name = f"{label}, {readable(entry.component)}", f"{name}.{entry.component}"
    return Markup(f'<span title="{escape(name)}">{escape(label)}</span>')
