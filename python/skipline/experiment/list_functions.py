"""Functions of lists that the expressions of claims may call."""

import itertools
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
    return all(step >= number(by) for step in _steps(values, "rises"))


def _falls(values: ExpressionValue, by: ExpressionValue = 0.0) -> bool:
    return all(-step >= number(by) for step in _steps(values, "falls"))


def _within(values: ExpressionValue, spread: ExpressionValue) -> bool:
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
