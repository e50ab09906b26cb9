"""The report of an experiment: measured beside simulated."""

import itertools

from skipline import quantity
from skipline.experiment.checks import Verdict
from skipline.experiment.outcome import Outcome
from skipline.experiment.table import Comparison, comparisons
from skipline.report import figures
from skipline.report.chart_style import legend
from skipline.report.document import Document, Markup, card, cards, details, escape, table


def page(outcome: Outcome) -> str:
    """Return the HTML page of an experiment."""
    summary = outcome.summary
    experiment = summary.experiment
    names = [metric.name for metric in experiment.metric]
    rows = comparisons(outcome.table, outcome.axes, names)
    document = Document(experiment.title)
    document.add(f"<h1>{escape(experiment.title)}</h1>")
    document.add(f'<p class="question">{escape(experiment.question)}</p>')
    document.add(f'<p class="facts">{escape(_facts(outcome))}</p>')
    document.add(cards(_headlines(outcome)))
    _add_figures(document, outcome, rows)
    _add_scatter(document, outcome, rows)
    _add_yardstick(document, outcome)
    _add_fitted(document, outcome)
    _add_numbers(document, outcome, rows)
    _add_provenance(document, outcome)
    return document.render()


def _facts(outcome: Outcome) -> str:
    summary = outcome.summary
    return (
        f"{summary.experiment.source}. Simulated {summary.platform}, scenario {summary.scenario}, "
        f"{summary.points} points, version {summary.version}, seed {summary.seed}."
    )


def _headlines(outcome: Outcome) -> list[str]:
    summary = outcome.summary
    entries = [
        card(
            verdict.text,
            f"{verdict.value:.1f} {verdict.unit}",
            f"{'holds' if verdict.holds else 'fails'}: at most {verdict.at_most:g} allowed, "
            f"{verdict.numbers} numbers",
            "good" if verdict.holds else "bad",
        )
        for verdict in summary.verdicts
    ]
    if summary.trivial:
        best = min(summary.trivial, key=lambda score: score.value)
        detail = f"mean absolute error, {'fitted to these points' if best.fitted_on else best.text}"
        entries.append(card("Best trivial predictor", f"{best.value:.1f} points", detail))
    rate = summary.line_ops / summary.wall_s / 1e6 if summary.wall_s else 0.0
    entries.append(
        card(
            "Simulation time, all points on one core",
            f"{summary.wall_s:.1f} s",
            f"{rate:.0f} million line operations per second",
        )
    )
    return entries


def _add_figures(document: Document, outcome: Outcome, rows: list[Comparison]) -> None:
    experiment = outcome.summary.experiment
    if not experiment.panel_axes:
        document.heading(f"Against {experiment.x_axis.label}")
        panels = [
            panel
            for metric in experiment.metric
            for panel in figures.along_x(experiment, metric.name, rows)
        ]
        document.panels(panels, legend())
        return
    for metric in experiment.metric:
        document.heading(metric.label)
        document.panels(figures.along_x(experiment, metric.name, rows), legend())


def _add_scatter(document: Document, outcome: Outcome, rows: list[Comparison]) -> None:
    experiment = outcome.summary.experiment
    document.heading(
        "Simulated against measured",
        "On the dashed line the simulation is right. Horizontal bars: lowest to highest run.",
    )
    units = {row.metric: row.unit for row in rows}
    by_unit = itertools.groupby(sorted(units, key=lambda name: units[name]), lambda n: units[n])
    groups = sorted((list(group) for _, group in by_unit), key=len, reverse=True)
    document.panels([figures.scatter(experiment, group, rows) for group in groups])


def _add_yardstick(document: Document, outcome: Outcome) -> None:
    summary = outcome.summary
    if not summary.trivial or summary.experiment.trivial is None:
        return
    name = summary.experiment.trivial.check
    verdict = next(verdict for verdict in summary.verdicts if verdict.name == name)
    document.heading("What the model has to beat", f"{verdict.text}.")
    rows: list[list[object]] = [[Markup("<b>this simulation</b>"), f"{verdict.value:.2f}", ""]]
    rows += [[score.text, f"{score.value:.2f}", score.fitted_on or ""] for score in summary.trivial]
    document.add(table(["predictor", "error, points", "its constant was fitted on"], rows, [1]))


def _add_fitted(document: Document, outcome: Outcome) -> None:
    summary = outcome.summary
    basis = outcome.table.group_by("basis").agg().to_series().to_list()
    lead = (
        "Every point is a prediction: no measured value of this experiment chose a parameter."
        if basis == ["predicted"] and not summary.fitted_parameters
        else "A parameter chosen by fitting is listed with the data that chose it. Points marked "
        "fitted took part in such a choice; all others are predictions."
    )
    document.heading("Fitted and predicted", lead)
    rows = [[p.key, p.value, p.unit or "", p.fitted_on] for p in summary.fitted_parameters]
    if rows:
        document.add(table(["parameter", "value", "unit", "fitted on"], rows, [1]))
    else:
        document.add("<p>No parameter of the platform was fitted.</p>")


def _add_numbers(document: Document, outcome: Outcome, rows: list[Comparison]) -> None:
    experiment = outcome.summary.experiment
    document.heading("Numbers")
    for verdict in outcome.summary.verdicts:
        document.add(f"<p>{_verdict(verdict)}</p>")
    for metric in experiment.metric:
        chosen = [row for row in rows if row.metric == metric.name]
        unit = figures.unit_text(chosen[0].unit)
        header = [axis.label for axis in experiment.axis]
        header += [f"measured, {unit}", "sd", "lowest", "highest", "simulated", "95 %", "error", ""]
        body = [_number_row(row) for row in chosen]
        markup = table(header, body, range(len(header) - 1))
        document.add(details(f"{metric.label}: {len(chosen)} points", markup))


def _number_row(row: Comparison) -> list[object]:
    simulated = quantity.text(row.predicted, row.ci95, row.unit)
    measured = (row.measured, row.measured_sd, row.measured_min, row.measured_max)
    return [
        *row.axes.values(),
        *(f"{value:.2f}" for value in measured),
        simulated.value,
        simulated.ci95,
        f"{row.error:+.2f}",
        row.basis,
    ]


def _verdict(verdict: Verdict) -> str:
    word, mood = ("holds", "good-text") if verdict.holds else ("fails", "bad-text")
    place = ", ".join(f"{key} {value}" for key, value in verdict.worst_point.items())
    return (
        f'<span class="{mood}">{word}</span> {escape(verdict.text)}: {verdict.value:.2f} '
        f"{escape(verdict.unit)}, at most {verdict.at_most:g}. "
        f'<span class="dim">Worst: {escape(verdict.worst_metric)} at {escape(place)}, '
        f"{verdict.worst_error:+.1f}.</span>"
    )


def _add_provenance(document: Document, outcome: Outcome) -> None:
    summary = outcome.summary
    reference = summary.experiment.reference
    document.heading("Where this comes from")
    document.add(f"<p>Measured: {escape(reference.source)} ({escape(reference.file)}).</p>")
    document.add(
        f"<p>Simulated: Skipline {escape(summary.version)}, platform {escape(summary.platform)}, "
        f"scenario {escape(summary.scenario)}, seed {summary.seed}. The same command gives the "
        f"same numbers:</p><pre>{escape(summary.command)}</pre>"
    )
