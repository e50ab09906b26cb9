"""Conformal intervals: a new error is as large as one of the known ones, each as likely.

Of n errors the k-th smallest, k = ceil(0.9 (n + 1)), bounds the next one with 90 % probability if
it is of the same kind as they are (Vovk, Gammerman, Shafer: Algorithmic Learning in a Random
World, 2005). Whether they cover is tested by leaving out each experiment in turn.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from skipline.model_error.kinds import LEAST_ROWS, Kind
from skipline.model_error.rows import Row, kept

# The share of new numbers that an interval is to cover.
COVERED = 0.90
# Kept numbers are rounded.
_ROUNDING = 1e-3
# A number may be so much larger than the largest of the rows.
_ROOM = 1.1


@dataclass(frozen=True)
class Interval:
    """Bounds of the errors of a kind, in units of its scale.

    `least` and `most` are the smallest and the largest simulated number of the rows.
    """

    kind: Kind
    low: float
    high: float
    least: float = 0.0
    most: float = math.inf

    def reaches(self, simulated: float) -> bool:
        """Return whether rows are as small and as large as this number."""
        if self.kind.is_of_any_size:
            return True
        return self.least <= simulated <= min(_ROOM * self.most, self.kind.below)

    def around(self, simulated: float) -> tuple[float, float]:
        """Return the bounds of a number in the unit of the rows, from its simulated value."""
        scale = self.kind.scale(simulated)
        low = max(0.0, simulated + self.low * scale)
        high = simulated + self.high * scale
        return low, min(high, 100.0) if self.kind.unit == "percent" else high

    def times(self, factor: float) -> "Interval":
        """Return the interval with both sides longer by a factor."""
        return replace(self, low=factor * self.low, high=factor * self.high)


def of_kind(kind: Kind) -> Interval | None:
    """Return the interval of a kind by the kept rows; None if they are too few."""
    return from_rows(kind, kept())


def from_rows(kind: Kind, rows: Iterable[Row]) -> Interval | None:
    """Return the interval of a kind by its rows among these; None if they are too few."""
    own = of_its_rows(kind, rows)
    if len(own) < LEAST_ROWS:
        return None
    interval = from_errors(kind, [error(kind, row) for row in own])
    simulated = [row.simulated for row in own]
    # Small latencies are errors of a few microseconds: rows reach down to none.
    least = 0.0 if kind.unit == "us" else min(simulated)
    return replace(interval, least=least, most=max(simulated))


def of_its_rows(kind: Kind, rows: Iterable[Row]) -> list[Row]:
    """Return the rows that judge numbers of a kind."""
    return [row for row in rows if row.kind == kind.name and row.simulated < kind.below]


def from_errors(kind: Kind, errors: Sequence[float]) -> Interval:
    """Return the interval that errors of a kind give, however few they are."""
    if kind.is_even:
        half = _bound([abs(error) for error in errors], COVERED)
        return Interval(kind, -half, half)
    share = (1 + COVERED) / 2
    low = _bound([-error for error in errors], share)
    return Interval(kind, min(0.0, -low), max(0.0, _bound(errors, share)))


def error(kind: Kind, row: Row) -> float:
    """Return the error of a row in units of the kind's scale."""
    return (row.measured - row.simulated) / kind.scale(row.simulated)


def _bound(errors: Sequence[float], share: float) -> float:
    """Return what a next error is below with this probability; the largest one if they are few."""
    rank = math.ceil(share * (len(errors) + 1))
    return sorted(errors)[min(rank, len(errors)) - 1]


class Coverage(NamedTuple):
    """How many rows of left-out experiments lie within the intervals of the others."""

    covered: int
    rows: int

    @property
    def percent(self) -> float:
        """The covered share."""
        return 100 * self.covered / self.rows if self.rows else 0.0


def leave_out_each(
    kind: Kind, rows: Sequence[Row], factor: float = 1.0, basis: str = ""
) -> Coverage:
    """Leave out each experiment in turn; intervals longer by `factor` are a null model below 1.

    With a `basis` only rows of this are judged.
    """
    own = of_its_rows(kind, rows)
    judged = [row for row in own if basis in {"", row.basis}]
    covered = 0
    for experiment in dict.fromkeys(row.experiment for row in own):
        others = [error(kind, row) for row in own if row.experiment != experiment]
        if not others:
            continue
        interval = from_errors(kind, others).times(factor)
        for row in (row for row in judged if row.experiment == experiment):
            low, high = interval.around(row.simulated)
            covered += low - _ROUNDING <= row.measured <= high + _ROUNDING
    return Coverage(covered, len(judged))
