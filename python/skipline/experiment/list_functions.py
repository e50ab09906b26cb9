"""Functions of lists that the expressions of claims may call."""

import itertools
import math
import statistics
from typing import Any

from skipline.experiment.expression import ExpressionError, ExpressionValue, Functions, number


def _numbers(values: tuple[ExpressionValue, ...], name: str) -> list[float]:
    """Return the arguments, or the elements of the only one."""
    chosen: list[Any] = list(values)
    if len(values) == 1 and isinstance(values[0], list):
        chosen = values[0]
    if not chosen:
        raise ExpressionError(f"{name}() of nothing")
    return [number(value) for value in chosen]


def _truths(values: tuple[ExpressionValue, ...], name: str) -> list[bool]:
    chosen: list[Any] = list(values)
    if len(values) == 1 and isinstance(values[0], list):
        chosen = values[0]
    if not chosen or not all(isinstance(value, bool) for value in chosen):
        raise ExpressionError(f"{name}() needs values that are true or false")
    return chosen


def _maximum(*values: ExpressionValue) -> float:
    return max(_numbers(values, "max"))


def _minimum(*values: ExpressionValue) -> float:
    return min(_numbers(values, "min"))


def _sum(*values: ExpressionValue) -> float:
    return sum(_numbers(values, "sum"))


def _mean(*values: ExpressionValue) -> float:
    return statistics.fmean(_numbers(values, "mean"))


def _median(*values: ExpressionValue) -> float:
    return statistics.median(_numbers(values, "median"))


def _sorted(*values: ExpressionValue) -> ExpressionValue:
    return sorted(_numbers(values, "sorted"))


def _length(values: ExpressionValue) -> float:
    if not isinstance(values, list):
        raise ExpressionError("len() needs a list")
    return float(len(values))


def _magnitude(value: ExpressionValue) -> ExpressionValue:
    return [_magnitude(one) for one in value] if isinstance(value, list) else abs(number(value))


def _round(value: ExpressionValue, digits: ExpressionValue = 0.0) -> ExpressionValue:
    if isinstance(value, list):
        return [_round(one, digits) for one in value]
    return float(round(number(value), int(number(digits))))


def _all(*values: ExpressionValue) -> bool:
    return all(_truths(values, "all"))


def _any(*values: ExpressionValue) -> bool:
    return any(_truths(values, "any"))


def _steps(values: ExpressionValue, name: str) -> list[float]:
    numbers = _numbers((values,), name)
    if len(numbers) == 1:
        raise ExpressionError(f"{name}() needs a list of two or more values")
    return [after - before for before, after in itertools.pairwise(numbers)]


def _rises(values: ExpressionValue, by: ExpressionValue = 0.0) -> bool:
    steps = _steps(values, "rises")
    # A series that is flat from end to end does not rise, however much noise a step may have.
    return sum(steps) > 0 and all(step >= number(by) for step in steps)


def _falls(values: ExpressionValue, by: ExpressionValue = 0.0) -> bool:
    steps = _steps(values, "falls")
    return sum(steps) < 0 and all(-step >= number(by) for step in steps)


def _within(values: ExpressionValue, spread: ExpressionValue) -> bool:
    numbers = _numbers((values,), "within")
    return max(numbers) - min(numbers) <= number(spread)


def _equally_long(
    values: ExpressionValue, others: ExpressionValue, name: str
) -> tuple[list[Any], list[Any]]:
    """Return two lists of the same length that is not 0."""
    if isinstance(values, list) and isinstance(others, list) and 0 < len(values) == len(others):
        return values, others
    raise ExpressionError(f"{name}() needs two lists, as long as each other")


def _first(values: ExpressionValue, truths: ExpressionValue) -> ExpressionValue:
    """Return the first value beside which there is a truth; infinity if there is none."""
    chosen, known = _equally_long(values, truths, "first")
    holds = _truths((known,), "first")
    return next((value for value, true in zip(chosen, holds, strict=True) if true), math.inf)


def _crossing(values: ExpressionValue, differences: ExpressionValue) -> float:
    """Return the value from which on the differences are above 0; infinity if the last is not.

    Between two values the difference is taken to be linear in the value's logarithm. The first
    value if all differences are above 0.
    """
    chosen, known = _equally_long(values, differences, "crossing")
    at = _numbers((chosen,), "crossing")
    above = _numbers((known,), "crossing")
    if min(at) <= 0 or not _rises(chosen):
        raise ExpressionError("crossing() needs values above 0 that rise")
    below = [number for number, difference in enumerate(above) if difference <= 0]
    if not below:
        return at[0]
    last = below[-1]
    if last + 1 == len(at):
        return math.inf
    share = above[last] / (above[last] - above[last + 1])
    return float(at[last] * (at[last + 1] / at[last]) ** share)


LIST_FUNCTIONS: Functions = {
    "max": _maximum,
    "min": _minimum,
    "sum": _sum,
    "mean": _mean,
    "median": _median,
    "abs": _magnitude,
    "len": _length,
    "sorted": _sorted,
    "round": _round,
    "all": _all,
    "any": _any,
    "rises": _rises,
    "falls": _falls,
    "within": _within,
    "first": _first,
    "crossing": _crossing,
}
