"""Judges compared numbers by the checks of an experiment, fitted and predicted points apart."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from skipline._core import RunError
from skipline.experiment.definition import Basis, Check
from skipline.experiment.table import Comparison

BASES: tuple[Basis, ...] = ("fitted", "predicted")


class GroupError(BaseModel):
    """The error over the numbers of one basis, and where it is worst, in the check's unit."""

    model_config = ConfigDict(frozen=True)

    basis: Basis
    value: float
    numbers: int
    worst_metric: str
    worst_point: dict[str, int | float | str]
    worst_error: float
    worst_text: str


class ErrorVerdict(BaseModel):
    """The verdict on a check: it holds when each group of points keeps the limit.

    `value` is the error over both groups together. A group without numbers is not listed.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    text: str
    value: float
    at_most: float
    unit: str
    holds: bool
    numbers: int
    groups: list[GroupError]

    def group(self, basis: Basis) -> GroupError | None:
        """Return the error on the points of one basis, None where nothing was compared."""
        return next((group for group in self.groups if group.basis == basis), None)


def select(check: Check, rows: Sequence[Comparison]) -> list[Comparison]:
    """Return the numbers that a check is about: none that has been put in."""
    below = float("inf") if check.measured_below is None else check.measured_below
    return [
        row
        for row in rows
        if row.metric in check.metrics and row.measured < below and not row.is_input
    ]


def error_verdicts(checks: Sequence[Check], rows: Sequence[Comparison]) -> list[ErrorVerdict]:
    """Apply checks, but those all of whose numbers have been put in: nothing is left to judge."""
    return [error_verdict(check, rows) for check in checks if not _is_put_in(check, rows)]


def _is_put_in(check: Check, rows: Sequence[Comparison]) -> bool:
    own = [row for row in rows if row.metric in check.metrics]
    return bool(own) and all(row.is_input for row in own)


def error_verdict(check: Check, rows: Sequence[Comparison]) -> ErrorVerdict:
    """Apply `check` to those of `rows` that it is about."""
    chosen = select(check, rows)
    if not chosen:
        raise RunError(f"check '{check.name}': no measured number to compare with")
    by_basis = {basis: [row for row in chosen if row.basis == basis] for basis in BASES}
    groups = [_group(check, basis, of) for basis, of in by_basis.items() if of]
    return ErrorVerdict(
        name=check.name,
        text=check.text,
        value=_statistic(check, [_error(check, row) for row in chosen]),
        at_most=check.at_most,
        unit=check.unit,
        holds=all(group.value <= check.at_most for group in groups),
        numbers=len(chosen),
        groups=groups,
    )


def _group(check: Check, basis: Basis, rows: Sequence[Comparison]) -> GroupError:
    errors = [_error(check, row) for row in rows]
    worst = max(range(len(rows)), key=lambda index: abs(errors[index]))
    return GroupError(
        basis=basis,
        value=_statistic(check, errors),
        numbers=len(rows),
        worst_metric=rows[worst].metric,
        worst_point=rows[worst].axes,
        worst_error=errors[worst],
        worst_text=f"{rows[worst].label} at {rows[worst].point_name}",
    )


def _error(check: Check, row: Comparison) -> float:
    if check.statistic == "mean_absolute_error":
        return row.error
    return row.relative_error or 0.0


def _statistic(check: Check, errors: Sequence[float]) -> float:
    sizes = [abs(error) for error in errors]
    match check.statistic:
        case "mean_absolute_error":
            return sum(sizes) / len(sizes)
        case "worst_relative_error":
            return max(sizes)
        case "share_beyond":
            beyond = sum(size > (check.within_percent or 0.0) for size in sizes)
            return 100 * beyond / len(sizes)
