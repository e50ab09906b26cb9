"""Is only that recommended which is better for certain, and only as much as the time allows?"""

import time
from collections.abc import Callable, Sequence

import pytest

from skipline.advice.clock import Clock
from skipline.advice.evaluation import (
    FEW,
    ONCE,
    REPEATED,
    SETTLED,
    Candidate,
    Fidelity,
    Measured,
)
from skipline.advice.finals import Finals, Settle
from skipline.advice.goal import P99, Goal, Target
from skipline.advice.knobs import Knob
from skipline.diff.side import Figure

KNOBS = [Knob(key, ["0", "1"], "0", True) for key in "abcd"]
# Differences between seeds that the same seed of another candidate does not share.
NOISE = (0.0, 0.9, -0.7, 0.4, -0.6, 0.1, 0.8, -0.9, 0.3, -0.3, 0.5, -0.5, 0.2, -0.2, 0.0)


class Machine:
    """A machine whose p99 is 100 less what each change brings, and noise."""

    def __init__(self, gains: dict[str, float], noise: float = 0.1, run_s: float = 0.0) -> None:
        self.gains = gains
        self.noise = noise
        self.run_s = run_s
        self.asked: list[tuple[Candidate, str]] = []

    def settle(
        self, candidates: Sequence[Candidate], fidelity: Fidelity, _until: float | None = None
    ) -> list[Measured]:
        found = []
        for candidate in candidates:
            new = (candidate, fidelity.name) not in self.asked
            self.asked += [(candidate, fidelity.name)] if new else []
            p99 = 100 - sum(self.gains.get(key, 0.0) for key, _ in candidate)
            shift = len(candidate)
            values = {
                seed + 1: Figure(p99 + self.noise * NOISE[(seed + 2 * shift) % len(NOISE)], None)
                for seed in range(fidelity.seeds)
            }
            found.append({P99: values})
        return found


def judged(settle: Settle, *candidates: Candidate, clock: Clock | None = None) -> Finals:
    target = Target(Goal.P99, (), 1, (), ("throughput_gbps",))
    free = clock or Clock(None, lambda *_: None)
    finals = Finals(target, KNOBS, settle, free, 1, 2)
    finals.judge(candidates)
    return finals


def changes(keys: str) -> Candidate:
    return tuple((key, "1") for key in keys)


def test_only_changes_that_bring_something_are_recommended() -> None:
    finals = judged(Machine({"a": 30, "b": 10}).settle, changes("abcd"))
    assert finals.best == changes("ab")
    assert [(part.key, round(part.gain.difference)) for part in finals.parts if part.gain] == [
        ("a", -30),
        ("b", -10),
    ]
    assert finals.gain is not None and finals.gain.difference == pytest.approx(-40, abs=1)


def test_the_steps_name_the_settings_of_the_parts_and_end_with_the_whole() -> None:
    finals = judged(Machine({"a": 10, "b": 30, "c": 20}).settle, changes("abc"))
    assert [step.candidate for step in finals.steps] == [
        changes("b"),
        changes("bc"),
        changes("abc"),
    ]
    assert [round(step.gain.difference) for step in finals.steps] == [-30, -50, -60]


@pytest.mark.parametrize(
    ("gain", "noise"),
    [(0.1, 0.0), (0.4, 0.01), (5.0, 40.0)],
    ids=["a tenth of a percent", "less than half a percent", "within the noise"],
)
def test_a_gain_that_is_small_or_by_chance_is_no_advice(gain: float, noise: float) -> None:
    finals = judged(Machine({"a": gain}, noise).settle, changes("a"))
    assert (finals.best, finals.gain, finals.parts) == ((), None, [])


def test_noise_that_only_seems_to_help_beside_a_change_is_left_out() -> None:
    finals = judged(Machine({"a": 20, "b": 0.2}, noise=0.3).settle, changes("ab"), changes("a"))
    assert finals.best == changes("a")


