"""Judges the best candidates of a search: which is better for certain, and what each part brings.

Only what is significant and worth a change is recommended: each part by itself, and the whole.
"""

import math
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from skipline.advice.clock import Clock
from skipline.advice.evaluation import (
    CERTAIN,
    FEW,
    ONCE,
    REPEATED,
    SETTLED,
    Candidate,
    Fidelity,
    Measured,
)
from skipline.advice.goal import Target
from skipline.advice.knobs import Knob
from skipline.diff import change
from skipline.diff.change import Change
from skipline.diff.side import Figure

_FINALISTS = 4
# So many rounds of them: what holds in short runs may break a bound when it has settled.
_FINALS = 2
# The least gain of a recommendation, and of a part of it, as a share of the goal.
LEAST_GAIN = 0.005
# No further finalist begins after this share of the time.
_FINALISTS_SHARE = 0.7
# Of the time that is left runs may take this share; the rest is for what is not foreseen.
_USED_SHARE = 0.9

# With an end, as `time.monotonic` tells it, runs are given up then.
Settle = Callable[[Sequence[Candidate], Fidelity, float | None], list[Measured]]


class Part(NamedTuple):
    """A changed setting; `gain` is what the goal would lose without it, None if that is unknown."""

    key: str
    now: str
    value: str
    gain: Change | None


class Step(NamedTuple):
    """The first parts of a recommendation together, and what they bring."""

    candidate: Candidate
    gain: Change


