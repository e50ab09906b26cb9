"""The report of an experiment: measured beside simulated."""

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from skipline.experiment.checks import BASES, ErrorVerdict, GroupError
from skipline.experiment.claim import ClaimCheckVerdict, ClaimVerdict, got_text, number_text
from skipline.experiment.outcome import Outcome
from skipline.experiment.table import Comparison, Simulated
from skipline.experiment.trivial import TrivialScore
from skipline.model_error import view as model_error_view
from skipline.report import answers, captions, claim_figures, figures
from skipline.report.document import Document, Markup, Panel, card, cards, details, escape
from skipline.report.fitted import fitted_table, testbed_table
from skipline.report.legends import basis_legend, legend
from skipline.text import quantity


def page(outcome: Outcome) -> str:
    """Return the HTML page of an experiment."""
    summary = outcome.summary
    document = Document(summary.experiment.title, "experiment")
    document.head(summary.experiment.question, answers.of_experiment(outcome), _facts(outcome))
    first, *others = metric_figures(outcome)
    add_figure(document, first)
    document.add(cards(_headlines(outcome)))
    for figure in others:
        add_figure(document, figure)
    add_claims(document, outcome)
    _add_predictions(document, outcome)
    if summary.verdicts:
        _add_errors(document, outcome)
    if any(row.measured_runs for row in outcome.rows):
        _add_scatter(document, outcome)
    _add_fitted(document, outcome)
    _add_numbers(document, outcome)
    _add_provenance(document, outcome)
    return document.render()


def _facts(outcome: Outcome) -> str:
    summary = outcome.summary
    unsettled = f" {outcome.unsettled}." if outcome.unsettled else ""
    return (
        f"{summary.experiment.source}. Simulated {summary.platform}, scenario {summary.scenario}, "
        f"{summary.points} points, version {summary.version}, {outcome.seeds}.{unsettled}"
    )


