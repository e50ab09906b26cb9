"""The difference of a number between two sides, and whether it is more than chance.

Runs of the same seed are paired: pages, flows and victims fall alike on both sides, so that their
difference varies less than either. Of a single pair the intervals within the runs are all there is.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from skipline.diff.bound import Bound
from skipline.diff.side import Figure

_LEVEL = 0.95
_NORMAL_95 = 1.959963984540054


class Change(NamedTuple):
    """A number on both sides, in its unit: means, difference, half width of its 95 % interval.

    `chance` is the probability of a difference as large by chance; None where it cannot be told.
    """

    name: str
    before: float
    now: float
    difference: float
    ci95: float | None
    chance: float | None
    pairs: int

    @property
    def percent(self) -> float | None:
        """The difference in percent of what was before."""
        return 100 * self.difference / abs(self.before) if self.before else None


class _Spread(NamedTuple):
    mean: float
    ci95: float | None
    chance: float | None


def between(name: str, before: Mapping[int, Figure], now: Mapping[int, Figure]) -> Change:
    """Compare a number of runs by seed; both sides have some."""
    spread = _difference(before, now, 1.0)
    return Change(
        name,
        _mean(before),
        _mean(now),
        spread.mean,
        spread.ci95,
        spread.chance,
        len(before.keys() & now.keys()),
    )


def breaks(bound: Bound, before: Mapping[int, Figure], now: Mapping[int, Figure]) -> bool:
    """Return whether a bound is broken by more than its interval."""
    spread = _difference(before, now, bound.factor)
    excess = spread.mean if bound.most else -spread.mean
    return excess > (spread.ci95 or 0.0)


def keeps(bound: Bound, before: Mapping[int, Figure], now: Mapping[int, Figure]) -> bool:
    """Return whether a bound is kept with the whole interval."""
    spread = _difference(before, now, bound.factor)
    excess = spread.mean if bound.most else -spread.mean
    return excess + (spread.ci95 or 0.0) <= 0


def _difference(before: Mapping[int, Figure], now: Mapping[int, Figure], factor: float) -> _Spread:
    """Return `now` - `factor` x `before` with its interval."""
    seeds = sorted(before.keys() & now.keys())
    if len(seeds) > 1:
        return _of_pairs([now[s].value - factor * before[s].value for s in seeds])
    if len(seeds) == 1:
        return _of_one(before[seeds[0]], now[seeds[0]], factor)
    if len(before) > 1 and len(now) > 1:
        return _unpaired(
            [f.value for f in before.values()], [f.value for f in now.values()], factor
        )
    return _of_one(summary(before), summary(now), factor)


def summary(runs: Mapping[int, Figure]) -> Figure:
    """Return the mean of some runs with its interval; a single one has that within it."""
    if len(runs) == 1:
        return next(iter(runs.values()))
    mean = _mean(runs)
    return Figure(mean, _of_pairs([one.value - mean for one in runs.values()]).ci95)


def _of_pairs(differences: Sequence[float]) -> _Spread:
    from scipy import stats

    count = len(differences)
    mean = math.fsum(differences) / count
    variance = math.fsum((one - mean) ** 2 for one in differences) / (count - 1)
    error = math.sqrt(variance / count)
    if error <= abs(mean) * 1e-12:
        return _Spread(mean, 0.0, 0.0 if mean else 1.0)
    half = error * float(stats.t.ppf((1 + _LEVEL) / 2, count - 1))
    return _Spread(mean, half, float(2 * stats.t.sf(abs(mean) / error, count - 1)))


def _of_one(before: Figure, now: Figure, factor: float) -> _Spread:
    difference = now.value - factor * before.value
    if difference == 0:
        return _Spread(0.0, 0.0, 1.0)
    if before.ci95 is None or now.ci95 is None:
        return _Spread(difference, None, None)
    half = math.hypot(factor * before.ci95, now.ci95)
    if half == 0:
        return _Spread(difference, 0.0, 0.0)
    return _Spread(difference, half, math.erfc(abs(difference) * _NORMAL_95 / half / math.sqrt(2)))


def _unpaired(before: Sequence[float], now: Sequence[float], factor: float) -> _Spread:
    from scipy import stats

    scaled = [factor * value for value in before]
    # Against a side without any spread Welch's test is that of the other side alone.
    if len(set(scaled)) == 1:
        return _of_pairs([value - scaled[0] for value in now])
    if len(set(now)) == 1:
        return _of_pairs([now[0] - value for value in scaled])
    mean = math.fsum(now) / len(now) - math.fsum(scaled) / len(scaled)
    found = stats.ttest_ind(now, scaled, equal_var=False)
    interval = found.confidence_interval(_LEVEL)
    return _Spread(mean, float(interval.high - interval.low) / 2, float(found.pvalue))


def _mean(figures: Mapping[int, Figure]) -> float:
    return math.fsum(one.value for one in figures.values()) / len(figures)


def mark_significant(changes: Sequence[Change], level: float = 1 - _LEVEL) -> list[bool]:
    """Return which changes are more than chance: at most 5 % of those that are called so are not.

    Hundreds of numbers are compared at once; without this correction (Benjamini and Hochberg, 1995)
    one in twenty of those that have not changed would be called changed.
    """
    probabilities = sorted(change.chance for change in changes if change.chance is not None)
    most = -1.0
    for rank, chance in enumerate(probabilities, start=1):
        if chance <= level * rank / len(probabilities):
            most = chance
    return [change.chance is not None and change.chance <= most for change in changes]