class Finals:
    """Finalists, settled, and the recommendation that follows from them."""

    def __init__(
        self,
        target: Target,
        knobs: Sequence[Knob],
        settle: Settle,
        clock: Clock,
        seed: int,
        jobs: int,
        short_run_s: float = 0.0,
    ) -> None:
        self._target = target
        self._now = {knob.key: knob.now for knob in knobs}
        self._settle = settle
        self._clock = clock
        self._seed = seed
        self._jobs = jobs
        # Seconds of one run, with as many beside it as there are workers: a short one, and one to
        # the end.
        self._short_run_s, self._run_s = short_run_s, 0.0
        self.fidelity = SETTLED
        self.best: Candidate = ()
        self.gain: Change | None = None
        self.parts: list[Part] = []
        self.steps: list[Step] = []
        self.before: Measured = {}
        self.after: Measured = {}
        self.undone: list[str] = []

    def judge(self, candidates: Sequence[Candidate]) -> None:
        """Find the recommendation among candidates, the most promising first; maybe there is none.

        The present settings are no candidate.
        """
        if not candidates:
            return
        if self._clock.is_limited:
            self._choose_fidelity(candidates[0])
        found = self._trimmed(self._winner(candidates))
        if not found:
            return
        after, before = self._simulate([found, ()])
        self.best, self.gain = found, self._gain(found, after, before)
        self.before, self.after = before, after
        self.parts = self._parts(found)
        self.steps = self._steps()

    def _choose_fidelity(self, best: Candidate) -> None:
        """Choose runs such that the best candidate and its parts are judged in time."""
        self._run_s = self._time_once(best)
        runs = 2 + (len(best) if len(best) > 1 else 0)
        for fidelity in (SETTLED, FEW):
            if self._affords(fidelity.seeds * runs - 2, fidelity):
                self.fidelity = fidelity
                break
        else:
            self.fidelity = REPEATED
            self.undone.append("runs to the end; short ones were compared")
        if self.fidelity is FEW:
            self.undone.append(f"more than {FEW.seeds} seeds")

    def _time_once(self, best: Candidate) -> float:
        """Return the seconds of a run to the end, of the best and the present settings.

        They are given up, and take for ever, when the fewest seeds could no longer follow in time.
        """
        together = min(2, self._jobs)
        further = 2 * FEW.seeds - 2
        began = self._clock.elapsed_s
        most_s = self._clock.left_s / (1 + further / together / _USED_SHARE)
        ended = self._settle([best, ()], ONCE, time.monotonic() + most_s)
        took_s = self._clock.elapsed_s - began
        return took_s / together if all(ended) else math.inf

    def _affords(self, runs: int, fidelity: Fidelity) -> bool:
        """Return whether so many runs end in time."""
        run_s = self._short_run_s if fidelity is REPEATED else self._run_s
        return runs * run_s <= _USED_SHARE * self._clock.left_s

    def _simulate(self, candidates: Sequence[Candidate]) -> list[Measured]:
        return self._settle(candidates, self.fidelity, None)

    def _winner(self, candidates: Sequence[Candidate]) -> Candidate:
        """Return the candidate that is better for certain by most; nothing if none is."""
        known: list[tuple[float, Candidate]] = []
        for first in range(0, _FINALS * _FINALISTS, _FINALISTS):
            gains = self._finalists(candidates[first : first + _FINALISTS])
            if good := [(gain.now, one) for one, gain in gains if _is_worth(gain)]:
                return min(good)[1]
            known += [(gain.now, one) for one, gain in gains if gain.difference < 0]
        if not known or (self._clock.is_limited and not self._affords(2 * CERTAIN.seeds, CERTAIN)):
            return ()
        before, self.fidelity = self.fidelity, CERTAIN
        several = [candidate for _, candidate in sorted(known)[:_FINALISTS]]
        if self._clock.is_limited:
            del several[1:]
        gains = self._gains(several)
        good = [(gain.now, one) for one, gain in gains if _is_worth(gain)]
        if not gains:
            self.fidelity = before
        return min(good)[1] if good else ()

    def _finalists(self, candidates: Sequence[Candidate]) -> list[tuple[Candidate, Change]]:
        """Judge candidates; with a limit one after the other, while time is left for parts."""
        if not self._clock.is_limited:
            return self._gains(candidates) if candidates else []
        found: list[tuple[Candidate, Change]] = []
        for number, candidate in enumerate(candidates):
            is_late = self._clock.is_past(_FINALISTS_SHARE)
            parts_too = self.fidelity.seeds * (1 + len(candidate))
            if number and (is_late or not self._affords(parts_too, self.fidelity)):
                self.undone.append("further finalists")
                break
            found += self._gains([candidate])
        return found

    def _gains(self, candidates: Sequence[Candidate]) -> list[tuple[Candidate, Change]]:
        """Return what those bring, settled, that keep all bounds."""
        *measured, before = self._simulate([*candidates, ()])
        return [
            (candidate, gain)
            for candidate, after in zip(candidates, measured, strict=True)
            if (gain := self._gain(candidate, after, before)) is not None
            and self._holds(before, after)
        ]

    def _trimmed(self, best: Candidate) -> Candidate:
        """Leave out the changes that bring nothing significant, one after the other.

        If without one the rest is not better for certain, the best single change is what is left.
        """
        while len(best) > 1:
            ballast = [part for part in self._parts(best) if part.gain and not _is_worth(part.gain)]
            if not ballast:
                return best
            for part in reversed(ballast):
                rest = tuple(pair for pair in best if pair[0] != part.key)
                if any(_is_worth(gain) for _, gain in self._gains([rest])):
                    best = rest
                    break
            else:
                gains = self._gains([(pair,) for pair in best])
                good = [(gain.now, one) for one, gain in gains if _is_worth(gain)]
                return min(good)[1] if good else ()
        return best

    def _parts(self, best: Candidate) -> list[Part]:
        """Return what each change of a candidate brings, most first, unknown ones last."""
        without = [tuple(pair for pair in best if pair != own) for own in best]
        whole, *others = self._simulate([best, *without])
        parts = []
        for (key, value), rest, measured in zip(best, without, others, strict=True):
            gain = self._gain(best, whole, measured, rest)
            parts.append(Part(key, self._now[key], value, gain))
        if any(part.gain is None for part in parts):
            text = "what each change brings"
            self.undone += [text] if text not in self.undone else []
        return sorted(parts, key=lambda p: math.inf if p.gain is None else p.gain.difference)

    def _steps(self) -> list[Step]:
        """Return what the first part brings, the first two, and so on."""
        pairs = [(part.key, part.value) for part in self.parts]
        firsts = [tuple(sorted(pairs[:count])) for count in range(1, len(pairs) + 1)]
        *measured, before = self._simulate([*firsts, ()])
        return [
            Step(candidate, gain)
            for candidate, after in zip(firsts, measured, strict=True)
            if (gain := self._gain(candidate, after, before)) is not None
        ]

    def _gain(
        self, candidate: Candidate, after: Measured, before: Measured, of: Candidate = ()
    ) -> Change | None:
        """Return how the goal's cost changes from `of` to a candidate, by paired seeds."""
        left, right = self._costs(of, before), self._costs(candidate, after)
        return change.between(self._target.label, left, right) if left and right else None

    def _costs(self, candidate: Candidate, measured: Measured) -> dict[int, Figure]:
        (present,) = self._simulate([()])
        found = {}
        for seed in range(self._seed, self._seed + self.fidelity.seeds):
            numbers, now = _of_seed(measured, seed), _of_seed(present, seed)
            cost = self._target.cost(dict(candidate), numbers, now) if numbers else None
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


def _of_seed(measured: Measured, seed: int) -> dict[str, float | None]:
    return {
        name: figures[seed].value if seed in figures else None for name, figures in measured.items()
    }


def _is_worth(gain: Change) -> bool:
    """Return whether a cost has fallen with its whole interval, and by enough for a change."""
    is_certain = gain.difference + (gain.ci95 or 0.0) < 0
    return is_certain and -gain.difference >= LEAST_GAIN * abs(gain.before)
