"""Values that the expressions of claims read: results, published numbers, facts of the platform."""

import ast
import copy
from collections.abc import Mapping, Sequence

from skipline import _core
from skipline._core import InputError
from skipline.experiment.catalogue import Entry
from skipline.experiment.claim import CheckBasis
from skipline.experiment.definition import Axis, Basis, Value
from skipline.experiment.expression import ExpressionError, ExpressionValue, Functions, number
from skipline.experiment.points import combinations
from skipline.experiment.reference import Published
from skipline.experiment.runner import Finished
from skipline.experiment.table import Comparison, address, gather
from skipline.platforms import platform_facts
from skipline.text.nearest import did_you_mean

_PointKey = tuple[tuple[str, Value], ...]
# Mean and half interval of each number of a point.
_Numbers = dict[str, tuple[float | None, float | None]]
# Calls that read something, and the keywords that are no axis.
READINGS: dict[str, set[str]] = {
    "at": set(),
    "series": {"along", "points"},
    "ci95": set(),
    "measured": {"along"},
    "axis": set(),
    "fact": set(),
    "mae": {"below", "points"},
    "worst": {"below", "points"},
    "mae_percent": {"below", "points"},
    "worst_percent": {"below", "points"},
}


def check_keywords(axes: Sequence[Axis], call: ast.Call, known: Sequence[str]) -> None:
    """Refuse a call that no function, axis or value of an axis answers to."""
    name = ast.unparse(call.func)
    if name not in known:
        hint = did_you_mean(name, known)
        raise ExpressionError(f"'{name}()': unknown{hint}; calls are {', '.join(known)}")
    for keyword in call.keywords if name in READINGS else []:
        if keyword.arg in READINGS[name]:
            continue
        axis = axis_named(axes, str(keyword.arg))
        if isinstance(keyword.value, ast.Constant):
            coordinate_on(axis, keyword.value.value)


def axis_named(axes: Sequence[Axis], name: str) -> Axis:
    """Return the axis that an expression calls by its key or keyword."""
    known = {axis.argument: axis for axis in axes} | {axis.key: axis for axis in axes}
    if name not in known:
        hint = did_you_mean(name, known)
        keys = ", ".join(axis.argument for axis in axes)
        raise ExpressionError(f"axis '{name}': unknown{hint}; axes: {keys}")
    return known[name]


def coordinate_on(axis: Axis, value: object) -> Value:
    """Return the value of an axis that equals `value`."""
    found = next((one for one in axis.coordinates if one == value), None)
    if found is None:
        names = [str(one) for one in axis.coordinates]
        plain = int(value) if isinstance(value, float) and value.is_integer() else value
        raise ExpressionError(
            f"{axis.argument} = {plain!r}: not on the axis"
            f"{did_you_mean(str(plain), names)}; values: {', '.join(names)}"
        )
    return found


def _rests_on(done: Finished) -> CheckBasis:
    """Return the basis of a point.

    Where measurements of its testbed chose a parameter, nothing on it is predicted freely.
    """
    if done.point.basis == "fitted" or done.results[0].chosen_here:
        return "fitted"
    return "fitted elsewhere" if done.results[0].fitted_parameters else "predicted"


