"""An experiment in the terminal: definition, table, verdicts."""

import itertools
import tomllib
from collections.abc import Sequence

from rich.console import Group, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

from skipline import resources
from skipline.experiment import finding, together
from skipline.experiment.catalogue import Entry
from skipline.experiment.checks import BASES, ErrorVerdict
from skipline.experiment.claim import ClaimVerdict, got_text, number_text
from skipline.experiment.definition import Axis
from skipline.experiment.outcome import Outcome, Summary
from skipline.experiment.points import Point, combinations
from skipline.experiment.prediction import PredictionNow
from skipline.experiment.table import Comparison, Simulated
from skipline.experiment.together import Together
from skipline.text import terminal

# Least terminal width at which intervals are shown.
_WIDE = 108
# Columns of numbers up to which intervals are shown, and the width that a case's name keeps.
_MOST_WIDE_COLUMNS = 9
_CASE_WIDTH = 24
_LEAST_INTERVAL = 0.1
_LEAST_NUMBER = 0.001
_FAR_ERROR = {"percent": 8.0}


def listing(entries: list[Entry]) -> RenderableType:
    """List experiments with their source, their number of points and their question."""
    table = Table(box=None, pad_edge=False)
    for name in ("experiment", "source", "points", "question"):
        table.add_column(name, justify="right" if name == "points" else "left")
    for entry in entries:
        source, points = finding.short_source(entry), str(point_count(entry))
        table.add_row(entry.identifier, source, points, entry.experiment.question)
    return Group(
        table,
        "",
        "skipline experiment list figure 10 of atc20: those with these words",
        "skipline experiment run ID: simulate all points, beside measured values",
    )


def point_count(entry: Entry) -> int:
    """Count the combinations of the axes that are simulated."""
    return len(combinations(entry.experiment))


def definition(entry: Entry, points: list[Point]) -> RenderableType:
    """Show what an experiment asks, varies, compares and demands."""
    experiment = entry.experiment
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    table.add_row("question", experiment.question)
    table.add_row("source", experiment.source)
    table.add_row("scenario", entry.scenario_path)
    for name in testbeds(points):
        table.add_row("testbed", name)
    for axis in experiment.axis:
        table.add_row(f"axis {axis.key}", ", ".join(str(value) for value in axis.coordinates))
    for key, value in experiment.fixed.items():
        table.add_row(f"fixed {key}", str(value))
    for key, metric in experiment.reference.inputs.items() if experiment.reference else ():
        table.add_row(f"measured {key}", f"each point's own {metric}, the median")
    fitted = sum(point.basis == "fitted" for point in points)
    table.add_row("points", f"{len(points)}: {fitted} fitted, {len(points) - fitted} predicted")
    if experiment.repeats > 1:
        most = experiment.most_repeats
        more = f", up to {most} while a claim is undecided" if most else ""
        table.add_row("repeats", f"{experiment.repeats} per point, each with its own seed{more}")
    table.add_row("compared", ", ".join(metric.name for metric in experiment.metric))
    if experiment.reference is not None:
        where = entry.reference_path or "stated"
        table.add_row("reference", f"{where}: {experiment.reference.source}")
    for check in experiment.check:
        table.add_row(
            f"check {check.name}", f"{check.text}: at most {check.at_most:g} {check.unit}"
        )
    for claim in experiment.claim:
        for demand in claim.check:
            table.add_row(f"claim {claim.id}", f"{demand.text}: {demand.expectation}")
    return Group(Text(experiment.title, style="bold cyan"), table)


def testbeds(points: list[Point]) -> list[str]:
    """Return the testbeds that the scenarios of points name, each once."""
    scenarios = dict.fromkeys(point.scenario for point in points)
    tables = (tomllib.loads(resources.read_keys(path)) for path in scenarios)
    return list(dict.fromkeys(table["testbed"] for table in tables if "testbed" in table))


def overview(outcomes: list[Outcome], notes: list[tuple[str, str]]) -> RenderableType:
    """Show measured beside simulated, then the errors, what was fitted, and where it all is.

    `notes` has for each experiment a line on its run and the path of its report.
    """
    wide = terminal.width() >= _WIDE
    parts: list[RenderableType] = []
    for outcome in outcomes:
        parts += [_heading(outcome), "", comparison_table(outcome, wide=wide), ""]
    joint = together.combine(outcomes)
    if joint.verdicts:
        parts += [errors_table(joint), "", *_formulas(joint), *largest_errors(joint), ""]
    if any(outcome.summary.claims for outcome in outcomes):
        parts += [claims_table([c for o in outcomes for c in o.summary.claims]), ""]
    if predictions := [one for outcome in outcomes for one in outcome.summary.predictions]:
        parts += [predictions_table(predictions), ""]
    summaries = [outcome.summary for outcome in outcomes]
    parts += [_fitted_table(summaries), ""]
    for text in dict.fromkeys(_provenance(outcome) for outcome in outcomes):
        parts.append(text)
    for summary, (note, _) in zip(summaries, notes, strict=True):
        parts.append(Text(f"{summary.identifier}: {note}"))
    if not wide:
        parts.append(f"Intervals need {_WIDE} columns; a pipe and --format csv have them, too.")
    parts += ["", Text("Report to open in a browser:", style="bold")]
    parts += [Text(f"  {report}", no_wrap=True) for _, report in notes]
    return Group(*parts)


