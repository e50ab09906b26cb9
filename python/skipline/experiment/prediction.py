"""Predictions of an experiment's TOML: numbers that nobody has measured when they are committed."""

from datetime import date
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, model_validator

from skipline.experiment.axis import Table


class Prediction(Table):
    """A number of the results, what it was when registered, and 90 % bounds of a measurement.

    `bounds` says where these come from. Who measures it adds `measured` and its `source`, and
    changes nothing else. `modelled` is added where the numbers were judged before the simulator
    could give them: what its first version that could gave, on that day.
    """

    text: str
    value: str
    predicted: FiniteFloat
    low: FiniteFloat
    high: FiniteFloat
    unit: str = ""
    bounds: str = Field(min_length=1)
    modelled: FiniteFloat | None = None
    modelled_on: date | None = None
    measured: FiniteFloat | None = None
    source: str | None = None

    @model_validator(mode="after")
    def _is_within_its_bounds(self) -> Self:
        if not self.low <= self.predicted <= self.high:
            raise ValueError(f"prediction '{self.text}': low <= predicted <= high")
        if (self.measured is None) != (self.source is None):
            raise ValueError(f"prediction '{self.text}': measured and source go together")
        if (self.modelled is None) != (self.modelled_on is None):
            raise ValueError(f"prediction '{self.text}': modelled and modelled_on go together")
        return self

    @property
    def outcome(self) -> str:
        """What has become of it."""
        if self.measured is None:
            return "open"
        return "within" if self.low <= self.measured <= self.high else "missed"


class Registered(Table):
    """When predictions were registered, and how they could be measured."""

    on: date
    how_to_measure: str = Field(min_length=1)


class PredictionNow(BaseModel):
    """A prediction beside what this version gives."""

    model_config = ConfigDict(frozen=True)

    text: str
    unit: str
    predicted: float
    low: float
    high: float
    now: float

    @property
    def is_within(self) -> bool:
        """Whether what this version gives is within the bounds."""
        return self.low <= self.now <= self.high
