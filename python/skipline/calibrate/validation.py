"""Would other data have chosen alike? Cross-validation, and what the held-out points say."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from skipline.calibrate.definition import Calibration
from skipline.calibrate.numbers import Errors, Measurement, score
from skipline.calibrate.search import Tried


class Fold(BaseModel):
    """One part of the fit numbers left out: what the others choose, and how it does on them."""

    model_config = ConfigDict(frozen=True)

    left_out: str
    numbers: int
    chosen: str
    choices: dict[str, str]
    error_on_others: float
    error_left_out: float


class DistinguishingNumber(BaseModel):
    """A number whose error differs most between two answers: it is what told them apart."""

    model_config = ConfigDict(frozen=True)

    number: str
    measured: float
    error_of_chosen: float
    error_of_other: float


class Answer(BaseModel):
    """A choice of a hypothesis, all else as in the best candidate."""

    model_config = ConfigDict(frozen=True)

    hypothesis: str
    choice: str
    is_chosen: bool
    fit_error: float
    held_out_error: float
    chosen_in_folds: int
    telling: list[DistinguishingNumber]


# Numbers named for each rejected answer.
_TELLING = 3


def folds(calibration: Calibration, tried: Sequence[Tried]) -> list[Fold]:
    """Leave out each kind of point, or every k-th point, in turn.

    All numbers of a point stay together. A kind that has all points cannot be left out.
    """
    numbers = list(tried[0].errors)
    parts = _kinds(numbers) if calibration.leave_out else _slices(numbers, calibration.folds)
    return [
        _fold(tried, numbers, name, part)
        for name, part in parts.items()
        if 0 < len(part) < len(numbers)
    ]


def _kinds(numbers: Sequence[Measurement]) -> dict[str, list[Measurement]]:
    parts: dict[str, list[Measurement]] = {}
    for number in numbers:
        for kind in number.kinds:
            parts.setdefault(kind, []).append(number)
    return dict(sorted(parts.items(), key=lambda part: _order(part[0])))


def _order(kind: str) -> tuple[str, float, str]:
    """Order kinds by key, then by value: 2 is before 18."""
    key, _, value = kind.partition(" = ")
    return (key, float(value), "") if value.replace(".", "", 1).isdigit() else (key, 0.0, value)


def _slices(numbers: Sequence[Measurement], folds: int) -> dict[str, list[Measurement]]:
    points = list(dict.fromkeys((n.experiment, n.point_name) for n in numbers))
    count = min(folds, len(points))
    return {
        f"part {first + 1} of {count}": [
            n for n in numbers if (n.experiment, n.point_name) in points[first::count]
        ]
        for first in range(count)
    }


def _fold(
    tried: Sequence[Tried], numbers: list[Measurement], name: str, part: list[Measurement]
) -> Fold:
    others = [n for n in numbers if n not in part]
    best = min(tried, key=lambda entry: score(entry.errors, among=others))
    return Fold(
        left_out=name,
        numbers=len(part),
        chosen=best.candidate.label,
        choices=best.candidate.choices,
        error_on_others=score(best.errors, among=others),
        error_left_out=score(best.errors, among=part),
    )


def answer(
    hypothesis: str, entry: Tried, best: Tried, held_out: Errors, folds: Sequence[Fold]
) -> Answer:
    """Compare an answer with the chosen one, with the numbers that distinguish them."""
    choice = entry.candidate.choices[hypothesis]
    is_chosen = choice == best.candidate.choices[hypothesis]
    return Answer(
        hypothesis=hypothesis,
        choice=choice,
        is_chosen=is_chosen,
        fit_error=entry.score,
        held_out_error=score(held_out),
        chosen_in_folds=sum(fold.choices[hypothesis] == choice for fold in folds),
        telling=[] if is_chosen else _distinguishing_numbers(entry, best),
    )


def _distinguishing_numbers(entry: Tried, best: Tried) -> list[DistinguishingNumber]:
    def loss(number: Measurement) -> float:
        return number.judged.weight * (abs(entry.errors[number]) - abs(best.errors[number]))

    numbers = sorted(best.errors, key=loss, reverse=True)[:_TELLING]
    return [
        DistinguishingNumber(
            number=number.label,
            measured=number.measured,
            error_of_chosen=best.errors[number],
            error_of_other=entry.errors[number],
        )
        for number in numbers
        if loss(number) > 0
    ]
