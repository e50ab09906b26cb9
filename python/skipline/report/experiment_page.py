"""The report of an experiment: measured beside simulated."""

import itertools
from collections.abc import Sequence

from skipline import quantity
from skipline.experiment.checks import BASES, GroupError, Verdict
from skipline.experiment.outcome import Outcome
from skipline.experiment.table import Comparison
from skipline.experiment.trivial import TrivialScore
from skipline.report import figures
from skipline.report.chart_style import basis_legend, legend
from skipline.report.document import Document, Markup, card, cards, details, escape, table
from skipline.report.fitted import fitted_table


def page(outcome: Outcome) -> str:
    """Return the HTML page of an experiment."""
    summary = outcome.summary
    experiment = summary.experiment
    document = Document(experiment.title)
    document.add(f"<h1>{escape(experiment.title)}</h1>")
    document.add(f'<p class="question">{escape(experiment.question)}</p>')
    document.add(f'<p class="facts">{escape(_facts(outcome))}</p>')
    document.add(cards(_headlines(outcome)))
    _add_figures(document, outcome)
    _add_errors(document, outcome)
    _add_scatter(document, outcome)
    _add_fitted(document, outcome)
    _add_numbers(document, outcome)
    _add_provenance(document, outcome)
    return document.render()


def _facts(outcome: Outcome) -> str:
    summary = outcome.summary
    return (
        f"{summary.experiment.source}. Simulated {summary.platform}, scenario {summary.scenario}, "
        f"{summary.points} points, version {summary.version}, {outcome.seeds}."
    )


def _headlines(outcome: Outcome) -> list[str]:
    summary = outcome.summary
    entries = [
        card(
            f"{verdict.text}, {group.basis} points",
            f"{group.value:.1f} {verdict.unit}",
            f"{'within' if group.value <= verdict.at_most else 'beyond'} the limit of "
            f"{verdict.at_most:g}; {group.numbers} numbers",
            "good" if group.value <= verdict.at_most else "bad",
        )
        for verdict in summary.verdicts
        for group in verdict.groups
    ]
    rate = summary.line_ops / summary.wall_s / 1e6 if summary.wall_s else 0.0
    entries.append(
        card(
            "Simulation time, sum of all points",
            f"{summary.wall_s:.1f} s",
            f"{rate:.0f} million line operations per second",
        )
    )
    return entries


def _add_figures(document: Document, outcome: Outcome) -> None:
    experiment, rows = outcome.summary.experiment, outcome.rows
    if not experiment.panel_axes:
        document.heading(f"Against {experiment.x_axis.label}")
        panels = [
            panel
            for metric in experiment.metric
            for panel in figures.along_x(experiment, metric.name, rows)
        ]
        document.panels(panels, legend({row.basis for row in rows}, experiment.repeats))
        return
    for metric in experiment.metric:
        document.heading(metric.label)
        panels = figures.along_x(experiment, metric.name, rows)
        document.panels(panels, legend({row.basis for row in rows}, experiment.repeats))


def _add_scatter(document: Document, outcome: Outcome) -> None:
    experiment, rows = outcome.summary.experiment, outcome.rows
    document.heading(
        "Simulated against measured",
        "On the dashed line the simulation is right. Horizontal bars: lowest to highest run.",
    )
    units = {row.metric: row.unit for row in rows}
    by_unit = itertools.groupby(sorted(units, key=lambda name: units[name]), lambda n: units[n])
    groups = sorted((list(group) for _, group in by_unit), key=len, reverse=True)
    panels = [figures.scatter(experiment, group, rows) for group in groups]
    document.panels(panels, basis_legend({row.basis for row in rows}))


def _add_errors(document: Document, outcome: Outcome) -> None:
    summary = outcome.summary
    document.heading(
        "Errors, and what the model has to beat",
        "Points whose measured values helped to choose a parameter are fitted; all others are "
        "predicted. The trivial predictors know only sizes: a ring is its descriptors × the cache "
        "lines of a packet × 64 B. Their one constant is chosen to fit the points that they are "
        "judged on.",
    )
    yardstick = summary.experiment.trivial
    for verdict in summary.verdicts:
        scores = summary.trivial if yardstick and yardstick.check == verdict.name else []
        document.add(f"<h3>{escape(verdict.text)}</h3>")
        document.add(f"<p>{_limit(verdict)}</p>")
        document.add(_error_table(verdict, scores))
        for group in verdict.groups:
            document.add(f'<p class="dim">{escape(_furthest(verdict, group))}</p>')


def _limit(verdict: Verdict) -> str:
    word, mood = ("holds", "good-text") if verdict.holds else ("fails", "bad-text")
    limit = f"at most {verdict.at_most:g} {escape(verdict.unit)} allowed in each group"
    return f'<span class="{mood}">{word}</span>: {limit}'


def _error_table(verdict: Verdict, scores: Sequence[TrivialScore]) -> str:
    groups = [verdict.group(basis) for basis in BASES]
    rows: list[list[object]] = [
        [
            Markup("<b>this simulation</b>"),
            *(f"{group.value:.2f}" if group else "–" for group in groups),
            f"{verdict.value:.2f}",
        ]
    ]
    for score in scores:
        values = [score.by_basis.get(basis) for basis in BASES]
        cells = ["–" if value is None else f"{value:.2f}" for value in values]
        rows.append([score.text, *cells, f"{score.value:.2f}"])
    counts = [str(group.numbers) if group else "0" for group in groups]
    rows.append(["numbers compared", *counts, str(verdict.numbers)])
    unit = verdict.unit
    header = [f"error, {unit}", "fitted points", "predicted points", "all points"]
    return table(header, rows, [1, 2, 3])


def _furthest(verdict: Verdict, group: GroupError) -> str:
    return (
        f"Furthest off of the {group.basis} points: {group.worst_error:+.1f} {verdict.unit}, "
        f"{group.worst_text}."
    )


def _add_fitted(document: Document, outcome: Outcome) -> None:
    document.heading(
        "Fitted parameters",
        "One set of parameters for all points. Those that no source gives were chosen to match "
        "measured data.",
    )
    document.add(fitted_table(outcome.summary.fitted_parameters))


def _add_numbers(document: Document, outcome: Outcome) -> None:
    experiment = outcome.summary.experiment
    document.heading("Numbers")
    for metric in experiment.metric:
        chosen = [row for row in outcome.rows if row.metric == metric.name]
        unit = figures.unit_text(chosen[0].unit)
        header = [axis.label + (f", {axis.unit}" if axis.unit else "") for axis in experiment.axis]
        header += [f"measured, {unit}", "sd", "lowest run", "highest run"]
        header += [f"simulated, {unit}", "95 % interval", "error", "basis"]
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


def _add_provenance(document: Document, outcome: Outcome) -> None:
    summary = outcome.summary
    reference = summary.experiment.reference
    inputs = "".join(
        f" Each point's {key} is what was measured there ({metric})."
        for key, metric in reference.inputs.items()
    )
    document.heading("Where this comes from")
    document.add(f"<p>Measured: {escape(reference.source)} ({escape(reference.file)}).</p>")
    document.add(
        f"<p>Simulated: Skipline {escape(summary.version)}, platform {escape(summary.platform)}, "
        f"scenario {escape(summary.scenario)}, {outcome.seeds}.{escape(inputs)}</p>"
        f"<p>Slice function: {escape(summary.slice_function)}.</p>"
        "<p>The same command gives the same numbers:</p>"
        f"<pre>{escape(summary.command)}</pre>"
    )