def _heading(outcome: Outcome) -> RenderableType:
    experiment = outcome.summary.experiment
    return Group(Text(experiment.title, style="bold cyan"), Text(experiment.question))


def errors_table(joint: Together) -> Table:
    """Return the error of each check and of the trivial predictors, by basis."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(f"Error over the {joint.points} configurations")
    for name in ("fitted", "predicted", "all"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("")
    for verdict in joint.verdicts:
        table.add_row(Text(f"{verdict.text}, {unit_in_full(verdict.unit)}", style="cyan"))
        groups = [verdict.group(basis) for basis in BASES]
        cells = [f"{group.value:.2f}" if group else "–" for group in groups]
        table.add_row("  this simulation", *cells, f"{verdict.value:.2f}", _limit(verdict))
        if verdict.name == joint.trivial_check:
            for score in joint.trivial:
                fitted = "with fitted constant" if score.fitted_on else ""
                name = _formula_names(joint).get(score.text, score.text)
                values = [score.by_basis.get(basis) for basis in BASES]
                cells = ["–" if value is None else f"{value:.2f}" for value in values]
                table.add_row(f"  {name}", *cells, f"{score.value:.2f}", fitted, style="dim")
        numbers = [str(group.numbers) if group else "0" for group in groups]
        table.add_row("  numbers compared", *numbers, str(verdict.numbers), style="dim")
    return table


def unit_in_full(unit: str) -> str:
    """Write a unit with the words that it stands for, where a table first shows it."""
    return "percentage points (pp)" if unit == "pp" else unit


def _formula_names(joint: Together) -> dict[str, str]:
    """Return a short name for each formula with a fitted constant, in their order."""
    texts = [score.text for score in joint.trivial if score.fitted_on]
    return {text: f"formula {letter}" for text, letter in zip(texts, "ABCDEFGH", strict=False)}


def _formulas(joint: Together) -> list[Text]:
    """Write out the formulas that the table only names."""
    names = _formula_names(joint)
    return [Text(f"{name.replace('f', 'F', 1)}: {text}") for text, name in names.items()]


def _limit(verdict: ErrorVerdict) -> Text:
    word, style = ("holds", "bold green") if verdict.holds else ("FAILS", "bold red")
    return Text.assemble((word, style), f": at most {verdict.at_most:g}")


def claims_table(claims: Sequence[ClaimVerdict]) -> Table:
    """Return every check of every claim: expected, got, verdict and basis."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("Claim", no_wrap=True)
    table.add_column("")
    for name in ("expected", "got"):
        table.add_column(name, justify="right")
    for name in ("verdict", "basis"):
        table.add_column(name, no_wrap=True)
    for claim in claims:
        for index, check in enumerate(claim.checks):
            identifier = Text(claim.id if index == 0 else "", style="cyan")
            verdict = verdict_text(check.word)
            basis = basis_text(check.basis)
            table.add_row(identifier, check.text, check.expected, got_text(check), verdict, basis)
    return table


