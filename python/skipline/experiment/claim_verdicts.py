"""Judges the claims of an experiment by its results."""

import math
from collections.abc import Sequence
from functools import partial

from skipline._core import InputError
from skipline.experiment import intervals, nulls, table
from skipline.experiment.axis import Axis
from skipline.experiment.catalogue import Entry
from skipline.experiment.claim import (
    CheckBasis,
    Claim,
    ClaimCheck,
    ClaimCheckVerdict,
    ClaimVerdict,
    join_bases,
    join_verdicts,
    number_text,
)
from skipline.experiment.expression import ExpressionError, ExpressionValue, calls, evaluate
from skipline.experiment.list_functions import LIST_FUNCTIONS
from skipline.experiment.prediction import Prediction, PredictionNow
from skipline.experiment.readings import (
    READINGS,
    Readings,
    axis_named,
    check_keywords,
    coordinate_on,
)
from skipline.experiment.runner import Finished
from skipline.experiment.table import Comparison


def check_before(entry: Entry) -> None:
    """Refuse, before anything is simulated, expressions that cannot be right."""
    for prediction in entry.experiment.prediction:
        try:
            for call in calls(prediction.value):
                check_keywords(entry.experiment.axis, call, [*LIST_FUNCTIONS, *READINGS])
        except ExpressionError as error:
            raise InputError(_at_prediction(entry, prediction, error)) from error
    for claim in entry.experiment.claim:
        for check in claim.check:
            try:
                for call in calls(check.value):
                    check_keywords(entry.experiment.axis, call, [*LIST_FUNCTIONS, *READINGS])
            except ExpressionError as error:
                raise InputError(_place(entry, claim, check, error)) from error
        for null in claim.null:
            try:
                for name, value in (null.as_at | null.at).items():
                    coordinate_on(_axis_of(entry, name), value)
            except ExpressionError as error:
                raise InputError(
                    f"{entry.path}: claim '{claim.id}', null '{null.name}': {error}"
                ) from error


def _axis_of(entry: Entry, key: str) -> Axis:
    """Return the axis of a key; unlike expressions, tables of TOML can write any key."""
    axis = axis_named(entry.experiment.axis, key)
    if axis.key != key:
        raise ExpressionError(f"axis '{key}': write its key, '{axis.key}'")
    return axis


def _place(entry: Entry, claim: Claim, check: ClaimCheck, error: Exception) -> str:
    return f"{entry.path}: claim '{claim.id}', check '{check.text}': {error}"


def _at_prediction(entry: Entry, prediction: Prediction, error: Exception) -> str:
    return f"{entry.path}: prediction '{prediction.text}': {error}"


def of_predictions(
    entry: Entry, finished: Sequence[Finished], rows: list[Comparison]
) -> list[PredictionNow]:
    """Return what this version gives for each prediction of an experiment."""
    if not entry.experiment.prediction:
        return []
    readings = Readings(entry, [done for done in finished if not done.point.null], rows)
    found = []
    for one in entry.experiment.prediction:
        try:
            now = evaluate(one.value, {**LIST_FUNCTIONS, **readings.functions})
            if isinstance(now, bool) or not isinstance(now, float | int):
                raise ExpressionError(f"gives {now!r}, where one number is predicted")
        except ExpressionError as error:
            raise InputError(_at_prediction(entry, one, error)) from error
        kept = one.model_dump(include={"text", "unit", "predicted", "low", "high"})
        found.append(PredictionNow(**kept, now=now))
    return found


def of_experiment(
    entry: Entry, finished: Sequence[Finished], rows: list[Comparison]
) -> list[ClaimVerdict]:
    """Return the verdicts of all claims of an experiment, in its order."""
    if not entry.experiment.claim:
        return []
    readings = Readings(entry, [done for done in finished if not done.point.null], rows)
    readings.add_worlds([done for done in finished if done.point.null])
    return [_claim(entry, claim, readings) for claim in entry.experiment.claim]


