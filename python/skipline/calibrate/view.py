"""A calibration as tables."""

from pathlib import Path

from rich.console import Group, RenderableType

from skipline.calibrate.result import CalibrationResult, NumberError
from skipline.text.table import Column, TextTable, texts

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


def _answers(result: CalibrationResult) -> TextTable:
    columns = (
        *texts("hypothesis", "answer"),
        Column("fit", form=".2f"),
        Column("held out", form=".2f"),
        *texts("folds", "rejected by"),
    )
    table = TextTable(columns, has_edges=True)
    for answer in result.answers:
        mark = "*" if answer.is_chosen else " "
        telling = answer.telling[0] if answer.telling else None
        reason = (
            ""
            if telling is None
            else f"{telling.number}: {telling.error_of_other:+.1f} "
            f"instead of {telling.error_of_chosen:+.1f}"
        )
        table.add(
            answer.hypothesis,
            f"{mark} {answer.choice}",
            answer.fit_error,
            answer.held_out_error,
            f"{answer.chosen_in_folds}/{len(result.folds)}",
            reason,
        )
    return table


def _parameters(result: CalibrationResult) -> TextTable:
    columns = (Column("parameter"), Column("value", form="g"))
    return TextTable(columns, result.parameters.items(), has_edges=True)


def _folds(result: CalibrationResult) -> TextTable:
    columns = (
        Column("left out"),
        Column("numbers", form="d"),
        Column("chosen by the others"),
        Column("error on others", form=".2f"),
        Column("error left out", form=".2f"),
    )
    table = TextTable(columns, has_edges=True)
    for fold in result.folds:
        errors = fold.error_on_others, fold.error_left_out
        table.add(fold.left_out, fold.numbers, fold.chosen, *errors)
    return table


def _worst(numbers: list[NumberError]) -> TextTable:
    columns = (
        *texts("largest errors", "basis"),
        Column("measured", form=".1f"),
        Column("error", form="+.1f"),
        Column(""),
    )
    table = TextTable(columns, has_edges=True)
    for number in sorted(numbers, key=lambda entry: -abs(entry.error))[:_WORST]:
        table.add(number.number, number.basis, number.measured, number.error, number.unit)
    return table
