"""Null models: worlds in which a claim must not hold.

In one nothing changes along an axis: each point gives what it gives at a value of that axis, and
whichever value that is, the claim fails. In another all points give the same, whichever point that
is. A claim may name one value (DDIO off, buffers anywhere, copies by the core), or settings with
which its points are simulated once more, for claims of which no point of theirs is the opposite. A
claim that fails in none of them is *weak*: it would hold for a model that knows nothing of what it
claims.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from skipline.experiment.claim import Claim, NullVerdict
from skipline.experiment.definition import Axis, Value

# One world: the coordinates that each point gets instead of its own, or the name of a null model
# whose points were simulated.
AsAt = Mapping[str, Value]
World = AsAt | str
# Whether each check of the claim holds there; None if some number does not exist there.
Answer = Callable[[World], list[bool] | None]


class Judged(NamedTuple):
    """The null models that were tried, and for each check one in which it fails, or ""."""

    models: list[NullVerdict]
    of_checks: list[str]


def judge(claim: Claim, axes: Sequence[Axis], points: Sequence[AsAt], answer: Answer) -> Judged:
    """Try the models one after the other until the claim and each check has failed in one.

    Those that the claim names come first.
    """
    found: list[NullVerdict] = []
    of_checks = [""] * len(claim.check)
    for name, worlds in _models(claim, axes, points):
        answers = [answered for world in worlds if (answered := answer(world)) is not None]
        fails = bool(answers) and not any(all(answered) for answered in answers)
        found.append(NullVerdict(name=name, fails=fails))
        for number, known in enumerate(of_checks):
            if not known and answers and not any(answered[number] for answered in answers):
                of_checks[number] = name
        if all(of_checks) and any(verdict.fails for verdict in found):
            break
    return Judged(found, of_checks)


def _models(
    claim: Claim, axes: Sequence[Axis], points: Sequence[AsAt]
) -> Iterator[tuple[str, Sequence[World]]]:
    """Yield each null model with its worlds: the claim has to fail in all of one model."""
    for null in claim.null:
        yield null.name, [null.name if null.set else null.as_at]
    several = [axis for axis in axes if len(axis.coordinates) > 1]
    for axis in several:
        yield f"{axis.label}: no effect", [{axis.key: value} for value in axis.coordinates]
    if len(several) > 1:
        yield "the same everywhere", points
