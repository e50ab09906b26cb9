"""Runs a sweep: plans it, and has what its store lacks simulated by the processes of an engine."""

import dataclasses
import os
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from skipline.runs import identity
from skipline.store import opening
from skipline.store.writing import Writer
from skipline.sweeps.definition import Definition
from skipline.sweeps.engine import Engine
from skipline.sweeps.plan import Plan, plan
from skipline.sweeps.runner import Pace, Policy, Runner, Tally, Wanted
from skipline.sweeps.workers import Workers

# How the description of the progress begins before the first point is simulated.
PLANNING = "looking at the points"

Progress = Callable[[float, str], None]
# Called before each progress with the share that is done for certain (`Bar.reckon`).
Reckon = Callable[[float], None]


class Options(NamedTuple):
    """How a sweep runs; none of these options changes its numbers.

    With `impossible_values` a value with which no point is possible is not refused. At `until`, in
    seconds of `time.monotonic`, runs under way are given up; they are missing then. `workers` are
    there already and stay; without, a sweep starts its own. `reckon` is told what forecasts may
    rest on.
    """

    engine: Engine
    limit: int | None = None
    first_failure: bool = False
    retry_failed: bool = False
    impossible_values: bool = False
    until: float | None = None
    workers: Workers | None = None
    reckon: Reckon | None = None


@dataclasses.dataclass
class Summary:
    """The outcome of a sweep: runs in all, reused ones, and those of this call by status."""

    sweep: int
    points: int
    reused: int
    tally: Tally

    @property
    def new(self) -> Counter[str]:
        """The runs of this call, by status."""
        return self.tally.new

    @property
    def first_error(self) -> str:
        """Why the first of the failed runs of this call failed."""
        return self.tally.first_error

    @property
    def missing(self) -> int:
        """Runs that are still to be simulated."""
        return self.points - self.reused - self.new["done"] - self.new["failed"]

    def summary_line(self, store: str) -> str:
        """Return one line with the counts and the file `store`."""
        facts = [f"{self.new['done']:,} simulated", f"{self.reused:,} reused"]
        facts += [f"{self.new['failed']:,} failed"] if self.new["failed"] else []
        facts += [f"{self.missing:,} still missing"] if self.missing else []
        return f"{store}: sweep {self.sweep}, {self.points:,} points: {', '.join(facts)}"


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in a sweep; `summary` is what it had done by then."""

    def __init__(self, summary: Summary) -> None:
        super().__init__()
        self.summary = summary


def run(definition: Definition, store: str, options: Options, progress: Progress) -> Summary:
    """Simulate what the store does not have; InputError for bad input, before anything runs.

    RunError if the store cannot be written, or no worker starts. What was written stays.
    """
    opening.require_room(store, definition.check())
    summary: Summary | None = None
    try:
        with Writer(store) as writer:
            summary = run_into(writer, definition, options, progress)
    except KeyboardInterrupt as interruption:
        if summary is None or isinstance(interruption, Interrupted):
            raise
        raise Interrupted(summary) from None
    return summary


def run_into(
    writer: Writer, definition: Definition, options: Options, progress: Progress
) -> Summary:
    """Simulate like `run`, with a store that is open."""
    planned = plan(
        definition,
        writer.known_members,
        os.cpu_count() or 1,
        # Nothing is simulated yet: a bar that these shares moved would go back.
        lambda share: progress(0.0, f"{PLANNING}, {share:.0%}"),
        impossible_values=options.impossible_values,
    )
    number = writer.record_sweep(planned.head, planned.members)
    return _Sweep(writer, planned, options, progress).run(number)


class _Sweep:
    """A sweep that runs."""

    def __init__(self, writer: Writer, planned: Plan, options: Options, progress: Progress) -> None:
        self._writer = writer
        self._plan = planned
        self._options = options
        self._progress = progress
        self._reused = 0

    def run(self, number: int) -> Summary:
        refused, wanted = self._wanted()
        policy = Policy(self._options.first_failure, until=self._options.until)
        runner = Runner(wanted, policy, partial(self._report, len(wanted)))
        summary = Summary(number, len(self._plan.requests), self._reused, runner.tally)
        runner.refuse(refused)
        if not wanted or runner.tally.stopped:
            return summary
        try:
            if self._options.workers is not None:
                runner.run(self._options.workers)
                self._options.workers.give_up()
            else:
                with Workers(self._options.engine, len(wanted)) as workers:
                    runner.run(workers)
        except KeyboardInterrupt:
            raise Interrupted(summary) from None
        return summary

    def _wanted(self) -> tuple[list[tuple[Wanted, str]], list[Wanted]]:
        """Return the runs that are not there, each question once: impossible ones, and others."""
        statuses = self._writer.statuses(identity.simulator())
        kept = {"done"} if self._options.retry_failed else {"done", "failed"}
        seen: set[str] = set()
        refused, wanted = [], []
        for request in self._plan.requests:
            if statuses.get(request.question) in kept or request.question in seen:
                self._reused += 1
                continue
            seen.add(request.question)
            one = Wanted(request, self._plan.head.files, (self._writer,))
            fault = self._plan.refused.get(request.question)
            if fault is None:
                wanted.append(one)
            else:
                refused.append((one, fault))
        return refused, wanted[: self._options.limit]

    def _report(self, wanted: int, pace: Pace, tally: Tally) -> None:
        # Lost points are not finished: the next sweep tries them again.
        counts = tally.new
        finished = counts["done"] + counts["failed"]
        others = [f", {counts[name]} {name}" for name in ("failed", "lost") if counts[name]]
        text = f"{finished:,} of {wanted:,} points{''.join(others)}"
        if self._options.reckon is not None:
            self._options.reckon(pace.known / wanted)
        self._progress(pace.simulated / wanted, text)
