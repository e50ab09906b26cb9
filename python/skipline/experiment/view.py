"""An experiment in the terminal: definition, table, verdicts."""

import itertools

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from skipline.experiment.catalogue import Entry
from skipline.experiment.checks import Verdict
from skipline.experiment.outcome import Outcome
from skipline.experiment.points import Point
from skipline.experiment.table import Comparison, comparisons

_FAR_ERROR = {"percent": 8.0}


def listing(entries: list[Entry]) -> RenderableType:
    """List experiments with their number of points and their question."""
    table = Table(box=None, pad_edge=False)
    for name in ("experiment", "points", "question"):
        table.add_column(name, justify="right" if name == "points" else "left")
    for entry in entries:
        table.add_row(entry.identifier, str(point_count(entry)), entry.experiment.question)
    return Group(table, "", "skipline experiment run ID: simulate all points beside the measured")


def point_count(entry: Entry) -> int:
    """Count the combinations of the axes."""
    count = 1
    for axis in entry.experiment.axis:
        count *= len(axis.values)
    return count


def definition(entry: Entry, points: list[Point]) -> RenderableType:
    """Show what an experiment asks, varies, compares and demands."""
    experiment = entry.experiment
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    table.add_row("question", experiment.question)
    table.add_row("source", experiment.source)
    table.add_row("scenario", entry.scenario_path)
    for axis in experiment.axis:
        table.add_row(f"axis {axis.key}", ", ".join(str(value) for value in axis.values))
    for key, value in experiment.fixed.items():
        table.add_row(f"fixed {key}", str(value))
    for key, metric in experiment.reference.inputs.items():
        table.add_row(f"measured {key}", f"each point's own {metric}")
    fitted = sum(point.basis == "fitted" for point in points)
    table.add_row("points", f"{len(points)}: {fitted} fitted, {len(points) - fitted} predicted")
    table.add_row("compared", ", ".join(metric.name for metric in experiment.metric))
    table.add_row("reference", f"{entry.reference_path}: {experiment.reference.source}")
    for check in experiment.check:
        table.add_row(
            f"check {check.name}", f"{check.text}: at most {check.at_most:g} {check.unit}"
        )
    return Group(Text(experiment.title, style="bold cyan"), table)


def overview(outcome: Outcome, notes: list[str]) -> RenderableType:
    """Show measured beside predicted, then verdicts, trivial predictors, fitted parameters."""
    summary = outcome.summary
    fitted = "; ".join(f"{p.key} (on {p.fitted_on})" for p in summary.fitted_parameters)
    return Group(
        Text(summary.experiment.title, style="bold cyan"),
        summary.experiment.question,
        "",
        comparison_table(outcome),
        "",
        *(verdict_line(verdict) for verdict in summary.verdicts),
        "",
        *_trivial_lines(outcome),
        "",
        f"Fitted parameters: {fitted or 'none'}.",
        f"Platform {summary.platform}, seed {summary.seed}, version {summary.version}.",
        *notes,
    )


def comparison_table(outcome: Outcome) -> Table:
    """Return one row per point: for each metric measured, simulated with interval, error."""
    experiment = outcome.summary.experiment
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for axis in experiment.axis:
        table.add_column(axis.short_label.replace(" ", "\n"), justify="right")
    for metric in experiment.metric:
        table.add_column(f" {metric.short_label}\nmeasured", justify="right", no_wrap=True)
        table.add_column("\nsimulated", justify="right", no_wrap=True)
        table.add_column("\nerror", justify="right", no_wrap=True)
    table.add_column("\nbasis", no_wrap=True)
    names = [metric.name for metric in experiment.metric]
    rows = comparisons(outcome.table, outcome.axes, names)
    previous: object = None
    for _, group in itertools.groupby(rows, key=lambda row: row.axes):
        by_name = {row.metric: row for row in group}
        first = next(iter(by_name.values()))
        values = list(first.axes.values())
        if len(values) > 1 and previous not in (None, values[0]):
            table.add_row()
        previous = values[0]
        cells = [cell for name in names for cell in _cells(by_name[name])]
        table.add_row(*(str(value) for value in values), *cells, first.basis)
    return table


def _cells(row: Comparison) -> list[RenderableType]:
    simulated = Text(f"{row.predicted:.1f}")
    if row.ci95 is not None:
        simulated.append(f" ± {row.ci95:.1f}", style="dim")
    error = Text(f"{row.error:+.1f}")
    if abs(row.error) > _FAR_ERROR.get(row.unit, abs(row.measured) / 10):
        error.stylize("bold red")
    return [f"{row.measured:.1f}", simulated, error]


def verdict_line(verdict: Verdict) -> Text:
    """Tell in one line how a check came out and where it was worst."""
    word, style = ("holds", "bold green") if verdict.holds else ("FAILS", "bold red")
    place = ", ".join(f"{key} {value}" for key, value in verdict.worst_point.items())
    return Text.assemble(
        (f"{word:6}", style),
        f"{verdict.text}: {verdict.value:.2f} {verdict.unit}, at most {verdict.at_most:g} "
        f"({verdict.numbers} numbers; worst {verdict.worst_error:+.1f}: {verdict.worst_metric} at "
        f"{place})",
    )


def _trivial_lines(outcome: Outcome) -> list[str]:
    scores = outcome.summary.trivial
    if not scores:
        return []
    lines = ["Trivial predictors on the points of the first line, mean absolute error:"]
    for score in scores:
        fitted = f"  (fitted on {score.fitted_on})" if score.fitted_on else ""
        lines.append(f"  {score.value:5.2f}  {score.text}{fitted}")
    return lines