class FakeTime:
    """A clock that the machine of a test moves on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)


@pytest.mark.parametrize(
    ("run_s", "fidelity", "is_said"),
    [(0.1, SETTLED, ""), (1.4, FEW, "seeds"), (10.0, REPEATED, "runs to the end")],
)
def test_with_less_time_there_are_fewer_seeds_then_shorter_runs(
    monkeypatch: pytest.MonkeyPatch, run_s: float, fidelity: Fidelity, is_said: str
) -> None:
    fake = FakeTime(monkeypatch)
    machine = Machine({"a": 30, "b": 10})

    def slow(
        candidates: Sequence[Candidate], runs: Fidelity, _until: float | None
    ) -> list[Measured]:
        before = len(machine.asked)
        found = machine.settle(candidates, runs)
        each = 0.1 if runs.runs == "short runs" else run_s
        fake.now += (len(machine.asked) - before) * runs.seeds * each / 2
        return found

    finals = judged(slow, changes("ab"), clock=Clock(12.0, lambda *_: None))
    assert finals.fidelity is fidelity
    assert (changes("ab"), ONCE.name) in machine.asked
    assert any(is_said in text for text in finals.undone) or not is_said
    assert finals.best == changes("ab")


def test_runs_to_the_end_that_nothing_could_follow_are_given_up_for_short_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake = FakeTime(monkeypatch)
    machine = Machine({"a": 30})

    def given_up(
        candidates: Sequence[Candidate], runs: Fidelity, until: float | None
    ) -> list[Measured]:
        end = Clock(12.0, lambda *_: None).until if until is None else until
        before = len(machine.asked)
        found = machine.settle(candidates, runs)
        took_s = (len(machine.asked) - before) * runs.seeds * (0.5 if runs is REPEATED else 20.0)
        assert end is not None
        if fake.now + took_s / 2 > end:
            fake.now = end
            return [{}] * len(candidates)
        fake.now += took_s / 2
        return found

    clock = Clock(12.0, lambda *_: None)
    finals = judged(given_up, changes("a"), clock=clock)
    assert finals.fidelity is REPEATED
    assert finals.best == changes("a")
    assert clock.left_s > 0


def test_without_time_for_single_changes_the_whole_is_told_and_that_is_said() -> None:
    machine = Machine({"a": 30, "b": 10})
    whole = {changes("ab"), ()}

    def cut(
        candidates: Sequence[Candidate], runs: Fidelity, _until: float | None
    ) -> list[Measured]:
        found = machine.settle(candidates, runs)
        return [one if c in whole else {} for c, one in zip(candidates, found, strict=True)]

    finals = judged(cut, changes("ab"))
    assert finals.best == changes("ab")
    assert [part.gain for part in finals.parts] == [None, None]
    assert finals.undone == ["what each change brings"]


def shown_by(clock_of: Callable[[Callable[[float, str], None]], Clock]) -> list[float]:
    shown: list[float] = []
    clock = clock_of(lambda share, _text: shown.append(share))
    for step in (0.4, None, None):
        clock.begin_step(step)
        for share in (0.1, 0.9, 0.2, 1.0):
            clock.report(share, "")
    return shown


def test_the_bar_never_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    free = shown_by(lambda report: Clock(None, report))
    assert free == sorted(free) and 0.5 < free[-1] <= 1
    fake = FakeTime(monkeypatch)

    def limited(report: Callable[[float, str], None]) -> Clock:
        def later(share: float, text: str) -> None:
            report(share, text)
            fake.now += 1

        return Clock(24.0, later)

    assert shown_by(limited) == [pytest.approx(second / 24) for second in range(12)]


def test_runs_end_before_the_time_does(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeTime(monkeypatch)
    clock = Clock(30.0, lambda *_: None)
    assert clock.until is not None and fake.now + 27 < clock.until < fake.now + 30
    assert clock.left_s == clock.until - fake.now
    assert not clock.is_past(0.5)
    fake.now += 15
    assert clock.is_past(0.5)
    assert Clock(None, lambda *_: None).until is None


def test_what_was_over_before_counts_and_is_kept_for_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake = FakeTime(monkeypatch)
    clock = Clock(30.0, lambda *_: None, used_s=5.0)
    assert clock.until == pytest.approx(fake.now + 30 - 5 - 5)
    assert clock.is_past(5 / 30) and not clock.is_past(0.2)
