"""Advice on one scenario: the best settings, each part of the change, and what it costs whom.

Candidates are compared in short runs of one seed; finalists run settled with several paired seeds.
A recommendation is better, and keeps every bound, with its whole 95 % interval. With a limit of
time, runs are given up in time, and the advice says what is left undone.
"""

import importlib
import json
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from skipline import _core
from skipline.advice import burst, evaluation, guidelines, knobs, search
from skipline.advice.burst import Burst
from skipline.advice.clock import Clock, Progress
from skipline.advice.evaluation import BRIEF, Candidate, Evaluator, Measured
from skipline.advice.finals import Finals, Part, Step
from skipline.advice.goal import P99, Goal, Target, implied
from skipline.advice.guidelines import Evidence
from skipline.advice.search import Tried
from skipline.diff import change
from skipline.diff.bound import Bound
from skipline.diff.change import Change
from skipline.store.writing import Writer
from skipline.sweeps.drive import Options
from skipline.sweeps.workers import Workers

# Of the time, or without a limit of the bar, the share of short runs: at least, and at most where
# the runs that judge the best need less. These take about as long as so many short ones: five seeds
# of two settings, and as much again for what is left out or given up before.
_SEARCH_SHARE, _MOST_SEARCH_SHARE = 0.4, 0.75
_FINALS_IN_SHORT_RUNS = 25
# No further short run begins after this share of the time.
_GUIDELINES_SHARE = 0.85


class Request(NamedTuple):
    """The request: at most `budget` candidates and `time_s` seconds, `used_s` of which are over."""

    scenario: str
    fixed: tuple[tuple[str, str], ...]
    goal: Goal
    knobs: tuple[str, ...]
    bounds: tuple[Bound, ...]
    budget: int | None
    time_s: float | None
    seed: int
    used_s: float = 0.0


class Effort(NamedTuple):
    """What was simulated: candidates by kind of run, and what the time did not suffice for.

    `tried` of `combinations` ran briefly for the search and `for_guidelines` beside it; `settled`
    of them ran as `runs` says, with `seeds` seeds each.
    """

    tried: int
    for_guidelines: int
    combinations: int
    settled: int
    seeds: int
    runs: str
    undone: list[str]


class Advice(NamedTuple):
    """The result of `skipline.advise`: the best settings found, what each brings, what it costs.

    `settings` are the recommended ones, empty if none is better than the present ones; `gain` is
    what they bring together, `parts` what each of them does, `steps` what the first of them do
    together; `tenants` are latency and throughput of each tenant before and after; `tried` are all
    candidates, the best first.
    """

    target: Target
    candidate: Candidate
    gain: Change | None
    parts: list[Part]
    steps: list[Step]
    tenants: list[tuple[str, Change]]
    bursts: list[Burst]
    evidence: list[Evidence]
    tried: list[Tried]
    effort: Effort

    @property
    def settings(self) -> dict[str, str]:
        """The recommended settings by scenario key, as `--set` takes them."""
        return dict(self.candidate)


def advise(request: Request, writer: Writer, options: Options, progress: Progress) -> Advice:
    """Search and judge; InputError for a goal, knob or bound that the scenario does not have."""
    clock = Clock(request.time_s, progress, request.used_s)
    resolved = json.loads(_core.check_scenario(request.scenario, list(request.fixed)))
    found = knobs.of_scenario(request.scenario, request.fixed, resolved, request.knobs)
    subject = _Subject(resolved, found, Target.of_scenario(request.goal, resolved, request.bounds))
    keys = [knob.key for knob in found]
    metrics = subject.target.metrics
    evaluator = Evaluator(request.scenario, request.fixed, keys, metrics, request.seed)
    # The libraries that spread candidates and tell chance take seconds to load: while runs go on.
    threading.Thread(target=importlib.import_module, args=("scipy.stats",), daemon=True).start()
    with Workers(options.engine, options.engine.processes) as workers:
        options = options._replace(until=clock.until, workers=workers)
        return _Search(request, subject, evaluator, writer, options, clock).run()


class _Subject(NamedTuple):
    """A resolved scenario, what may change of it, and what for."""

    resolved: dict[str, Any]
    knobs: list[knobs.Knob]
    target: Target


