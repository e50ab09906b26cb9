"""The report of a single run: the answer, figures, headline numbers, settings, every metric."""

from collections.abc import Iterator

from skipline.report import run_answer, run_figures, settings
from skipline.report.document import Document, Markup, card, cards, escape
from skipline.report.fitted import fitted_table, testbed_table
from skipline.runs import descriptor_replay_view, result_view
from skipline.runs.result import Entry, Result
from skipline.runs.result_view import groups, readable, run_facts
from skipline.text import quantity

_UNSETTLED = (
    "This run has not settled: its metrics describe how it began. Raise run.max_batches before "
    "you rely on them."
)


def page(result: Result) -> str:
    """Return the HTML page of a run."""
    document = Document(result.title, "run")
    question = str(result.scenario.get("question") or "")
    document.head(question, run_answer.of_run(result), _facts(result))
    if not result.settled:
        document.add(f'<p class="warning">{escape(_UNSETTLED)}</p>')
    _replays(document, result)
    document.figures(run_figures.first_figures(result))
    document.add(cards(_headlines(result)))
    if further := run_figures.more_figures(result):
        document.heading("What explains it")
        document.figures(further)
    settings.add(document, result)
    document.heading(
        "Metrics", "All are simulated, each with the half width of its 95 % interval in this run."
    )
    document.add(f'<div class="blocks">{"".join(_blocks(document, result))}</div>')
    document.heading("How it ran")
    # Notes stand beside the settings that they are about.
    notes = set(result_view.notes(result))
    for line in (*run_facts(result), result_view.slice_function_in_full(result)):
        if line not in notes:
            document.add(f"<p>{escape(line)}</p>")
    testbeds = [result.testbed] if result.testbed else []
    document.add(fitted_table(document, result.fitted_parameters, testbeds))
    for testbed in testbeds:
        document.add(testbed_table(document, testbed))
    return document.render()


def _replays(document: Document, result: Result) -> None:
    """Show the logs of descriptors that were replayed, engines beside cores."""
    view = descriptor_replay_view
    for replay in result.replays:
        document.heading(view.title(result, replay), view.ABOUT)
        table = view.table(replay)
        caption = "Engines beside cores."
        header, numeric = table.headings(), table.numeric()
        document.add(document.table(header, table.texts(), caption, numeric))
        for note in replay.notes:
            document.add(f"<p>{escape(note)}.</p>")


def _facts(result: Result) -> str:
    return (
        f"Simulated on {result.platform}, seed {result.seed}, Skipline {result.version}. Nothing "
        "here is measured."
    )


def _blocks(document: Document, result: Result) -> Iterator[str]:
    header = ["metric", "value", "95 %", "unit"]
    for title, entries in [*groups(result), *result_view.latencies(result)]:
        yield document.table(header, _rows(result, entries), f"{title}.", [1])


def _headlines(result: Result) -> Iterator[str]:
    for name in result.all_headlines():
        for entry in result.metrics[name].entries(name):
            if entry.component is None:
                text = quantity.text(entry.value, entry.ci95, entry.unit)
                label, tenant = result.description(name).label, result.tenant_of(name)
                whose = tenant or ("whole machine" if result.tenants() else "")
                label = f"{whose}: {label}" if whose else label
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
