"""Do the intervals cover? Each experiment is left out in turn and judged by the others."""

from collections.abc import Sequence
from typing import NamedTuple

from skipline.model_error.intervals import error, from_errors
from skipline.model_error.kinds import Kind
from skipline.model_error.rows import Row


class Coverage(NamedTuple):
    """How many rows of left-out experiments lie within the intervals of the others."""

    covered: int
    rows: int

    @property
    def percent(self) -> float:
        """The covered share."""
        return 100 * self.covered / self.rows if self.rows else 0.0


def leave_out_each(kind: Kind, rows: Sequence[Row], factor: float = 1.0) -> Coverage:
    """Leave out each experiment in turn; intervals longer by `factor` are a null model below 1."""
    own = [row for row in rows if row.kind == kind.name]
    covered = 0
    for experiment in dict.fromkeys(row.experiment for row in own):
        others = [error(kind, row) for row in own if row.experiment != experiment]
        if not others:
            continue
        interval = from_errors(kind, others).times(factor)
        for row in (row for row in own if row.experiment == experiment):
            low, high = interval.around(row.simulated)
            covered += low - _ROUNDING <= row.measured <= high + _ROUNDING
    return Coverage(covered, len(own))


# Kept numbers are rounded.
_ROUNDING = 1e-3
