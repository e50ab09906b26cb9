"""Functions of lists that the expressions of claims may call."""

import itertools
import statistics
from typing import Any

from skipline.experiment.expression import ExpressionError, Functions, Outcome, number


def _numbers(values: tuple[Outcome, ...], name: str) -> list[float]:
    """Return the arguments, or the elements of the only one."""
    chosen: list[Any] = list(values)
    if len(values) == 1 and isinstance(values[0], list):
        chosen = values[0]
    if not chosen:
        raise ExpressionError(f"{name}() of nothing")
    return [number(value) for value in chosen]


def _truths(values: tuple[Outcome, ...], name: str) -> list[bool]:
    chosen: list[Any] = list(values)
    if len(values) == 1 and isinstance(values[0], list):
        chosen = values[0]
    if not chosen or not all(isinstance(value, bool) for value in chosen):
        raise ExpressionError(f"{name}() needs values that are true or false")
    return chosen


def _maximum(*values: Outcome) -> float:
    return max(_numbers(values, "max"))


def _minimum(*values: Outcome) -> float:
    return min(_numbers(values, "min"))


def _sum(*values: Outcome) -> float:
    return sum(_numbers(values, "sum"))


def _mean(*values: Outcome) -> float:
    return statistics.fmean(_numbers(values, "mean"))


def _median(*values: Outcome) -> float:
    return statistics.median(_numbers(values, "median"))


def _sorted(*values: Outcome) -> Outcome:
    return sorted(_numbers(values, "sorted"))


def _length(values: Outcome) -> float:
    if not isinstance(values, list):
        raise ExpressionError("len() needs a list")
    return float(len(values))


def _magnitude(value: Outcome) -> Outcome:
    return [_magnitude(one) for one in value] if isinstance(value, list) else abs(number(value))


def _round(value: Outcome, digits: Outcome = 0.0) -> Outcome:
    if isinstance(value, list):
        return [_round(one, digits) for one in value]
    return float(round(number(value), int(number(digits))))


def _all(*values: Outcome) -> bool:
    return all(_truths(values, "all"))


def _any(*values: Outcome) -> bool:
    return any(_truths(values, "any"))


def _steps(values: Outcome, name: str) -> list[float]:
    numbers = _numbers((values,), name)
    if len(numbers) == 1:
        raise ExpressionError(f"{name}() needs a list of two or more values")
    return [after - before for before, after in itertools.pairwise(numbers)]


def _rises(values: Outcome, by: Outcome = 0.0) -> bool:
    return all(step >= number(by) for step in _steps(values, "rises"))


def _falls(values: Outcome, by: Outcome = 0.0) -> bool:
    return all(-step >= number(by) for step in _steps(values, "falls"))


def _within(values: Outcome, spread: Outcome) -> bool:
    numbers = _numbers((values,), "within")
    return max(numbers) - min(numbers) <= number(spread)


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
}