class Readings:
    """Looks numbers up by metric and point; notes the bases of the points that were read."""

    def __init__(self, entry: Entry, finished: Sequence[Finished], rows: list[Comparison]) -> None:
        self._entry = entry
        self._axes = entry.experiment.axis
        self._points = combinations(entry.experiment)
        self._published = Published(entry.experiment, entry.reference_path)
        self._platforms = {
            _key(done.point.axes): (done.results[0].platform, done.point.scenario)
            for done in finished
        }
        self._rows = rows
        self._finished = finished
        self._numbers = {_key(done.point.axes): _numbers(done) for done in finished}
        self._basis: dict[_PointKey, Basis] = {
            _key(done.point.axes): done.point.basis for done in finished
        }
        self._rests_on = {_key(done.point.axes): _rests_on(done) for done in finished}
        # The bases of the points that were read since a caller cleared them.
        self.read_bases: set[CheckBasis] = set()
        # Whether numbers are those of the table: neither of one run nor of a null model.
        self._is_whole = True
        self._as_at: Mapping[str, Value] = {}
        self._worlds: dict[str, dict[_PointKey, _Numbers]] = {}

    @property
    def runs(self) -> int:
        """The number of runs with different seeds of each point."""
        return min(len(done.results) for done in self._finished)

    def of_run(self, run: int) -> "Readings":
        """Return readings of one run of each point, those with the same seed."""
        other = copy.copy(self)
        other._is_whole = False
        other._numbers = {
            _key(done.point.axes): _numbers(Finished(done.point, [done.results[run]]))
            for done in self._finished
        }
        return other

    @property
    def points(self) -> Sequence[Mapping[str, Value]]:
        """The coordinates of all points."""
        return self._points

    def add_worlds(self, finished: Sequence[Finished]) -> None:
        """Take the points that were simulated for null models."""
        for done in finished:
            numbers = self._worlds.setdefault(done.point.null, {})
            numbers[_key(done.point.axes)] = _numbers(done)

    def in_world(self, world: Mapping[str, Value] | str) -> "Readings":
        """Return readings of a null model.

        In it each point gives what it gives at the coordinates `world`, or those points that were
        simulated for the model of this name what they gave there.
        """
        other = copy.copy(self)
        other._is_whole = False
        if isinstance(world, str):
            other._numbers = self._numbers | self._worlds[world]
        else:
            other._as_at = world
        return other

    @property
    def functions(self) -> Functions:
        """The functions by the names that expressions call them by."""
        return {
            "at": self._at,
            "series": self._series,
            "ci95": self._ci95,
            "measured": self._measured,
            "axis": lambda name: list(axis_named(self._axes, name).coordinates),
            "fact": self._fact,
            "mae": lambda *metrics, **where: _mean(self._errors(metrics, where)),
            "worst": lambda *metrics, **where: max(self._errors(metrics, where)),
            "mae_percent": lambda *metrics, **where: _mean(
                self._errors(metrics, where, relative=True)
            ),
            "worst_percent": lambda *metrics, **where: max(
                self._errors(metrics, where, relative=True)
            ),
        }

    def _at(self, metric: ExpressionValue, **where: ExpressionValue) -> float:
        return self._number(metric, self._point(where))[0]

    def _series(
        self, metric: ExpressionValue, *, along: ExpressionValue, **where: ExpressionValue
    ) -> ExpressionValue:
        basis = _basis(where.pop("points", None))
        line = self._line(along, where)
        chosen = [point for point in line if basis in (None, self._basis[_key(point)])]
        return [self._number(metric, point)[0] for point in chosen]

    def _ci95(self, metric: ExpressionValue, **where: ExpressionValue) -> float:
        half = self._number(metric, self._point(where))[1]
        if half is None:
            raise ExpressionError(f"ci95('{metric}'): no interval is known")
        return half

    def _measured(
        self, metric: ExpressionValue, along: ExpressionValue = "", **where: ExpressionValue
    ) -> ExpressionValue:
        if along:
            return [self._published_at(metric, point) for point in self._line(along, where)]
        return self._published_at(metric, self._point(where))

    def _published_at(self, metric: ExpressionValue, point: Mapping[str, Value]) -> float:
        try:
            value = self._published.value(point, str(metric))
        except InputError as error:
            raise ExpressionError(str(error)) from error
        if value is None:
            raise ExpressionError(f"measured('{metric}'): nothing is published at {_text(point)}")
        return value

    def _fact(self, key: ExpressionValue, **where: ExpressionValue) -> float:
        fixed = self._fixed(where)
        chosen = [point for point in self._points if fixed.items() <= point.items()]
        found = {self._platforms[_key(point)] for point in chosen}
        names = sorted({name for name, _ in found})
        if len(names) != 1:
            raise ExpressionError(f"fact('{key}'): say at which point; platforms: {names}")
        numbers = {platform_facts.number(name, str(key), scenario) for name, scenario in found}
        if len(numbers) != 1:
            raise ExpressionError(f"fact('{key}'): say at which point; scenarios differ")
        value = numbers.pop()
        if value is None:
            raise ExpressionError(f"fact('{key}'): platform '{names[0]}' has no such number")
        return value

    def _errors(
        self,
        metrics: tuple[ExpressionValue, ...],
        where: dict[str, ExpressionValue],
        *,
        relative: bool = False,
    ) -> list[float]:
        below = number(where.pop("below", float("inf")))
        basis = _basis(where.pop("points", None))
        known = [metric.name for metric in self._entry.experiment.metric if metric.reference]
        for metric in metrics:
            if metric not in known:
                hint = did_you_mean(str(metric), known)
                names = ", ".join(known) or "none"
                raise ExpressionError(
                    f"'{metric}': no [[metric]] with a reference{hint}; known: {names}"
                )
        fixed = self._fixed(where)
        chosen = [
            row
            for row in self._rows
            if row.metric in metrics
            and fixed.items() <= row.axes.items()
            and row.measured < below
            and basis in (None, row.basis)
        ]
        if not chosen:
            raise ExpressionError("no number to compare with")
        self.read_bases |= {self._rests_on[_key(row.axes)] for row in chosen}
        errors = ((self._predicted(row) - row.measured, row.measured) for row in chosen)
        if relative:
            return [abs(100 * error / base) if base else 0.0 for error, base in errors]
        return [abs(error) for error, _ in errors]

    def _predicted(self, row: Comparison) -> float:
        if self._is_whole:
            return row.predicted
        times = {metric.name: metric.times for metric in self._entry.experiment.metric}
        return times[row.metric] * self._number(row.metric, row.axes)[0]

    def _number(
        self, metric: ExpressionValue, point: Mapping[str, Value]
    ) -> tuple[float, float | None]:
        key = _key({**point, **self._as_at})
        if key not in self._numbers:
            raise ExpressionError(f"no point at {_text(point)}")
        self.read_bases.add(self._rests_on[key])
        numbers = self._numbers[key]
        if str(metric) not in numbers:
            hint = did_you_mean(str(metric), numbers)
            raise ExpressionError(f"metric '{metric}': not in the results{hint}")
        value, half = numbers[str(metric)]
        if value is None:
            raise ExpressionError(f"metric '{metric}': has no value at {_text(point)}")
        return value, half

    def _fixed(self, where: Mapping[str, ExpressionValue]) -> dict[str, Value]:
        named = [(axis_named(self._axes, name), value) for name, value in where.items()]
        return {axis.key: coordinate_on(axis, value) for axis, value in named}

    def _point(self, where: Mapping[str, ExpressionValue]) -> dict[str, Value]:
        return self._only(self._chosen(where, None))

    def _line(
        self, along: ExpressionValue, where: Mapping[str, ExpressionValue]
    ) -> list[dict[str, Value]]:
        axis = axis_named(self._axes, str(along))
        chosen = self._chosen(where, axis)
        if not chosen:
            raise ExpressionError(f"no point along {axis.key} at these values")
        return chosen

    def _chosen(
        self, where: Mapping[str, ExpressionValue], along: Axis | None
    ) -> list[dict[str, Value]]:
        """Return the points at `where`; every other axis than `along` must have one value."""
        fixed = self._fixed(where)
        chosen = [point for point in self._points if fixed.items() <= point.items()]
        for axis in self._axes:
            open_values = list(dict.fromkeys(point[axis.key] for point in chosen))
            if axis is not along and len(open_values) > 1:
                names = ", ".join(str(value) for value in open_values)
                raise ExpressionError(f"axis '{axis.argument}': say which value: {names}")
        return chosen

    def _only(self, chosen: list[dict[str, Value]]) -> dict[str, Value]:
        if len(chosen) != 1:
            raise ExpressionError("no such point: it is skipped or not included")
        return chosen[0]


def _numbers(done: Finished) -> _Numbers:
    """Return mean over the repeats and half interval of each number of a point."""
    found: _Numbers = {}
    for repeats in gather(done):
        values = [float(repeat.value) for repeat in repeats if repeat.value is not None]
        mean = sum(values) / len(values) if values else None
        across = _core.half_width_95(values)
        half = repeats[0].ci95 if across is None else across
        found[address(repeats[0].metric, repeats[0].component)] = (mean, half)
    return found


def _basis(wanted: ExpressionValue | None) -> ExpressionValue | None:
    if wanted not in (None, "fitted", "predicted"):
        raise ExpressionError(f"points={wanted!r}: allowed: 'fitted', 'predicted'")
    return wanted


def _key(axes: Mapping[str, Value]) -> _PointKey:
    return tuple(sorted(axes.items()))


def _text(point: Mapping[str, Value]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in point.items())


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
