"""A calibration as tables for people."""

from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table

from skipline.calibrate.outcome import NumberError, Outcome

# Numbers with the largest errors that are shown; the file has all.
_WORST = 12


def overview(outcome: Outcome, path: Path) -> RenderableType:
    """Show what was chosen, how sure the data are, and what the held-out points say."""
    held_out = f"{outcome.held_out_error:.2f} over {outcome.held_out_numbers} held-out numbers"
    summary = (
        f"{outcome.title}\n\nmean absolute error: {outcome.start_error:.2f} at the start, "
        f"{outcome.fit_error:.2f} chosen (fitted, {outcome.fit_numbers} numbers), {held_out} "
        "(predicted)"
    )
    parts: list[RenderableType] = [summary, "", _answers(outcome)]
    if outcome.parameters:
        parts += ["", _parameters(outcome)]
    if outcome.folds:
        parts += ["", _folds(outcome)]
    parts += ["", _worst(outcome.numbers), "", f"everything: {path}"]
    return Group(*parts)


def _answers(outcome: Outcome) -> Table:
    table = Table("hypothesis", "answer", "fit", "held out", "folds", "rejected by", box=None)
    for answer in outcome.answers:
        mark = "*" if answer.is_chosen else " "
        telling = answer.telling[0] if answer.telling else None
        reason = (
            ""
            if telling is None
            else f"{telling.number}: {telling.error_of_other:+.1f} "
            f"instead of {telling.error_of_chosen:+.1f}"
        )
        table.add_row(
            answer.hypothesis,
            f"{mark} {answer.choice}",
            f"{answer.fit_error:.2f}",
            f"{answer.held_out_error:.2f}",
            f"{answer.chosen_in_folds}/{len(outcome.folds)}",
            reason,
        )
    return table


def _parameters(outcome: Outcome) -> Table:
    table = Table("parameter", "value", box=None)
    for key, value in outcome.parameters.items():
        table.add_row(key, f"{value:g}")
    return table


def _folds(outcome: Outcome) -> Table:
    table = Table("left out", "chosen by the others", "error on others", "left out", box=None)
    for number, fold in enumerate(outcome.folds, 1):
        part = f"part {number} of {len(outcome.folds)}"
        others, left_out = f"{fold.error_on_others:.2f}", f"{fold.error_left_out:.2f}"
        table.add_row(part, fold.chosen, others, left_out)
    return table


def _worst(numbers: list[NumberError]) -> Table:
    table = Table("largest errors", "basis", "measured", "error", "", box=None)
    for number in sorted(numbers, key=lambda entry: -abs(entry.error))[:_WORST]:
        row = (number.number, number.basis, f"{number.measured:.1f}", f"{number.error:+.1f}")
        table.add_row(*row, number.unit)
    return table
