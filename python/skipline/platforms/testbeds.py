"""Testbeds: the settings that experiments on one machine share, and parameters fitted on them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from skipline import _core
from skipline.text import json_record


@dataclass(frozen=True)
class FittedParameter:
    """A parameter of platform or testbed that was fitted, and the data that it was fitted on.

    `is_elsewhere`: these are of another machine, so that the value is a guess for this one.
    """

    key: str
    value: Any
    fitted_on: str
    is_elsewhere: bool = False

    @property
    def value_text(self) -> str:
        """The value as people write it."""
        return f"{self.value:g}" if isinstance(self.value, float) else str(self.value)


@dataclass(frozen=True)
class TestbedSetting:
    """A scenario key that the experiments of a testbed share, and where its value is from."""

    key: str
    value: Any
    source: str
    confidence: str
    fitted_on: str | None = None

    @property
    def whole_source(self) -> str:
        """Where the value is from, and what it was fitted on."""
        return self.source + (f" (fitted on {self.fitted_on})" if self.fitted_on else "")


@dataclass(frozen=True)
class Testbed:
    """The testbed that a scenario names, and the settings that it takes from there.

    `measurements` are what `fitted_on` begins with where the testbed's own chose a value.
    """

    name: str
    title: str
    platform: str
    measurements: list[str]
    settings: list[TestbedSetting]

    def tuned(self, parameter: FittedParameter) -> bool:
        """Return whether measurements of this testbed were among those that chose a parameter."""
        if parameter.is_elsewhere:
            return False
        chosen_on = parameter.fitted_on.split("; ")
        return any(one.startswith(own) for one in chosen_on for own in self.measurements)


def chosen_here(
    testbed: Testbed | None, parameters: Iterable[FittedParameter]
) -> list[FittedParameter]:
    """Return the parameters that measurements of a testbed chose."""
    return [one for one in parameters if testbed and testbed.tuned(one)]


def read(name_or_path: str) -> Testbed:
    """Read a testbed; InputError for one that does not exist or is invalid."""
    return json_record.read(Testbed, _core.testbed(name_or_path))
