"""Whether a verdict would be another one with other seeds.

Each check is evaluated for each run by itself, over all points with the same seed. From five runs
on the spread of its numbers gives a 95 % interval around the value; a bound within the interval
leaves the check undecided. A check without a number is decided if so many runs agree with it that
chance would do it less than once in twenty.
"""

from collections.abc import Callable, Sequence
from math import comb

from skipline import _core
from skipline.experiment.claim import ClaimCheckVerdict

# Below this no interval is known, and every verdict counts as decided.
FEWEST_RUNS = 5
_BY_CHANCE = 0.05

Run = Callable[[], list[ClaimCheckVerdict] | None]


def with_intervals(
    checks: Sequence[ClaimCheckVerdict], runs: Sequence[Run]
) -> list[ClaimCheckVerdict]:
    """Return the checks with intervals, and with whether they are decided."""
    if len(runs) < FEWEST_RUNS:
        return list(checks)
    single = [found for run in runs if (found := run()) is not None]
    if len(single) < FEWEST_RUNS:
        return list(checks)
    return [
        _judged(check, [found[place] for found in single]) for place, check in enumerate(checks)
    ]


def _judged(check: ClaimCheckVerdict, runs: Sequence[ClaimCheckVerdict]) -> ClaimCheckVerdict:
    values = [run.value for run in runs if run.value is not None]
    if check.value is None or len(values) < len(runs):
        agreeing = sum(run.holds == check.holds for run in runs)
        return check.model_copy(update={"decided": by_chance(agreeing, len(runs)) < _BY_CHANCE})
    half = _core.half_width_95(values) or 0.0
    bounds = [bound for bound in (check.low, check.high) if bound is not None]
    decided = all(abs(check.value - bound) > half for bound in bounds)
    # An interval of no width has its bound inside or outside, as the check says.
    return check.model_copy(update={"half_width": half, "decided": decided or half == 0.0})


def by_chance(agreeing: int, runs: int) -> float:
    """Return the probability that as many runs agree, or more, where each does by a coin."""
    ways = sum(comb(runs, count) for count in range(agreeing, runs + 1))
    return float(ways / 2**runs)