def _headlines(outcome: Outcome) -> list[str]:
    summary = outcome.summary
    entries = [
        card(
            f"{verdict.text}, {group.basis}",
            f"{group.value:.1f} {verdict.unit}",
            f"{'within' if group.value <= verdict.at_most else 'beyond'} the limit of "
            f"{verdict.at_most:g}; {_numbers(group.numbers)}",
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


def _numbers(count: int) -> str:
    return "1 number" if count == 1 else f"{count} numbers"


def add_claims(document: Document, outcome: Outcome, level: int = 2) -> None:
    """Append the claims that the experiment judges: figure of expected and got, and table."""
    claims = outcome.summary.claims
    if not claims:
        return
    document.heading("Claims of the source", "A claim holds when all its checks do.", level=level)
    panels = claim_figures.against_expected(claims)
    if panels:
        caption = captions.claims(outcome)
        document.figure(panels, caption, claim_figures.legend(), columns=2)
    document.add(_claims_table(document, claims))


def _claims_table(document: Document, claims: Sequence[ClaimVerdict]) -> str:
    """Return every check of every claim: expected, got, verdict, basis."""
    rows: list[list[object]] = []
    for claim in claims:
        for index, check in enumerate(claim.checks):
            name = claim_name(claim.id) if index == 0 else ""
            verdict = verdict_markup(check.word)
            numbers = [check.expected, got_text(check), verdict, check.basis]
            rows.append([name, check.text, *numbers, null_text(check), check.source])
    header = ["claim", "check", "expected", "got", "verdict", "basis", "fails in", "source"]
    caption = "Checks of the claims: expected by the source, got by simulation."
    return document.table(header, rows, caption, stacked=True)


def null_text(check: ClaimCheckVerdict) -> str:
    """Name the null model in which a check fails."""
    return "no null model: weak alone" if check.is_weak else check.refuted_by or "–"


def claim_name(identifier: str, anchor: str = "") -> Markup:
    """Write a claim's identifier on one line, as the target of links if it has an anchor."""
    target = f' id="{escape(anchor)}"' if anchor else ""
    return Markup(f'<span{target} class="claim">{escape(identifier)}</span>')


def verdict_markup(verdict: str) -> Markup:
    """Write a verdict in its colour."""
    mood = {"holds": "good-text", "fails": "bad-text"}.get(verdict, "dim")
    return Markup(f'<span class="{mood}">{escape(verdict)}</span>')


@dataclass(frozen=True)
class MetricFigure:
    """The panels of one metric, or of all of them where each has one panel."""

    heading: str
    panels: list[Panel]
    caption: str
    key: str


# The page of all claims shows what the experiment's own page does: drawing takes most of its time.
@functools.lru_cache(maxsize=128)
def metric_figures(outcome: Outcome) -> list[MetricFigure]:
    """Draw all metrics along the experiment's x axis."""
    experiment, rows = outcome.summary.experiment, outcome.simulated
    if experiment.panel_axes:
        groups = [[metric] for metric in experiment.metric]
    else:
        groups = [experiment.metric]
    found = []
    for group in groups:
        names = {metric.name for metric in group}
        chosen = [row for row in rows if row.metric in names]
        labels = [metric.label for metric in group]
        found.append(
            MetricFigure(
                heading=labels[0] if len(labels) == 1 else f"Against {experiment.x_axis.label}",
                panels=[p for m in group for p in figures.along_x(experiment, m.name, rows)],
                caption=captions.along_x(outcome, labels, chosen),
                key=legend(chosen, outcome.summary.repeats),
            )
        )
    return [figure for figure in found if figure.panels]


def add_figure(document: Document, figure: MetricFigure, level: int = 2) -> None:
    """Append the figure of one or more metrics."""
    document.heading(figure.heading, level=level)
    document.figure(figure.panels, figure.caption, figure.key)


def _add_scatter(document: Document, outcome: Outcome) -> None:
    experiment = outcome.summary.experiment
    rows = [row for row in outcome.rows if row.measured_runs]
    document.heading(
        "Simulated against measured",
        "On the dashed line the simulation is right. Horizontal bars: lowest to highest run.",
    )
    units = {row.metric: row.unit for row in rows}
    by_unit = itertools.groupby(sorted(units, key=lambda name: units[name]), lambda n: units[n])
    groups = sorted((list(group) for _, group in by_unit), key=len, reverse=True)
    panels = [figures.scatter(experiment, group, rows) for group in groups]
    key = basis_legend({row.basis for row in rows})
    document.figure(panels, captions.scatter(outcome, rows), key)


def _add_errors(document: Document, outcome: Outcome) -> None:
    summary = outcome.summary
    document.heading(
        "Errors, and what the model has to beat",
        "A configuration (point) is fitted if its measured values helped to choose a parameter; "
        "all others are predicted. The trivial predictors know only sizes: a ring is its "
        "descriptors × the cache lines of a packet × 64 B. Their one constant is chosen to fit the "
        "configurations that they are judged on. pp: percentage points.",
    )
    yardstick = summary.experiment.trivial
    for verdict in summary.verdicts:
        scores = summary.trivial if yardstick and yardstick.check == verdict.name else []
        document.add(f"<h3>{escape(verdict.text)}</h3>")
        document.add(f"<p>{_limit(verdict)}</p>")
        document.add(_error_table(document, verdict, scores))
        for group in verdict.groups:
            document.add(f'<p class="dim">{escape(_furthest(verdict, group))}</p>')


def _limit(verdict: ErrorVerdict) -> str:
    word, mood = ("holds", "good-text") if verdict.holds else ("fails", "bad-text")
    limit = f"at most {verdict.at_most:g} {escape(verdict.unit)} allowed in each group"
    return f'<span class="{mood}">{word}</span>: {limit}'


def _error_table(document: Document, verdict: ErrorVerdict, scores: Sequence[TrivialScore]) -> str:
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
    header = [f"error, {unit}", "fitted", "predicted", "all"]
    caption = f"{verdict.text}, by basis of the configuration; smaller is better."
    return document.table(header, rows, caption, [1, 2, 3])


def _furthest(verdict: ErrorVerdict, group: GroupError) -> str:
    return (
        f"Largest error, {group.basis}: {group.worst_error:+.1f} {verdict.unit}, "
        f"{group.worst_text}."
    )


def _add_fitted(document: Document, outcome: Outcome) -> None:
    document.heading(
        "Fitted parameters",
        "One set of parameters for all points. Those that no source gives were chosen to match "
        "measured data. A claim is predicted only if no measurement of its own testbed chose one.",
    )
    summary = outcome.summary
    document.add(fitted_table(document, summary.fitted_parameters, summary.testbeds))
    for testbed in summary.testbeds:
        document.add(f"<h3>Testbed {escape(testbed.name)}</h3>")
        document.add(testbed_table(document, testbed))


def _add_numbers(document: Document, outcome: Outcome) -> None:
    experiment = outcome.summary.experiment
    document.heading("Numbers")
    for metric in experiment.metric:
        chosen = [row for row in outcome.simulated if row.metric == metric.name]
        unit = figures.unit_text(chosen[0].unit)
        header = [axis.label + (f", {axis.unit}" if axis.unit else "") for axis in experiment.axis]
        header += [f"published, {unit}", "sd", "lowest run", "highest run"]
        header += [f"simulated, {unit}", "95 % interval", "error", "basis"]
        body = [_number_row(row) for row in chosen]
        caption = f"{metric.label}: published beside simulated, error = simulated - published."
        markup = document.table(header, body, caption, range(len(header) - 1))
        document.add(details(f"{metric.label}: {len(chosen)} points", markup))


def _number_row(row: Simulated) -> list[object]:
    simulated = quantity.text(row.predicted, row.ci95, row.unit)
    measured, error = ["–"] * 4, "–"
    if isinstance(row, Comparison):
        spread = (row.measured_sd, row.measured_min, row.measured_max)
        runs = [f"{value:.2f}" for value in spread] if row.measured_runs else ["–"] * 3
        measured, error = [f"{row.measured:.2f}", *runs], f"{row.error:+.2f}"
    return [*row.axes.values(), *measured, simulated.value, simulated.ci95, error, row.basis]


def _add_predictions(document: Document, outcome: Outcome) -> None:
    registered = outcome.summary.experiment.registered
    if registered is None:
        return
    document.heading(
        "Predictions",
        f"Registered on {registered.on.isoformat()}, before anybody measured them. To measure: "
        f"{registered.how_to_measure}.",
    )
    header = ["prediction", "says", "90 % bounds", "this version"]
    rows: list[list[object]] = [
        [
            one.text,
            number_text(one.predicted, one.unit),
            f"{number_text(one.low)} to {number_text(one.high, one.unit)}",
            number_text(one.now, one.unit),
        ]
        for one in outcome.summary.predictions
    ]
    caption = "What was registered, and what this version gives."
    document.add(document.table(header, rows, caption, [1, 2, 3]))


def _add_provenance(document: Document, outcome: Outcome) -> None:
    summary = outcome.summary
    reference = summary.experiment.reference
    document.heading("Where this comes from")
    inputs = ""
    if reference is not None:
        inputs = "".join(
            f" Each point's {key} is what was measured there ({metric})."
            for key, metric in reference.inputs.items()
        )
        file = f" ({escape(reference.file)})" if reference.file else ""
        document.add(f"<p>Published: {escape(reference.source)}{file}.</p>")
    document.add(
        f"<p>Simulated: Skipline {escape(summary.version)}, platform {escape(summary.platform)}, "
        f"scenario {escape(summary.scenario)}, {outcome.seeds}.{escape(inputs)}</p>"
        f"<p>Slice function: {escape(summary.slice_function)}.</p>"
        f"<p>{escape(model_error_view.general())}</p>"
        "<p>The same command gives the same numbers:</p>"
        f"<pre>{escape(summary.command)}</pre>"
    )