def undecided(entry: Entry, finished: Sequence[Finished]) -> list[str]:
    """Return the claims of which these seeds decide."""
    own = [done for done in finished if not done.point.null]
    whole = table.build(entry.identifier, entry.experiment, own)
    rows = table.comparisons(table.simulated(entry.experiment, whole))
    readings = Readings(entry, own, rows)
    return [
        claim.id
        for claim in entry.experiment.claim
        if join_verdicts(_with_intervals(entry, claim, readings)) == "undecided"
    ]


def _claim(entry: Entry, claim: Claim, readings: Readings) -> ClaimVerdict:
    checks = _with_intervals(entry, claim, readings)
    if join_verdicts(checks) == "fails":
        return ClaimVerdict(id=claim.id, note=claim.note, checks=checks)
    answer = partial(_in_world, entry, claim, readings)
    tried, of_checks = nulls.judge(claim, entry.experiment.axis, readings.points, answer)
    checks = [
        check.model_copy(update={"refuted_by": model})
        for check, model in zip(checks, of_checks, strict=True)
    ]
    return ClaimVerdict(id=claim.id, note=claim.note, checks=checks, nulls=tried)


def _with_intervals(entry: Entry, claim: Claim, readings: Readings) -> list[ClaimCheckVerdict]:
    return intervals.with_intervals(
        _checks(entry, claim, readings),
        [partial(_run, entry, claim, readings, run) for run in range(readings.runs)],
    )


def _run(
    entry: Entry, claim: Claim, readings: Readings, run: int
) -> list[ClaimCheckVerdict] | None:
    """Judge the checks by one run of each point; None if some number does not exist in it."""
    try:
        return _checks(entry, claim, readings.of_run(run))
    except (InputError, ZeroDivisionError):
        return None


def _in_world(
    entry: Entry, claim: Claim, readings: Readings, world: nulls.World
) -> list[bool] | None:
    """Return which checks hold in a world of a null model."""
    try:
        return [check.holds for check in _checks(entry, claim, readings.in_world(world))]
    except (InputError, ZeroDivisionError):
        return None


def _checks(entry: Entry, claim: Claim, readings: Readings) -> list[ClaimCheckVerdict]:
    checks = []
    for check in claim.check:
        readings.read_bases.clear()
        try:
            value = evaluate(check.value, {**LIST_FUNCTIONS, **readings.functions})
            basis = join_bases({check.basis, *readings.read_bases})
            checks.append(_check(entry, check, value, basis))
        except ExpressionError as error:
            raise InputError(_place(entry, claim, check, error)) from error
    return checks


def _check(
    entry: Entry, check: ClaimCheck, value: ExpressionValue, basis: CheckBasis
) -> ClaimCheckVerdict:
    bounds = check.bounds
    if bounds is None:
        if not isinstance(value, bool):
            raise ExpressionError(
                "is not true or false; give expected and a tolerance, at_least or at_most"
            )
        return _verdict(entry, check, basis, str(value).lower(), None, value)
    if isinstance(value, bool) or not isinstance(value, float | int):
        raise ExpressionError(f"gives {value!r}, where one number is compared")
    if value == math.inf:
        # first() or crossing() found nothing.
        return _verdict(entry, check, basis, "nowhere", None, False)
    if not math.isfinite(value):
        raise ExpressionError(f"gives {value}, which is not a number")
    holds = bounds[0] <= value <= bounds[1]
    got = number_text(value, check.unit)
    return _verdict(entry, check, basis, got, float(value), holds)


def _verdict(
    entry: Entry,
    check: ClaimCheck,
    basis: CheckBasis,
    got: str,
    value: float | None,
    holds: bool,
) -> ClaimCheckVerdict:
    low, high = check.bounds or (None, None)
    return ClaimCheckVerdict(
        text=check.text,
        expression=" ".join(check.value.split()),
        expected=check.expectation,
        got=got,
        value=value,
        target=check.expected,
        low=low if low is not None and math.isfinite(low) else None,
        high=high if high is not None and math.isfinite(high) else None,
        unit=check.unit,
        source=check.source or entry.experiment.source,
        basis=basis,
        holds=holds,
    )
