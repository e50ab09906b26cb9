"""Runs the points of experiments as questions of sweeps: what a store has is not simulated again.

What is peculiar to experiments: the first point that fails ends all, each point belongs to a store
of its own experiment, and results come back with what verdicts depend on.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

from skipline.experiment.points import Point
from skipline.runs import identity
from skipline.store.kept_results import KeptResult
from skipline.store.writing import Member, SweepIdentity, Writer
from skipline.sweeps.runner import Pace, Policy, Runner, Tally, Wanted
from skipline.sweeps.simulate import Request
from skipline.sweeps.threads import Threads
from skipline.text.terminal import Bar

# Points of an experiment take long, and threads cost nothing to ask: each is kept when it is done.
_POLICY = Policy(fail_fast=True, largest_chunk=1)
_NULL_MODEL = "null model"


class Finished(NamedTuple):
    """A point with the results of its repeats, in the order of their seeds."""

    point: Point
    results: list[KeptResult]


class Batch(NamedTuple):
    """Points to run with each of `seeds`, and the file of the store that keeps their results.

    In the store they are a sweep of the title `name`.
    """

    name: str
    points: list[Point]
    seeds: range
    store: str


class Ran(NamedTuple):
    """The finished points of a batch; of those with an index in `simulated` some run is new."""

    finished: list[Finished]
    simulated: frozenset[int]
    simulated_wall_s: float

    @property
    def reused(self) -> int:
        """The number of the experiment's own points that were kept from an earlier run."""
        own = (index for index, done in enumerate(self.finished) if not done.point.null)
        return sum(index not in self.simulated for index in own)


def run(batches: Sequence[Batch], jobs: int, bar: Bar) -> list[Ran]:
    """Return every point of every batch with its results, in order.

    On Ctrl-C, or when a run fails, what was finished stays in the stores.
    """
    with ExitStack() as stack:
        paths = dict.fromkeys(batch.store for batch in batches)
        writers = {path: stack.enter_context(Writer(path)) for path in paths}
        files = identity.Files()
        plans = [_Plan(batch, writers[batch.store], files) for batch in batches]
        for plan in plans:
            plan.read()
        _simulate(plans, jobs, bar)
        return [plan.ran() for plan in plans]


def _simulate(plans: Sequence["_Plan"], jobs: int, bar: Bar) -> None:
    """Simulate what the stores lack, and read it from there."""
    wanted = list(_wanted(plans))
    total = len({question for plan in plans for question in plan.questions.values()})
    kept = total - len(wanted)

    def report(pace: Pace, tally: Tally) -> None:
        finished = kept + tally.new.total()
        bar.reckon((kept + pace.known) / total)
        bar.update((kept + pace.simulated) / total, f"run {finished} of {total}")

    if wanted:
        with Threads(min(jobs, len(wanted))) as threads:
            Runner(wanted, _POLICY, report).run(threads)
        for plan in plans:
            plan.read()


def _wanted(plans: Iterable["_Plan"]) -> Iterator[Wanted]:
    """Yield the runs that some store lacks, each question once."""
    found: dict[str, Wanted] = {}
    for plan in plans:
        for one in plan.wanted():
            known = found.get(one.request.question, one._replace(stores=()))
            found[one.request.question] = one._replace(stores=(*known.stores, plan.writer))
    return iter(found.values())


class _Run(NamedTuple):
    """A repeat of a point; the index of the point, and its seed."""

    point: int
    seed: int


class _Plan:
    """A batch with the questions of its runs, and those results that its store has."""

    def __init__(self, batch: Batch, writer: Writer, files: identity.Files) -> None:
        self._batch = batch
        self.writer = writer
        # Before any run: a file that is edited meanwhile must not pass for the one that was read.
        self._inputs = [identity.inputs(one.scenario, one.overrides, files) for one in batch.points]
        self.questions = {
            _Run(index, seed): inputs.question(seed)
            # Points of one seed often begin alike, and the core keeps what their caches hold then.
            for seed in batch.seeds
            for index, inputs in enumerate(self._inputs)
        }
        self._found: dict[str, KeptResult] = {}
        self.missing: list[_Run] = []

    def read(self) -> None:
        """Read the results that the store has by now; note what it lacks when first asked."""
        lacking = [one for one in self.questions.values() if one not in self._found]
        self._found |= self.writer.kept_results(lacking, identity.simulator())
        self.missing = self.missing or [
            run for run, question in self.questions.items() if question not in self._found
        ]

    def wanted(self) -> Iterator[Wanted]:
        """Record what the batch asks, and yield the runs that its store lacks."""
        self._record()
        self._remove_invalid()
        for run in self.missing:
            point = self._batch.points[run.point]
            question = self.questions[run]
            request = Request(question, point.scenario, point.overrides, run.seed)
            yield Wanted(request, self._inputs[run.point].files, (self.writer,))

    def _record(self) -> None:
        """Keep what the batch asks as a sweep, so that `skipline store` shows its points."""
        points = self._batch.points
        digest = identity.digest("points", self._batch.name)
        if set(self.questions.values()) <= set(self.writer.known_members(digest) or []):
            return
        keys = list(dict.fromkeys(key for point in points for key in _axes(point)))
        files = {name: found for one in self._inputs for name, found in one.files.items()}
        members = [
            Member(question, run.seed, _axes(points[run.point]))
            for run, question in self.questions.items()
        ]
        self.writer.record_sweep(
            SweepIdentity(digest, self._batch.name, points[0].scenario, keys, files), members
        )

    def _remove_invalid(self) -> None:
        """Remove results that were damaged, or lack what verdicts need: new ones come."""
        asked = [self.questions[run] for run in self.missing]
        there = self.writer.statuses_of(asked) if asked else {}
        self.writer.remove([pair for pair in there if pair[1] == identity.simulator()])

    def ran(self) -> Ran:
        """Return the points with their results."""
        finished = [
            Finished(
                point,
                [self._found[self.questions[_Run(at, seed)]] for seed in self._batch.seeds],
            )
            for at, point in enumerate(self._batch.points)
        ]
        simulated = frozenset(run.point for run in self.missing)
        wall_s = sum(self._found[self.questions[run]].wall_s for run in self.missing)
        return Ran(finished, simulated, wall_s)


def _axes(point: Point) -> dict[str, Any]:
    """Return the coordinates of a point; those of null models are on an axis of their own."""
    return {**point.axes, _NULL_MODEL: point.null} if point.null else dict(point.axes)
