"""Chooses candidates: one hypothesis after the other, then the parameters.

Hypotheses are searched by coordinates: each is answered with the others at their best so far, until
a round changes nothing. Parameters are then sampled by optuna's tree-structured Parzen estimator
with a fixed seed. Every candidate is judged by the fit points only.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skipline.calibrate.definition import Calibration, Parameter, Setting
from skipline.calibrate.numbers import Errors, score

if TYPE_CHECKING:
    import optuna

# Rounds over all hypotheses; the search ends earlier when a round changes nothing.
_ROUNDS = 3
_SEED = 1


@dataclass(frozen=True)
class Candidate:
    """A choice for each hypothesis and a value for each parameter."""

    choices: dict[str, str]
    parameters: dict[str, float]

    @property
    def label(self) -> str:
        """The candidate's name, also that of its folder."""
        values = [f"{value:g}" for value in self.parameters.values()]
        return ", ".join([*self.choices.values(), *values])

    def settings(self, calibration: Calibration) -> dict[str, Setting]:
        """Return the scenario keys that express it."""
        found: dict[str, Setting] = {}
        for hypothesis in calibration.hypothesis:
            wanted = self.choices[hypothesis.name]
            found |= next(c.set for c in hypothesis.choice if c.name == wanted)
        return found | dict(self.parameters)


@dataclass(frozen=True)
class Tried:
    """A candidate and its errors at the fit points."""

    candidate: Candidate
    errors: Errors

    @property
    def score(self) -> float:
        """The weighted mean absolute error at the fit points."""
        return score(self.errors)


Evaluate = Callable[[Candidate], Errors]


def search(calibration: Calibration, evaluate: Evaluate) -> list[Tried]:
    """Try candidates; return all of them, the best first."""
    tried: dict[str, Tried] = {}

    def attempt(candidate: Candidate) -> Tried:
        if candidate.label not in tried:
            tried[candidate.label] = Tried(candidate, evaluate(candidate))
        return tried[candidate.label]

    best = attempt(start(calibration))
    best = _hypotheses(calibration, best, attempt)
    _parameters(calibration, best, attempt)
    return sorted(tried.values(), key=lambda entry: entry.score)


def start(calibration: Calibration) -> Candidate:
    """Return the candidate that is tried first."""
    return Candidate(
        {hypothesis.name: hypothesis.choice[0].name for hypothesis in calibration.hypothesis},
        {parameter.key: parameter.start for parameter in calibration.parameter},
    )


def neighbours(calibration: Calibration, candidate: Candidate) -> list[Candidate]:
    """Return the candidates that answer one hypothesis differently."""
    return [
        Candidate({**candidate.choices, hypothesis.name: choice.name}, candidate.parameters)
        for hypothesis in calibration.hypothesis
        for choice in hypothesis.choice
        if choice.name != candidate.choices[hypothesis.name]
    ]


def _hypotheses(
    calibration: Calibration, best: Tried, attempt: Callable[[Candidate], Tried]
) -> Tried:
    for _ in range(_ROUNDS):
        before = best
        for hypothesis in calibration.hypothesis:
            for choice in hypothesis.choice:
                choices = {**best.candidate.choices, hypothesis.name: choice.name}
                entry = attempt(Candidate(choices, best.candidate.parameters))
                best = min(best, entry, key=lambda tried: tried.score)
        if best is before:
            break
    return best


def _parameters(
    calibration: Calibration, best: Tried, attempt: Callable[[Candidate], Tried]
) -> None:
    if not calibration.parameter or calibration.trials == 0:
        return
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=_SEED))
    study.enqueue_trial(best.candidate.parameters)

    def objective(trial: optuna.Trial) -> float:
        values = {p.key: _suggest(trial, p) for p in calibration.parameter}
        return attempt(Candidate(best.candidate.choices, values)).score

    study.optimize(objective, n_trials=calibration.trials, catch=())


def _suggest(trial: "optuna.Trial", parameter: Parameter) -> float:
    low, high, logarithmic = parameter.low, parameter.high, parameter.logarithmic
    if parameter.whole:
        return trial.suggest_int(parameter.key, int(low), int(high), log=logarithmic)
    # Three digits are more than the data can tell apart.
    value = trial.suggest_float(parameter.key, low, high, log=logarithmic)
    return float(f"{value:.3g}")