def predictions_table(predictions: Sequence[PredictionNow]) -> Table:
    """Return what was registered, and what this version says."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("Prediction, registered before anybody measured it")
    for name in ("says", "90 % bounds", "this version"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in predictions:
        numbers = (number_text(one.low), number_text(one.high, one.unit))
        says = number_text(one.predicted, one.unit)
        now = Text(number_text(one.now, one.unit), style="" if one.is_within else "bold red")
        table.add_row(one.text, says, " to ".join(numbers), now)
    return table


def verdict_text(verdict: str) -> Text:
    """Write a verdict in its colour."""
    styles = {
        "holds": "bold green",
        "weak": "yellow",
        "undecided": "yellow",
        "fails": "bold red",
    }
    return Text(
        verdict.upper() if verdict == "fails" else verdict, style=styles.get(verdict, "dim")
    )


def basis_text(basis: str) -> Text:
    """Write a basis so that fitted stands out."""
    return Text(basis, style="magenta" if basis == "fitted" else "")


def largest_errors(joint: Together) -> list[Text]:
    """Name the number with the largest error in each group of points."""
    return [
        Text(
            f"Largest error, {group.basis}: {group.worst_error:+.1f} {verdict.unit}, "
            f"{group.worst_text}"
        )
        for verdict in joint.verdicts
        for group in verdict.groups
    ]


def _fitted_table(summaries: list[Summary]) -> RenderableType:
    fitted = {p.key: p for summary in summaries for p in summary.fitted_parameters}
    if not fitted:
        return "No parameter was fitted."
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("Fitted parameter", "value", "fitted on"):
        table.add_column(name, justify="right" if name == "value" else "left")
    for parameter in fitted.values():
        elsewhere = " (another machine)" if parameter.is_elsewhere else ""
        table.add_row(parameter.key, parameter.value_text, f"{parameter.fitted_on}{elsewhere}")
    return table


def _provenance(outcome: Outcome) -> str:
    summary = outcome.summary
    return (
        f"Platform {summary.platform}, {outcome.seeds}, version {summary.version}. "
        f"Slice function: {summary.slice_function}."
    )


def comparison_table(outcome: Outcome, *, wide: bool) -> Table:
    """Return one row per point: for each metric measured, simulated (if wide: interval), error."""
    experiment = outcome.summary.experiment
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    rows = outcome.simulated
    compared = {row.metric for row in rows if isinstance(row, Comparison)}
    columns_in_all = sum(3 if metric.name in compared else 1 for metric in experiment.metric)
    wide = wide and columns_in_all <= _MOST_WIDE_COLUMNS
    for axis in experiment.axis:
        heading = axis.heading.replace(" ", "\n")
        # Truncated numbers and names mislead: values of axes keep their width.
        longest = max(len(str(value)) for value in axis.coordinates)
        fits = longest <= _CASE_WIDTH
        width = None if fits else _CASE_WIDTH
        side = _side(axis)
        table.add_column(heading, justify=side, width=width, no_wrap=fits, vertical="bottom")
    for metric in experiment.metric:
        columns = ["simulated" if wide else "sim."]
        if metric.name in compared:
            columns = ["measured" if wide else "meas.", *columns, "error"]
        for index, column in enumerate(columns):
            heading = metric.heading if index == 0 else ""
            if not wide:
                heading = heading.replace(" ", "\n")
            heading = f"{heading}\n{column}"
            table.add_column(heading, justify="right", no_wrap=True, vertical="bottom")
    table.add_column("basis", no_wrap=True, vertical="bottom")
    previous: object = None
    for _, group in itertools.groupby(rows, key=lambda row: row.axes):
        by_name = {row.metric: row for row in group}
        first = next(iter(by_name.values()))
        values = list(first.axes.values())
        if len(values) > 1 and previous not in (None, values[0]):
            table.add_row()
        previous = values[0]
        cells = [
            cell
            for metric in experiment.metric
            for cell in _cells(by_name.get(metric.name), metric.name in compared, wide)
        ]
        table.add_row(*(str(value) for value in values), *cells, basis_text(first.basis))
    return table


def _side(axis: Axis) -> JustifyMethod:
    return "right" if axis.is_numeric else "left"


def _cells(row: Simulated | None, compared: bool, wide: bool) -> list[RenderableType]:
    if row is None:
        return ["–"] * (3 if compared else 1)
    simulated = Text(_number(row.predicted))
    if wide and row.ci95 is not None:
        simulated.append(f" ± {_interval(row.predicted, row.ci95)}", style="dim")
    if not compared:
        return [simulated]
    if not isinstance(row, Comparison):
        return ["–", simulated, "–"]
    error = Text(f"{row.error:+.1f}" if abs(row.predicted) >= 1 else f"{row.error:+.3g}")
    if abs(row.error) > _FAR_ERROR.get(row.unit, abs(row.measured) / 10):
        error.stylize("bold red")
    return [_number(row.measured), simulated, error]


def _interval(value: float, half: float) -> str:
    """Write a half width with no more digits than its value has."""
    if abs(value) >= 1 and half < _LEAST_INTERVAL:
        return f"<{_LEAST_INTERVAL:g}"
    return _number(half) if abs(value) >= 1 else f"{half:.2g}"


def _number(value: float) -> str:
    """Write a number with one decimal, small ones with two digits."""
    if abs(value) >= 1 or value == 0:
        return f"{value:.1f}"
    return f"{value:.2g}" if abs(value) >= _LEAST_NUMBER else f"<{_LEAST_NUMBER:g}"
