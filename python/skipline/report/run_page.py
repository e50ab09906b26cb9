"""The report of a single run: headline numbers, figures, every metric."""

import json
from collections.abc import Iterator

from skipline import quantity, result_view
from skipline.report import run_figures
from skipline.report.document import Document, card, cards, details, escape, table
from skipline.report.fitted import fitted_table
from skipline.result import Entry, Result
from skipline.result_view import groups, run_facts

_HEADLINES = {
    "pcie_write_hit_rate": "PCIe write hit rate",
    "pcie_read_hit_rate": "PCIe read hit rate",
    "throughput_gbps": "Throughput on the wire",
    "dram_read_gbytes_per_s": "DRAM reads",
    "dram_write_gbytes_per_s": "DRAM writes",
}


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
    latency = result_view.latencies(result)
    apart = [("Latency", latency)] if latency else []
    for title, entries in [*groups(result), *apart]:
        rows = table(["metric", "value", "95 %", "unit"], _rows(entries), [1])
        yield f"<section><h3>{escape(title)}</h3>{rows}</section>"


def _headlines(result: Result) -> list[str]:
    entries = []
    for name, label in _HEADLINES.items():
        if name in result.metrics:
            for entry in result.metrics[name].entries(name):
                text = quantity.text(entry.value, entry.ci95, entry.unit)
                entries.append(card(label, f"{text.value} {text.unit}", text.ci95))
    return entries


def _rows(entries: list[Entry]) -> list[list[object]]:
    rows: list[list[object]] = []
    for entry in entries:
        label = entry.metric if entry.component is None else f"{entry.metric}.{entry.component}"
        rows.append([label, *quantity.text(entry.value, entry.ci95, entry.unit)])
    return rows
