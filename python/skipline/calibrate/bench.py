"""Simulates the candidates of a calibration and gathers what they say into its result."""

from dataclasses import replace
from pathlib import Path

from skipline import _core
from skipline._core import InputError
from skipline.calibrate import numbers, search, validation
from skipline.calibrate.definition import Calibration
from skipline.calibrate.numbers import Errors, Target
from skipline.calibrate.result import CalibrationResult, NumberError, Ranked
from skipline.calibrate.search import Candidate, Tried
from skipline.experiment import runner
from skipline.experiment.runner import Batch
from skipline.text.terminal import Bar

CANDIDATES_FILE = "candidates.duckdb"


def check(calibration: Calibration, targets: list[Target], path: str) -> None:
    """Refuse settings that the core does not take, and keys that leave nothing out."""
    _check_left_out(calibration, targets, path)
    first = search.start(calibration)
    wanted = {parameter.key: parameter for parameter in calibration.parameter}
    ends = [
        Candidate(first.choices, {**first.parameters, key: end})
        for key, parameter in wanted.items()
        for end in (parameter.low, parameter.high)
    ]
    for candidate in [first, *search.neighbours(calibration, first), *ends]:
        point = _with(targets[0], candidate, calibration).point
        try:
            _core.check_scenario(point.scenario, point.overrides)
        except InputError as error:
            raise InputError(f"{path}: candidate '{candidate.label}': {error}") from error


def _check_left_out(calibration: Calibration, targets: list[Target], path: str) -> None:
    kinds = [one.kinds for target in targets if target.fits for one in target.measurements]
    for at, key in enumerate(calibration.leave_out):
        if all(kind[at] == kinds[0][at] for kind in kinds):
            raise InputError(
                f"{path}: leave_out = '{key}': all points that choose are alike in it; allowed are "
                f"'{numbers.EXPERIMENT}' and scenario keys that axes or [fixed] tables state"
            )


def _with(target: Target, candidate: Candidate, calibration: Calibration) -> Target:
    settings = target.point.settings | candidate.settings(calibration)
    return replace(target, point=replace(target.point, settings=settings))


class Bench:
    """Simulates candidates at the fit points or at the others, and keeps what is finished."""

    def __init__(
        self, calibration: Calibration, targets: list[Target], directory: Path, jobs: int, bar: Bar
    ) -> None:
        self._calibration = calibration
        self._targets = targets
        self._directory = directory
        self._jobs = jobs
        self._bar = bar

    def at_fit_points(self, candidate: Candidate) -> Errors:
        """Simulate the points whose data choose."""
        return self._errors(candidate, [target for target in self._targets if target.fits])

    def held_out(self, candidate: Candidate) -> Errors:
        """Simulate the points whose data only judge."""
        return self._errors(candidate, [target for target in self._targets if not target.fits])

    def _errors(self, candidate: Candidate, targets: list[Target]) -> Errors:
        if not targets:
            return {}
        chosen = [_with(target, candidate, self._calibration) for target in targets]
        label = candidate.label
        seeds = range(_core.DEFAULT_SEED, _core.DEFAULT_SEED + self._calibration.repeats)
        store = str(self._directory / CANDIDATES_FILE)
        batches = []
        for identifier in dict.fromkeys(target.experiment for target in chosen):
            points = [target.point for target in chosen if target.experiment == identifier]
            batches.append(Batch(f"{label}: {identifier}", points, seeds, store))
        ran = runner.run(batches, self._jobs, _Labelled(self._bar, label))
        finished = [done for batch in ran for done in batch.finished]
        return numbers.errors(chosen, finished)


class _Labelled(Bar):
    """A bar that names the candidate in hand: how many there will be is not known."""

    def __init__(self, bar: Bar, label: str) -> None:
        self._bar = bar
        self._label = label

    def update(self, fraction: float, description: str | None = None) -> None:
        self._bar.update(fraction, f"{self._label}: {description or ''}")

    def reckon(self, share: float) -> None:
        # Of an unknown number of candidates no share is known.
        self._bar.reckon(min(share, 0.0))


def calibrate(identifier: str, calibration: Calibration, bench: Bench) -> CalibrationResult:
    """Try candidates, cross-validate the best, and say what data chose it."""
    tried = search.search(calibration, bench.at_fit_points)
    best = tried[0]
    folds = validation.folds(calibration, tried)
    held_out = bench.held_out(best.candidate)
    by_label = {entry.candidate.label: entry for entry in tried}
    first = by_label[search.start(calibration).label]
    return CalibrationResult(
        identifier=identifier,
        title=calibration.title,
        platform=calibration.platform,
        version=_core.version(),
        experiments=calibration.experiments,
        fit_numbers=len(best.errors),
        held_out_numbers=len(held_out),
        start_error=first.score,
        fit_error=best.score,
        held_out_error=numbers.score(held_out),
        choices=best.candidate.choices,
        parameters=best.candidate.parameters,
        settings=best.candidate.settings(calibration),
        answers=_answers(calibration, bench, best, folds),
        folds=folds,
        ranking=[
            Ranked(
                candidate=entry.candidate.label,
                settings=entry.candidate.settings(calibration),
                fit_error=entry.score,
            )
            for entry in tried
        ],
        numbers=_number_errors(best.errors | held_out),
    )


def _answers(
    calibration: Calibration, bench: Bench, best: Tried, folds: list[validation.Fold]
) -> list[validation.Answer]:
    """Answer each hypothesis in every way beside the best candidate, on all data."""
    found = []
    for hypothesis in calibration.hypothesis:
        for choice in hypothesis.choice:
            choices = {**best.candidate.choices, hypothesis.name: choice.name}
            candidate = Candidate(choices, best.candidate.parameters)
            entry = Tried(candidate, bench.at_fit_points(candidate))
            held_out = bench.held_out(candidate)
            found.append(validation.answer(hypothesis.name, entry, best, held_out, folds))
    return found


def _number_errors(errors: Errors) -> list[NumberError]:
    return [
        NumberError(
            number=number.label,
            basis="fitted" if number.fits else "predicted",
            measured=number.measured,
            error=error,
            unit="pp" if number.judged.error == "points" else "%",
        )
        for number, error in errors.items()
    ]
