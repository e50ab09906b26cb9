"""Runs experiments in rounds: more seeds where those so far leave a claim undecided.

A claim is looked at after each round. Its interval is that of a fixed number of seeds, so that a
number close to a bound counts as decided by chance somewhat more often than once in twenty.
"""

from collections.abc import Sequence

from skipline.experiment import claim_verdicts, runner
from skipline.experiment.preparation import Prepared
from skipline.experiment.runner import Batch, Ran
from skipline.text.terminal import Bar


def run(prepared: Sequence[Prepared], jobs: int, bar: Bar) -> list[Ran]:
    """Return the points of each experiment, with its `repeats` or as many as its claims take."""
    batches = [one.batch for one in prepared]
    found = runner.run(batches, jobs, bar)
    looked_at = list(range(len(prepared)))
    while more := {
        number: wider
        for number in looked_at
        if (wider := _with_more_seeds(prepared[number], batches[number], found[number])) is not None
    }:
        again = runner.run(list(more.values()), jobs, bar)
        for (number, batch), ran in zip(more.items(), again, strict=True):
            batches[number], found[number] = batch, _joined(found[number], ran)
        looked_at = list(more)
    return found


def _with_more_seeds(prepared: Prepared, batch: Batch, ran: Ran) -> Batch | None:
    """Return the batch with twice the seeds, or None where they decide or none is left."""
    most = prepared.entry.experiment.most_repeats or 0
    count = min(2 * len(batch.seeds), most)
    if count <= len(batch.seeds) or not claim_verdicts.undecided(prepared.entry, ran.finished):
        return None
    return batch._replace(seeds=range(batch.seeds.start, batch.seeds.start + count))


def _joined(before: Ran, later: Ran) -> Ran:
    wall_s = before.simulated_wall_s + later.simulated_wall_s
    return Ran(later.finished, before.simulated | later.simulated, wall_s)
