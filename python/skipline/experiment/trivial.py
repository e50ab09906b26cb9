"""Predictors without a model: the baseline that a model must beat."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from skipline._core import InputError
from skipline.experiment.checks import BASES, select
from skipline.experiment.definition import Basis, Experiment, Setting, Trivial
from skipline.experiment.table import Comparison
from skipline.platforms import platform_facts
from skipline.runs import rings


class TrivialScore(BaseModel):
    """Mean absolute error of a trivial predictor of hit rates over the points of a check.

    `value` is over all of them, `by_basis` over those that the model was, or was not, fitted on.
    """

    model_config = ConfigDict(frozen=True)

    text: str
    value: float
    by_basis: dict[Basis, float]
    fitted_on: str | None = None


@dataclass(frozen=True)
class Target:
    """A measured hit rate and what a trivial predictor knows about its point."""

    measured: float
    basis: Basis
    settings: dict[str, Setting]
    way_bytes: float


def targets(
    experiment: Experiment, rows: Sequence[Comparison], way_bytes: float | None
) -> list[Target]:
    """Return the measured hit rates that the trivial predictors are judged on."""
    trivial = experiment.trivial
    if trivial is None or way_bytes is None:
        return []
    check = next(check for check in experiment.check if check.name == trivial.check)
    return [
        Target(row.measured / 100, row.basis, {**experiment.fixed, **row.axes}, way_bytes)
        for row in select(check, rows)
    ]


def scores(aims: Sequence[Target], backlogs: Sequence[int]) -> list[TrivialScore]:
    """Score the constant 100 % and each footprint formula with its best constant."""
    if not aims:
        return []
    constant = _score("constant 100 %", aims, [1.0] * len(aims), None)
    return [constant] + [_formula_score(aims, backlog) for backlog in backlogs]


def _formula_score(aims: Sequence[Target], backlog: int) -> TrivialScore:
    ratios = [_capacity_over_footprint(aim, backlog) for aim in aims]
    c = best_constant(ratios, [aim.measured for aim in aims])
    footprint = f"bytes of ring and {backlog} more buffers" if backlog else "bytes of ring"
    return _score(
        f"min(1, {c:.2f} × bytes of DDIO ways / {footprint})",
        aims,
        [min(1.0, c * ratio) for ratio in ratios],
        "these configurations",
    )


def _score(
    text: str, aims: Sequence[Target], predicted: Sequence[float], fitted_on: str | None
) -> TrivialScore:
    errors = [100 * abs(p - aim.measured) for p, aim in zip(predicted, aims, strict=True)]
    by_basis = {
        basis: [e for e, aim in zip(errors, aims, strict=True) if aim.basis == basis]
        for basis in BASES
    }
    return TrivialScore(
        text=text,
        value=sum(errors) / len(errors),
        by_basis={basis: sum(of) / len(of) for basis, of in by_basis.items() if of},
        fitted_on=fitted_on,
    )


def _capacity_over_footprint(aim: Target, backlog: int) -> float:
    keys = ("packet_bytes", "rx_descriptors", "ddio_ways")
    packet_bytes, rx_descriptors, ways = (float(str(aim.settings[key])) for key in keys)
    footprint = rings.data_bytes(rx_descriptors + backlog, packet_bytes)
    return ways * aim.way_bytes / footprint


def best_constant(ratios: list[float], measured: list[float]) -> float:
    """Return the c that makes min(1, c x ratio) the least-squares fit of `measured`.

    Between two neighbouring values of 1 / ratio the set of points at 1 is fixed and the sum of
    squares is a parabola in c, so the best c of each such stretch is known exactly.
    """
    pairs = sorted(zip(ratios, measured, strict=True), reverse=True)
    corners = [1 / ratio for ratio, _ in pairs] + [math.inf]
    candidates = corners[:-1]
    for clipped in range(len(pairs)):
        free = pairs[clipped:]
        low = corners[clipped - 1] if clipped else 0.0
        optimum = sum(r * h for r, h in free) / sum(r * r for r, _ in free)
        candidates.append(min(max(optimum, low), corners[clipped]))
    return min(candidates, key=lambda c: sum((min(1.0, c * r) - h) ** 2 for r, h in pairs))


def capacity_of_a_way(trivial: Trivial, platform: str, scenario: str) -> float:
    """Return the bytes that one way of the LLC holds on `platform`, which `scenario` names."""
    product = 1.0
    for factor in trivial.way_bytes:
        value = (
            platform_facts.number(platform, factor, scenario)
            if isinstance(factor, str)
            else float(factor)
        )
        if value is None:
            raise InputError(
                f"trivial.way_bytes: platform '{platform}' has no number '{factor}'; "
                f"see skipline platforms show {platform}"
            )
        product *= value
    return product
