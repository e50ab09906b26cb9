"""Captions of an experiment's figures: what axes and marks show, where numbers come from."""

from collections.abc import Sequence

from skipline.experiment.axis import Axis
from skipline.experiment.definition import Experiment
from skipline.experiment.outcome import Outcome
from skipline.experiment.table import Comparison, Simulated
from skipline.report.figures import unit_text


def along_x(outcome: Outcome, labels: Sequence[str], rows: Sequence[Simulated]) -> str:
    """Describe the panels of one metric, or of several along the same axis."""
    experiment = outcome.summary.experiment
    units = {row.label: unit_text(row.unit) for row in rows}
    named = (f"{label} in {units[label]}" for label in labels if label in units)
    what = ", ".join(named)
    what = what[:1].upper() + what[1:]
    what += " (vertical), one panel each," if len(labels) > 1 else " (vertical)"
    panels = " and ".join(axis.label for axis in experiment.panel_axes)
    apart = f", one panel per {panels}" if panels else ""
    return f"{what} against {_axis(experiment.x_axis)}{apart}. {_marks(outcome, rows)}"


def _axis(axis: Axis) -> str:
    unit = f" in {axis.unit}" if axis.unit and axis.is_numeric else ""
    scale = ", log scale" if axis.scale == "log2" else ""
    return f"{axis.label}{unit} (horizontal{scale})"


def _marks(outcome: Outcome, rows: Sequence[Simulated]) -> str:
    """Describe which marks are measured, predicted and fitted, and the sources."""
    runs = {row.measured_runs for row in rows if isinstance(row, Comparison)}
    parts = []
    if any(runs):
        parts.append("Dots with bars: measured, mean with lowest and highest run.")
    if 0 in runs:
        parts.append("Dots without bars: stated by the source.")
    if runs:
        parts.append(f"Source: {_source(outcome.summary.experiment)}.")
    else:
        parts.append("No number here is measured.")
    return " ".join([*parts, _simulated(outcome, rows)])


def _simulated(outcome: Outcome, rows: Sequence[Simulated]) -> str:
    repeats = outcome.summary.repeats
    band = "95 % interval" if repeats == 1 else f"lowest to highest of {repeats} runs"
    return f"Line and band: simulated on {outcome.summary.platform}, {_bases(rows)}; band: {band}."


def _bases(rows: Sequence[Simulated]) -> str:
    bases = {row.basis for row in rows}
    if len(bases) == 1:
        return f"all {bases.pop()}"
    return "filled marks predicted, hollow marks fitted"


def _source(experiment: Experiment) -> str:
    reference = experiment.reference
    return reference.source if reference else experiment.source


def claims(outcome: Outcome) -> str:
    """Describe the figure of checks."""
    return (
        "Each row is a check of a claim. Tick and band: what the source states, and the values for "
        "which the check holds. Dot: simulated on "
        f"{outcome.summary.platform}, filled if predicted, hollow if fitted; a diamond is outside. "
        f"Horizontal: the unit of the check. Source: {outcome.summary.experiment.source}."
    )


def scatter(outcome: Outcome, rows: Sequence[Comparison]) -> str:
    """Describe the figure of simulated against measured."""
    units = " or ".join(dict.fromkeys(unit_text(row.unit) for row in rows))
    return (
        f"Simulated (vertical) against measured (horizontal), both in {units}. Dashed: equal. "
        f"Horizontal bars: lowest to highest measured run. Points: {_bases(rows)}. Measured: "
        f"{_source(outcome.summary.experiment)}; simulated: {outcome.summary.platform}."
    )
