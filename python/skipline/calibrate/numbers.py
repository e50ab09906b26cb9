"""The numbers that candidates are judged by: errors of simulated against measured."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from skipline._core import InputError
from skipline.calibrate.definition import Calibration, Judged
from skipline.experiment import catalogue
from skipline.experiment.points import Point, points
from skipline.experiment.runner import Finished
from skipline.store.kept_results import KeptResult

# What a calibration may leave out beside the values of scenario keys.
EXPERIMENT = "experiment"


@dataclass(frozen=True)
class Measurement:
    """One measured number: its point, its metric, and whether it may choose.

    `kinds` names what a calibration leaves out together with it, as `cores = 2`.
    """

    experiment: str
    point_name: str
    judged: Judged
    fits: bool
    measured: float
    kinds: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The measurement's name."""
        return f"{self.experiment}: {self.point_name}: {self.judged.metric}"

    def error(self, predicted: float) -> float:
        """Return predicted - measured, in percentage points or in percent of the measured."""
        difference = predicted - self.measured
        return difference if self.judged.error == "points" else 100 * difference / self.measured


@dataclass(frozen=True)
class Target:
    """A point to simulate and the numbers measured there."""

    experiment: str
    point: Point
    measurements: tuple[Measurement, ...]

    @property
    def fits(self) -> bool:
        """Whether its numbers choose; otherwise they only judge."""
        return self.point.basis == "fitted"


def targets(calibration: Calibration) -> list[Target]:
    """Return every point of the experiments that has a number to compare."""
    found = []
    for identifier in calibration.experiments:
        entry = catalogue.find(identifier)
        for point in points(entry):
            name = entry.experiment.point_name(point.axes)
            measured = _measurements(calibration, entry.identifier, name, point)
            if measured:
                found.append(Target(entry.identifier, point, tuple(measured)))
    if not any(target.fits for target in found):
        raise InputError(
            f"experiments {', '.join(calibration.experiments)}: no measured number at their "
            "fit_points: nothing can choose"
        )
    return found


def _measurements(
    calibration: Calibration, experiment: str, name: str, point: Point
) -> Iterable[Measurement]:
    for judged in calibration.judged:
        entry = point.measured.get(judged.metric)
        if entry is None or (judged.below is not None and entry.mean >= judged.below):
            continue
        fits = point.basis == "fitted"
        kinds = tuple(_kind(key, experiment, point) for key in calibration.leave_out)
        yield Measurement(experiment, name, judged, fits, entry.mean, kinds)


def _kind(key: str, experiment: str, point: Point) -> str:
    """Name the points that a calibration leaves out together with a point, by a key."""
    value = experiment if key == EXPERIMENT else point.settings.get(key, "as in the scenario")
    return f"{key} = {value}"


Errors = dict[Measurement, float]


def errors(targets: Sequence[Target], finished: Sequence[Finished]) -> Errors:
    """Compare the mean of each point's repeats with what was measured."""
    found: Errors = {}
    for target, done in zip(targets, finished, strict=True):
        for measurement in target.measurements:
            values = [_simulated(measurement, result) for result in done.results]
            found[measurement] = measurement.error(sum(values) / len(values))
    return found


def _simulated(measurement: Measurement, result: KeptResult) -> float:
    found = result.number(measurement.judged.metric)
    if found is None:
        raise InputError(f"{measurement.label}: has no value; leave it out of [[judged]]")
    return found


def score(errors: Errors, *, among: Iterable[Measurement] | None = None) -> float:
    """Return the weighted mean of the absolute errors, of all numbers or of those `among`."""
    chosen = errors if among is None else [number for number in among if number in errors]
    weights = sum(number.judged.weight for number in chosen)
    if weights == 0:
        return float("nan")
    return sum(number.judged.weight * abs(errors[number]) for number in chosen) / weights
