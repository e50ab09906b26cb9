"""Which candidates are tried briefly: some spread everywhere, then the neighbours of the best.

A Sobol sequence looks everywhere once; from its best point and from what is there now, one knob
after the other is moved: an ordered one to its neighbours and its ends, any other to each value.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from skipline.advise.evaluation import Candidate
from skipline.advise.knobs import Knob
from skipline.sweeps import design
from skipline.sweeps.axis import Axis

# Of the candidates that are tried, so many are spread first.
_SPREAD_SHARE = 0.3
_SPREAD_SEED = 1
# Of all combinations, a search tries so many unless it is told otherwise.
SHARE = 0.05
_FEWEST, _MOST = 12, 80
_ROUNDS = 8


class Tried(NamedTuple):
    """A candidate with its cost; None if it cannot be, or breaks a bound."""

    candidate: Candidate
    cost: float | None


Attempt = Callable[[Sequence[Candidate]], list[Tried]]


def combinations(knobs: Sequence[Knob]) -> int:
    """Return how many settings there are in all."""
    return math.prod(len(knob.values) for knob in knobs)


def default_budget(knobs: Sequence[Knob]) -> int:
    """Return how many candidates are tried unless it is stated."""
    return max(_FEWEST, min(_MOST, int(SHARE * combinations(knobs))))


def search(knobs: Sequence[Knob], budget: int, attempt: Attempt) -> list[Tried]:
    """Try at most `budget` candidates, the one that changes nothing first; the best come first."""
    tried: dict[Candidate, Tried] = {}

    def attempt_new(candidates: Sequence[Candidate]) -> None:
        new = [one for one in dict.fromkeys(candidates) if one not in tried]
        for found in attempt(new[: budget - len(tried)]) if new else ():
            tried[found.candidate] = found

    attempt_new([(), *_spread(knobs, int(_SPREAD_SHARE * budget))])
    for start in ((), _best(tried).candidate):
        _descend(knobs, start, tried, attempt_new, budget)
    return sorted(tried.values(), key=_rank)


def _rank(one: Tried) -> tuple[float, int]:
    return (math.inf if one.cost is None else one.cost, len(one.candidate))


def _best(tried: dict[Candidate, Tried]) -> Tried:
    return min(tried.values(), key=_rank)


def _descend(
    knobs: Sequence[Knob],
    start: Candidate,
    tried: dict[Candidate, Tried],
    attempt: Callable[[Sequence[Candidate]], None],
    budget: int,
) -> None:
    here = start
    for number in range(_ROUNDS):
        before = here
        for knob in knobs:
            if len(tried) >= budget:
                return
            attempt(_moves(knob, here, first=number == 0))
            around = [tried[one] for one in _moves(knob, here, first=True) if one in tried]
            here = min([tried[here], *around], key=_rank).candidate
        if here == before:
            return


def _moves(knob: Knob, here: Candidate, *, first: bool) -> list[Candidate]:
    """Return the candidates that differ from `here` in one knob and are worth trying."""
    current = dict(here).get(knob.key, knob.now)
    if not knob.ordered:
        values = [value for value in knob.values if value != current]
    else:
        at = knob.values.index(current)
        near = [at - 1, at + 1]
        ends = [0, len(knob.values) - 1] if first else []
        places = [place for place in (*near, *ends) if 0 <= place < len(knob.values)]
        values = [knob.values[place] for place in dict.fromkeys(places) if place != at]
    return [changed(knob, here, value) for value in values]


def changed(knob: Knob, here: Candidate, value: str) -> Candidate:
    """Return a candidate with another value of one knob; what is there now is no change."""
    settings = {**dict(here), knob.key: value}
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
