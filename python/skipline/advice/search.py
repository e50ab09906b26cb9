"""Chooses candidates for short runs: some spread everywhere, then the neighbours of the best.

A Sobol sequence looks everywhere once; from its best point and from what is there now, one knob
after the other is turned: an ordered one to its ends once, and to its neighbours as long as that is
better, any other to each value.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from skipline.advice.evaluation import Candidate
from skipline.advice.knobs import Knob
from skipline.sweeps import design
from skipline.sweeps.axis import Axis

# Of the candidates that are tried, so many are spread first.
_SPREAD_SHARE = 0.3
_SPREAD_SEED = 1
# Costs of short runs that differ by a smaller share are about the same.
_ABOUT = 0.002
# Of all combinations, a search tries so many unless it is told otherwise.
SHARE = 0.05
_FEWEST, _MOST = 12, 80
_ROUNDS = 8


class Tried(NamedTuple):
    """A candidate with its cost; None if it cannot be, or breaks a bound."""

    candidate: Candidate
    cost: float | None


def is_about_as_good(one: Tried, other: Tried) -> bool:
    """Return whether a candidate costs at most a trifle more than another one; both can be."""
    if one.cost is None or other.cost is None:
        return False
    return one.cost <= other.cost + _ABOUT * abs(other.cost)


Attempt = Callable[[Sequence[Candidate]], list[Tried]]


def combinations(knobs: Sequence[Knob]) -> int:
    """Return how many settings there are in all."""
    return math.prod(len(knob.values) for knob in knobs)


def default_budget(knobs: Sequence[Knob]) -> int:
    """Return how many candidates are tried unless it is stated."""
    return max(_FEWEST, min(_MOST, int(SHARE * combinations(knobs))))


def search(
    knobs: Sequence[Knob], budget: int, attempt: Attempt, first: Sequence[Candidate] = ()
) -> list[Tried]:
    """Try at most `budget` candidates, the one that changes nothing first; the best come first.

    `first` are those to begin with, if there may be no time for more.
    """
    found = _Search(knobs, budget, attempt)
    spread_share = int(_SPREAD_SHARE * budget)
    if first:
        found.attempt([(), *first])
        found.attempt([found.together(first)])
        if () in found.tried:
            found.descend(found.best)
        found.attempt(_spread(knobs, spread_share))
    else:
        found.attempt([(), *_spread(knobs, spread_share)])
    for start in dict.fromkeys([found.best, ()]) if () in found.tried else ():
        found.descend(start)
    return sorted(found.tried.values(), key=_rank)


def _rank(one: Tried) -> tuple[float, int]:
    return (math.inf if one.cost is None else one.cost, len(one.candidate))


class _Search:
    """The candidates tried so far, and the descent from one of them."""

    def __init__(self, knobs: Sequence[Knob], budget: int, attempt: Attempt) -> None:
        self._knobs = knobs
        self._budget = budget
        self._attempt = attempt
        self.tried: dict[Candidate, Tried] = {}

    @property
    def best(self) -> Candidate:
        return min(self.tried.values(), key=_rank).candidate

    @property
    def _is_over(self) -> bool:
        return len(self.tried) >= self._budget

    def attempt(self, candidates: Sequence[Candidate]) -> None:
        """Try those that are new, as far as the budget goes."""
        new = [one for one in dict.fromkeys(candidates) if one not in self.tried]
        new = new[: self._budget - len(self.tried)]
        for found in self._attempt(new) if new else ():
            self.tried[found.candidate] = found

    def together(self, alone: Sequence[Candidate]) -> Candidate:
        """Return the best changes alone of different knobs that each bring something, as one."""
        now = self.tried[()].cost if () in self.tried else None
        good = [self.tried[one] for one in alone if one in self.tried]
        settings: dict[str, str] = {}
        for one in sorted(good, key=_rank):
            if one.cost is not None and now is not None and one.cost < now:
                settings = {**dict(one.candidate), **settings}
        return tuple(sorted(settings.items()))

    def descend(self, start: Candidate) -> None:
        """Turn one knob after the other, those first that brought most in the round before."""
        current = start
        knobs = list(self._knobs)
        for number in range(_ROUNDS):
            gains: dict[str, float] = {}
            before = current
            for knob in knobs:
                if self._is_over:
                    return
                next_one = self._turn_knob(knob, current, first=number == 0)
                gains[knob.key] = self._gain(current, next_one)
                current = next_one
            if current == before:
                return
            knobs.sort(key=lambda knob: -gains[knob.key])

    def _turn_knob(self, knob: Knob, current: Candidate, *, first: bool) -> Candidate:
        """Return the best place along one knob; of an ordered one go on while it becomes better."""
        self.attempt(_moves(knob, current, first=first))
        next_one = self._best_around(knob, current)
        while knob.ordered and next_one != current and not self._is_over:
            current = next_one
            self.attempt(_moves(knob, current, first=False))
            next_one = self._best_around(knob, current)
        return next_one

    def _best_around(self, knob: Knob, current: Candidate) -> Candidate:
        around = [self.tried[one] for one in _moves(knob, current, first=True) if one in self.tried]
        return min([self.tried[current], *around], key=_rank).candidate

    def _gain(self, current: Candidate, next_one: Candidate) -> float:
        before, after = self.tried[current].cost, self.tried[next_one].cost
        if before is None or after is None:
            return 0.0 if current == next_one else math.inf
        return before - after


def _moves(knob: Knob, current: Candidate, *, first: bool) -> list[Candidate]:
    """Return the candidates that differ from `current` in one knob and are worth trying."""
    present = dict(current).get(knob.key, knob.now)
    if not knob.ordered:
        values = [value for value in knob.values if value != present]
    else:
        at = knob.values.index(present)
        near = [at - 1, at + 1]
        ends = [0, len(knob.values) - 1] if first else []
        places = [index for index in (*near, *ends) if 0 <= index < len(knob.values)]
        values = [knob.values[index] for index in dict.fromkeys(places) if index != at]
    return [with_value(knob, current, value) for value in values]


def with_value(knob: Knob, current: Candidate, value: str) -> Candidate:
    """Return a candidate with another value of one knob; the present value is no change."""
    settings = {**dict(current), knob.key: value}
    if value == knob.now:
        del settings[knob.key]
    return tuple(sorted(settings.items()))


def _spread(knobs: Sequence[Knob], count: int) -> list[Candidate]:
    if count < 1:
        return []
    axes = [Axis((knob.key,), [(value,) for value in knob.values]) for knob in knobs]
    found = []
    for settings in design.combinations(axes, "sobol", count, _SPREAD_SEED):
        now = {knob.key: knob.now for knob in knobs}
        found.append(tuple(sorted(pair for pair in settings if now[pair[0]] != pair[1])))
    return found
