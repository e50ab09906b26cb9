"""The TOML file of a calibration: experiments, hypotheses, parameters."""

from typing import Literal, Self

from pydantic import Field, model_validator

from skipline.experiment.axis import Setting, Table

__all__ = ["Calibration", "Choice", "Hypothesis", "Judged", "Parameter", "Setting"]


class Judged(Table):
    """A metric of the experiments that counts, and how its error is measured.

    `points` is predicted - measured in the metric's unit, `percent` the same relative to the
    measured. Numbers measured at `below` or above it are left out.
    """

    metric: str
    error: Literal["points", "percent"]
    below: float | None = None
    weight: float = Field(default=1.0, gt=0)


class Choice(Table):
    """One answer to a question: scenario keys that express it."""

    name: str
    set: dict[str, Setting] = Field(default={})


class Hypothesis(Table):
    """A question about the machine with its possible answers; the first is tried first."""

    name: str
    question: str
    choice: list[Choice] = Field(min_length=2)

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [choice.name for choice in self.choice]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"choice '{name}' is stated twice")
        return self


class Parameter(Table):
    """A bounded number that is fitted; `start` is tried first."""

    key: str
    low: float
    high: float
    start: float
    whole: bool = False
    logarithmic: bool = False

    @model_validator(mode="after")
    def _is_bounded(self) -> Self:
        if not self.low <= self.start <= self.high or self.low == self.high:
            raise ValueError(f"start = {self.start} must lie between low = {self.low} and high")
        if self.logarithmic and self.low <= 0:
            raise ValueError("a logarithmic parameter must be above zero")
        return self


class Calibration(Table):
    """The questions of a calibration, and the data that answer them.

    The `fit_points` of the experiments choose; all their other points only judge. Every point runs
    with `repeats` consecutive seeds, for all candidates alike. Cross-validation leaves out one of
    `folds` parts of the points in turn, or with `leave_out` each kind of point: all points of an
    experiment (`experiment`), or all with one value of a scenario key, as `cores`.
    """

    title: str
    question: str
    platform: str
    experiments: list[str] = Field(min_length=1)
    repeats: int = Field(default=1, ge=1, le=100)
    trials: int = Field(default=20, ge=0, le=10_000)
    folds: int = Field(default=5, ge=2, le=100)
    leave_out: list[str] = Field(default=[])
    judged: list[Judged] = Field(min_length=1)
    hypothesis: list[Hypothesis] = Field(default=[])
    parameter: list[Parameter] = Field(default=[])

    @model_validator(mode="after")
    def _leaves_out_in_one_way(self) -> Self:
        if self.leave_out and "folds" in self.model_fields_set:
            raise ValueError("folds and leave_out exclude each other: state one")
        for key in self.leave_out:
            if self.leave_out.count(key) > 1:
                raise ValueError(f"leave_out: '{key}' is stated twice")
        return self

    @model_validator(mode="after")
    def _has_something_to_choose(self) -> Self:
        if not self.hypothesis and not self.parameter:
            raise ValueError("neither [[hypothesis]] nor [[parameter]]: nothing can be chosen")
        names = [h.name for h in self.hypothesis] + [p.key for p in self.parameter]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"'{name}' is stated twice")
        return self
