"""Advice on one scenario: the best settings, each part of the change, and what it costs whom.

Candidates are compared in short runs of one seed; finalists run settled with five paired seeds. A
recommendation is better, and keeps every bound, with its whole 95 % interval.
"""

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from skipline import _core
from skipline.advice import evaluation, guidelines, knobs, search
from skipline.advice.evaluation import (
    BRIEF,
    CERTAIN,
    SETTLED,
    Candidate,
    Evaluator,
    Measured,
    Progress,
)
from skipline.advice.goal import P99, Goal, Target, implied
from skipline.advice.guidelines import Evidence
from skipline.advice.search import Tried
from skipline.diff import change
from skipline.diff.bound import Bound
from skipline.diff.change import Change
from skipline.diff.side import Figure
from skipline.store.writing import Writer
from skipline.sweeps.drive import Options

_FINALISTS = 4
# So many rounds of them: what holds in short runs may break a bound when it has settled.
_FINALS = 2
# The least gain of a part of a recommendation, as a share of the goal.
_LEAST_PART = 0.005


class Request(NamedTuple):
    """The request: at most `budget` candidates and `time_s` seconds of search."""

    scenario: str
    fixed: tuple[tuple[str, str], ...]
    goal: Goal
    knobs: tuple[str, ...]
    bounds: tuple[Bound, ...]
    budget: int | None
    time_s: float | None
    seed: int


class Part(NamedTuple):
    """A changed setting; `brings` is what the goal would lose without it."""

    key: str
    now: str
    value: str
    gain: Change


class Advice(NamedTuple):
    """The result of `skipline.advise`: the best settings found, what each brings, what it costs.

    `settings` are the recommended ones, empty if none is better than the present ones; `gain` is
    what they bring together, `parts` what each of them does; `tenants` are latency and throughput
    of each tenant before and after; `tried` are all candidates, the best first.
    """

    target: Target
    candidate: Candidate
    gain: Change | None
    parts: list[Part]
    tenants: list[tuple[str, Change]]
    evidence: list[Evidence]
    tried: list[Tried]
    for_guidelines: int
    trade_off: list[Tried]
    combinations: int
    settled: int
    seeds: int

    @property
    def settings(self) -> dict[str, str]:
        """The recommended settings by scenario key, as `--set` takes them."""
        return dict(self.candidate)