class _Search:
    """One search, from the present settings to the advice."""

    def __init__(
        self,
        request: Request,
        subject: _Subject,
        evaluator: Evaluator,
        writer: Writer,
        options: Options,
        clock: Clock,
    ) -> None:
        self._request = request
        self._resolved, self._knobs, self._target = subject
        self._evaluator = evaluator
        self._writer = writer
        self._options = options
        self._clock = clock
        self._budget = request.budget or search.default_budget(subject.knobs)
        self._share = _SEARCH_SHARE
        # Seconds of a short run with others beside it, of a search with a limit.
        self._short_run_s = 0.0
        self._undone: list[str] = []

    def run(self) -> Advice:
        self._clock.begin_step(0.02)
        now = evaluation.means(self._brief([()])[0])
        if not now and self._clock.left_s <= 0:
            self._undone.append("everything: not one short run of the present settings has ended")
            return self._advice([], [], self._finals())
        self._target.require(now)
        bounds = (*self._target.bounds, *implied(self._target, now))
        self._target = self._target._replace(bounds=bounds)
        if self._clock.is_limited and self._request.budget is None:
            self._budget = self._affordable()
        self._clock.begin_step(self._share)
        # What publications advise may be all that there is time for.
        advised = guidelines.first_changes(self._knobs, self._resolved)
        first = advised if self._clock.is_limited else ()
        tried = search.search(self._knobs, self._budget, self._attempt, first)
        if self._clock.is_past(self._share):
            self._undone.append(f"the search, which the time ended at {len(tried):,} settings")
        finals = self._finals()
        finals.judge(self._without_ballast(tried))
        self._clock.begin_step()
        asked = guidelines.untried_changes(self._knobs, tried, self._resolved)
        alone = self._attempt_until(asked, _GUIDELINES_SHARE)
        if len(alone) < len(asked):
            self._undone.append("changes alone for published guidelines")
        return self._advice(tried, alone, finals)

    def _finals(self) -> Finals:
        simulate = self._evaluator.evaluate
        seed, clock = self._request.seed, self._clock

        def settle(
            candidates: Sequence[Candidate], fidelity: evaluation.Fidelity, until: float | None
        ) -> list[Measured]:
            def report(share: float, _text: str) -> None:
                clock.report(share, f"{fidelity.runs} of the best")

            clock.begin_step()
            options = self._options if until is None else self._options._replace(until=until)
            return simulate(candidates, fidelity, self._writer, options, report)

        jobs = self._options.engine.processes
        return Finals(self._target, self._knobs, settle, clock, seed, jobs, self._short_run_s)

    def _advice(self, tried: list[Tried], alone: list[Tried], finals: Finals) -> Advice:
        best, fidelity = finals.best, finals.fidelity
        effort = Effort(
            len(tried),
            len({one.candidate for one in alone} - {one.candidate for one in tried}),
            search.combinations(self._knobs),
            self._evaluator.points(fidelity),
            fidelity.seeds,
            fidelity.runs,
            [*self._undone, *finals.undone],
        )
        evidence = [*guidelines.judge(self._knobs, [*tried, *alone], self._resolved)]
        if tried and not self._clock.is_past(_GUIDELINES_SHARE):
            evidence += self._load_evidence()
        return Advice(
            self._target,
            best,
            finals.gain,
            finals.parts,
            finals.steps,
            list(self._tenants(finals.before, finals.after)) if best else [],
            list(burst.of_rings(best, self._resolved)),
            evidence,
            tried,
            effort,
        )

    def _load_evidence(self) -> Iterator[Evidence]:
        """Simulate less load, if there is much: not as a setting, but for what hits tell."""
        load_gbps = self._resolved.get("offered_gbps")
        if load_gbps is None or load_gbps <= guidelines.BOTTLENECK_GBPS:
            return
        key, name = "offered_gbps", guidelines.WRITE_HITS
        request = self._request
        fixed = [pair for pair in request.fixed if pair[0] != key]
        less = Evaluator(request.scenario, fixed, [key], [name], request.seed)
        loads = [((key, f"{one:g}"),) for one in (load_gbps, guidelines.BOTTLENECK_GBPS)]
        found = less.evaluate(loads, BRIEF, self._writer, self._options, lambda *_: None)
        now, below = (evaluation.means(one).get(name) for one in found)
        if now is not None and below is not None:
            yield guidelines.load_evidence(now, below)

    def _affordable(self) -> int:
        """Return how many short runs the share of the search suffices for."""
        began = time.monotonic()
        first = guidelines.first_changes(self._knobs, self._resolved)
        jobs = self._options.engine.processes
        self._brief(first[:jobs])
        one_s = max(time.monotonic() - began, 0.05) / max(1, min(jobs, len(first)))
        self._short_run_s = one_s
        limit_s = self._request.time_s or 0.0
        left_for_search = 1 - _FINALS_IN_SHORT_RUNS * one_s / limit_s if limit_s else 0.0
        self._share = max(_SEARCH_SHARE, min(_MOST_SEARCH_SHARE, left_for_search))
        left_s = self._share * limit_s - self._clock.elapsed_s
        most = search.combinations(self._knobs)
        return max(2, min(most, int(left_s / one_s))) if first else self._budget

    def _brief(self, candidates: Sequence[Candidate]) -> list[Measured]:
        done = self._evaluator.points(BRIEF)

        def report(share: float, _text: str) -> None:
            self._clock.report((done + share) / self._budget, f"{done} settings tried")

        evaluate = self._evaluator.evaluate
        return evaluate(candidates, BRIEF, self._writer, self._options, report)

    def _attempt(self, candidates: Sequence[Candidate]) -> list[Tried]:
        return self._attempt_until(candidates, self._share)

    def _attempt_until(self, candidates: Sequence[Candidate], share: float) -> list[Tried]:
        """Simulate candidates briefly, as many together as there are workers, while there is time.

        Without a limit all at once.
        """
        together = self._options.engine.processes if self._clock.is_limited else len(candidates)
        now = evaluation.means(self._brief([()])[0])
        result = []
        for first in range(0, len(candidates), max(together, 1)):
            some = list(candidates[first : first + together])
            if self._clock.is_past(share):
                # What has been simulated before costs no time.
                some = [one for one in some if self._evaluator.is_known(one, BRIEF)]
            for candidate, measured in zip(some, self._brief(some), strict=True):
                if self._evaluator.is_known(candidate, BRIEF):
                    result.append(self._judged_briefly(candidate, measured, now))
        return result

    def _judged_briefly(
        self, candidate: Candidate, measured: Measured, now: dict[str, float | None]
    ) -> Tried:
        numbers = evaluation.means(measured)
        kept = all(_kept(bound, now, numbers) for bound in self._target.bounds)
        cost = self._target.cost(dict(candidate), numbers, now) if kept else None
        return Tried(candidate, cost)

    def _without_ballast(self, tried: list[Tried]) -> list[Candidate]:
        """Return the candidates that keep all bounds, first the best without what brings nothing.

        What brings nothing in a short run costs many runs to the end.
        """
        possible = [one for one in tried if one.cost is not None and one.candidate]
        if not possible:
            return []
        best = possible[0]
        while len(best.candidate) > 1:
            rests = [tuple(p for p in best.candidate if p != own) for own in best.candidate]
            found = self._attempt_until(rests, self._share + 0.1)
            good = [one for one in found if one.cost is not None]
            least = min(good, key=lambda one: one.cost or 0.0, default=None)
            if least is None or not search.is_about_as_good(least, best):
                break
            best = least
        return list(dict.fromkeys([best.candidate, *(one.candidate for one in possible)]))

    def _tenants(self, before: Measured, after: Measured) -> Iterator[tuple[str, Change]]:
        target = self._target
        for prefix, throughput in zip(target.prefixes, target.throughputs, strict=True):
            for name in (f"{prefix}{P99}", throughput):
                left, right = before.get(name), after.get(name)
                if left and right:
                    yield prefix.rstrip(":") or "main", change.between(name, left, right)


def _kept(bound: Bound, now: dict[str, float | None], numbers: dict[str, float | None]) -> bool:
    before, after = now.get(bound.name), numbers.get(bound.name)
    return before is not None and after is not None and bound.excess(before, after) <= 0
