"""Several experiments on one set of parameters: their common checks, over all points."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from skipline.experiment import checks, trivial
from skipline.experiment.outcome import Outcome


class Together(BaseModel):
    """Verdicts and trivial predictors over the points of several experiments."""

    model_config = ConfigDict(frozen=True)

    identifiers: list[str]
    points: int
    verdicts: list[checks.ErrorVerdict]
    trivial_check: str | None
    trivial: list[trivial.TrivialScore]
    line_ops: int
    wall_s: float


def combine(outcomes: Sequence[Outcome]) -> Together:
    """Apply the checks that all experiments share to all their numbers."""
    experiments = [outcome.summary.experiment for outcome in outcomes]
    first = experiments[0]
    shared = [check for check in first.check if all(check in e.check for e in experiments)]
    rows = [row for outcome in outcomes for row in outcome.rows]
    yardstick = first.trivial if all(e.trivial == first.trivial for e in experiments) else None
    aims = [
        target
        for outcome in outcomes
        for target in trivial.targets(
            outcome.summary.experiment, outcome.rows, outcome.summary.way_bytes
        )
    ]
    return Together(
        identifiers=[outcome.summary.identifier for outcome in outcomes],
        points=sum(outcome.summary.points for outcome in outcomes),
        verdicts=checks.error_verdicts(shared, rows),
        trivial_check=yardstick.check if yardstick else None,
        trivial=trivial.scores(aims, yardstick.backlog_buffers) if yardstick else [],
        line_ops=sum(outcome.summary.line_ops for outcome in outcomes),
        wall_s=sum(outcome.summary.wall_s for outcome in outcomes),
    )
