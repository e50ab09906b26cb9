"""A calibration as tables for people."""

from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table

from skipline.calibrate.result import CalibrationResult, NumberError

# Numbers with the largest errors that are shown; the file has all.
_WORST = 12


def overview(result: CalibrationResult, path: Path) -> RenderableType:
    """Show what was chosen, how sure the data are, and what the held-out points say."""
    held_out = f"{result.held_out_error:.2f} over {result.held_out_numbers} held-out numbers"
    summary = (
        f"{result.title}\n\nmean absolute error: {result.start_error:.2f} at the start, "
        f"{result.fit_error:.2f} chosen (fitted, {result.fit_numbers} numbers), {held_out} "
        "(predicted)"
    )
    parts: list[RenderableType] = [summary, "", _answers(result)]
    if result.parameters:
        parts += ["", _parameters(result)]
    if result.folds:
        parts += ["", _folds(result)]
    parts += ["", _worst(result.numbers), "", f"everything: {path}"]
    return Group(*parts)


def _answers(result: CalibrationResult) -> Table:
    table = Table("hypothesis", "answer", "fit", "held out", "folds", "rejected by", box=None)
    for answer in result.answers:
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
            f"{answer.chosen_in_folds}/{len(result.folds)}",
            reason,
        )
    return table


def _parameters(result: CalibrationResult) -> Table:
    table = Table("parameter", "value", box=None)
    for key, value in result.parameters.items():
        table.add_row(key, f"{value:g}")
    return table


def _folds(result: CalibrationResult) -> Table:
    table = Table("left out", "chosen by the others", "error on others", "left out", box=None)
    for number, fold in enumerate(result.folds, 1):
        part = f"part {number} of {len(result.folds)}"
        others, left_out = f"{fold.error_on_others:.2f}", f"{fold.error_left_out:.2f}"
        table.add_row(part, fold.chosen, others, left_out)
    return table


def _worst(numbers: list[NumberError]) -> Table:
    table = Table("largest errors", "basis", "measured", "error", "", box=None)
    for number in sorted(numbers, key=lambda entry: -abs(entry.error))[:_WORST]:
        row = (number.number, number.basis, f"{number.measured:.1f}", f"{number.error:+.1f}")
        table.add_row(*row, number.unit)
    return table