def advise(request: Request, writer: Writer, options: Options, progress: Progress) -> Advice:
    """Search and judge; InputError for a goal, knob or bound that the scenario does not have."""
    resolved = json.loads(_core.check_scenario(request.scenario, list(request.fixed)))
    found = knobs.of_scenario(request.scenario, request.fixed, resolved, request.knobs)
    subject = _Subject(resolved, found, Target.of_scenario(request.goal, resolved, request.bounds))
    keys = [knob.key for knob in found]
    metrics = subject.target.metrics
    evaluator = Evaluator(request.scenario, request.fixed, keys, metrics, request.seed)
    return _Search(request, subject, evaluator, writer, options, progress).run()


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
        progress: Progress,
    ) -> None:
        self._request = request
        self._resolved, self._knobs, self._target = subject
        self._evaluator = evaluator
        self._writer = writer
        self._final = SETTLED
        self._options = options
        self._progress = progress
        self._budget = request.budget or search.default_budget(subject.knobs)
        self._began = time.monotonic()

    def run(self) -> Advice:
        now = evaluation.means(self._brief([()])[0])
        self._target.require(now)
        bounds = (*self._target.bounds, *implied(self._target, now))
        self._target = self._target._replace(bounds=bounds)
        tried = search.search(self._knobs, self._budget, self._attempt)
        alone = self._attempt(guidelines.untried_changes(self._knobs, tried, self._resolved))
        best, parts = self._judged(tried)
        after, before = self._settled([best, ()])
        return Advice(
            self._target,
            best,
            self._gain(best, after, before) if best else None,
            parts,
            list(self._tenants(before, after)) if best else [],
            [
                *guidelines.judge(self._knobs, [*tried, *alone], self._resolved),
                *self._load_evidence(),
            ],
            tried,
            len(alone),
            _trade_off(tried),
            search.combinations(self._knobs),
            self._evaluator.points(self._final),
            self._final.seeds,
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

    def _brief(self, candidates: Sequence[Candidate]) -> list[Measured]:
        done = self._evaluator.points(BRIEF)

        def report(share: float, _text: str) -> None:
            self._progress(min(0.7, 0.7 * (done + share) / self._budget), f"{done} tried")

        evaluate = self._evaluator.evaluate
        return evaluate(candidates, BRIEF, self._writer, self._options, report)

    def _settled(self, candidates: Sequence[Candidate]) -> list[Measured]:
        def report(share: float, _text: str) -> None:
            self._progress(0.7 + 0.3 * share, "settled runs of the best")

        evaluate = self._evaluator.evaluate
        return evaluate(candidates, self._final, self._writer, self._options, report)

    def _attempt(self, candidates: Sequence[Candidate]) -> list[Tried]:
        if not candidates:
            return []
        limit = self._request.time_s
        if limit is not None and time.monotonic() - self._began > limit and candidates != [()]:
            return []
        found = self._brief(list(candidates))
        now = evaluation.means(self._brief([()])[0])
        result = []
        for candidate, measured in zip(candidates, found, strict=True):
            numbers = evaluation.means(measured)
            kept = all(_kept(bound, now, numbers) for bound in self._target.bounds)
            cost = self._target.cost(dict(candidate), numbers, now) if kept else None
            result.append(Tried(candidate, cost))
        return result

    def _judged(self, tried: list[Tried]) -> tuple[Candidate, list[Part]]:
        """Return the best finalist without what brings nothing, and what each part brings."""
        candidates = [one.candidate for one in tried if one.cost is not None and one.candidate]
        known: list[tuple[float, Candidate]] = []
        for first in range(0, _FINALS * _FINALISTS, _FINALISTS):
            gains = self._gains(candidates[first : first + _FINALISTS])
            if good := [(gain.now, one) for one, gain in gains if _is_certain(gain)]:
                return self._trimmed(min(good)[1])
            known += [(gain.now, one) for one, gain in gains if gain.difference < 0]
        if not known:
            return (), []
        self._final = CERTAIN
        gains = self._gains([candidate for _, candidate in sorted(known)[:_FINALISTS]])
        good = [(gain.now, one) for one, gain in gains if _is_certain(gain)]
        return self._trimmed(min(good)[1]) if good else ((), [])

    def _gains(self, candidates: Sequence[Candidate]) -> list[tuple[Candidate, Change]]:
        """Return what those bring, settled, that keep all bounds."""
        *measured, before = self._settled([*candidates, ()])
        return [
            (candidate, gain)
            for candidate, after in zip(candidates, measured, strict=True)
            if (gain := self._gain(candidate, after, before)) is not None
            and self._holds(before, after)
        ]

    def _trimmed(self, best: Candidate) -> tuple[Candidate, list[Part]]:
        """Leave out one change after the other, as long as the goal stays where it is."""
        while True:
            parts = self._parts(best)
            for part in reversed(parts):
                rest = tuple(pair for pair in best if pair[0] != part.key)
                if rest and _is_small(part.gain) and self._is_better(rest):
                    best = rest
                    break
            else:
                return best, parts

    def _is_better(self, candidate: Candidate) -> bool:
        return any(_is_certain(gain) for _, gain in self._gains([candidate]))

    def _parts(self, best: Candidate) -> list[Part]:
        without = [tuple(pair for pair in best if pair != own) for own in best]
        whole, *others = self._settled([best, *without])
        now = {knob.key: knob.now for knob in self._knobs}
        parts = []
        for (key, value), rest, measured in zip(best, without, others, strict=True):
            gain = self._gain(best, whole, measured, rest)
            if gain is not None:
                parts.append(Part(key, now[key], value, gain))
        return sorted(parts, key=lambda part: part.gain.difference)

    def _gain(
        self, candidate: Candidate, after: Measured, before: Measured, of: Candidate = ()
    ) -> Change | None:
        """Return how the goal's cost changes from `of` to a candidate, by paired seeds."""
        left, right = self._costs(of, before), self._costs(candidate, after)
        return change.between(self._target.label, left, right) if left and right else None

    def _costs(self, candidate: Candidate, measured: Measured) -> dict[int, Figure]:
        (present,) = self._settled([()])
        seeds = range(self._request.seed, self._request.seed + self._final.seeds)
        found = {}
        for seed in seeds:
            numbers, now = _of_seed(measured, seed), _of_seed(present, seed)
            cost = self._target.cost(dict(candidate), numbers, now)
            if cost is not None:
                found[seed] = Figure(cost, None)
        return found

    def _holds(self, before: Measured, after: Measured) -> bool:
        """Return whether every bound is kept with the whole interval."""
        for bound in self._target.bounds:
            left, right = before.get(bound.name), after.get(bound.name)
            if not left or not right or not change.keeps(bound, left, right):
                return False
        return True

    def _tenants(self, before: Measured, after: Measured) -> "list[tuple[str, Change]]":
        found = []
        target = self._target
        for prefix, throughput in zip(target.prefixes, target.throughputs, strict=True):
            for name in (f"{prefix}{P99}", throughput):
                left, right = before.get(name), after.get(name)
                if left and right:
                    found.append((prefix.rstrip(":") or "main", change.between(name, left, right)))
        return found


def _of_seed(measured: Measured, seed: int) -> dict[str, float | None]:
    return {
        name: figures[seed].value if seed in figures else None for name, figures in measured.items()
    }


def _kept(bound: Bound, now: dict[str, float | None], numbers: dict[str, float | None]) -> bool:
    before, after = now.get(bound.name), numbers.get(bound.name)
    return before is not None and after is not None and bound.excess(before, after) <= 0


def _is_certain(gain: Change) -> bool:
    """Return whether a cost has fallen with its whole interval."""
    return gain.difference + (gain.ci95 or 0.0) < 0


def _is_small(gain: Change) -> bool:
    """Return whether a part brings less than is worth a change."""
    return -gain.difference < _LEAST_PART * abs(gain.now)


def _trade_off(tried: Sequence[Tried]) -> list[Tried]:
    """Return what is best with so many changes, as long as one more brings anything."""
    found: list[Tried] = []
    possible = [one for one in tried if one.cost is not None]
    for one in sorted(possible, key=lambda one: (len(one.candidate), one.cost or 0.0)):
        if not found or (one.cost or 0.0) < (found[-1].cost or 0.0):
            if found and len(found[-1].candidate) == len(one.candidate):
                continue
            found.append(one)
    return found
