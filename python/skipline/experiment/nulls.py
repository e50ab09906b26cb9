"""Null models: worlds in which a claim must not hold, made of the experiment's own points.

In one nothing changes along an axis: each point gives what it gives at a value of that axis, and
whichever value that is, the claim fails. In another all points give the same, whichever point that
is. A claim may name one value: DDIO off, buffers anywhere, copies by the core. A claim that fails
in none of them is *weak*: it would hold for a model that knows nothing of what it claims.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from skipline.experiment.claim import Claim, NullVerdict
from skipline.experiment.definition import Axis, Value

# One world: the coordinates that each point gets instead of its own.
AsAt = Mapping[str, Value]
# Whether the claim holds there; None if some number does not exist there.
Holds = Callable[[AsAt], bool | None]


def judge(
    claim: Claim, axes: Sequence[Axis], points: Sequence[AsAt], holds: Holds
) -> list[NullVerdict]:
    """Try the worlds one after the other until the claim fails in one of them.

    Those that it names come first; the last verdict tells whether it has failed.
    """
    found = []
    for name, worlds in _models(claim, axes, points):
        answers = [answer for world in worlds if (answer := holds(world)) is not None]
        found.append(NullVerdict(name=name, fails=bool(answers) and not any(answers)))
        if found[-1].fails:
            break
    return found


def _models(
    claim: Claim, axes: Sequence[Axis], points: Sequence[AsAt]
) -> Iterator[tuple[str, Sequence[AsAt]]]:
    """Yield each null model with its worlds: the claim has to fail in all of one model."""
    for null in claim.null:
        yield null.name, [null.as_at]
    several = [axis for axis in axes if len(axis.coordinates) > 1]
    for axis in several:
        yield f"{axis.label}: no effect", [{axis.key: value} for value in axis.coordinates]
    if len(several) > 1:
        yield "the same everywhere", points
