"""Axes of an experiment: the values of a scenario key, or named cases of several settings."""

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, model_validator

# A value on an axis, as tables, labels and expressions write it.
Value = bool | int | float | str
# The value of a scenario key.
Setting = Value | list[Any] | dict[str, Any]


class Table(BaseModel):
    """A TOML table that knows all its keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Case(Table):
    """One case of an axis: its name, the settings that it stands for, its scenario."""

    name: Value
    set: dict[str, Setting] = {}
    scenario: str | None = None
    reference: Value | None = None


class Axis(Table):
    """A scenario key and the values that it takes, or a name and its cases."""

    key: str
    values: list[Value] = []
    case: list[Case] = []
    label: str
    short_label: str = ""
    unit: str = ""
    scale: Literal["linear", "log2"] = "linear"
    reference: str | None = None
    role: Literal["x", "panel"]

    @model_validator(mode="after")
    def _has_values(self) -> Self:
        if bool(self.values) == bool(self.case):
            raise ValueError(f"axis '{self.key}': give either values or [[axis.case]] tables")
        coordinates = self.coordinates
        for index, value in enumerate(coordinates):
            if value in coordinates[:index]:
                raise ValueError(f"axis '{self.key}': '{value}' is stated twice")
        if self.scale == "log2" and not self.is_numeric:
            raise ValueError(f"axis '{self.key}': scale = \"log2\" needs numbers")
        return self

    @property
    def coordinates(self) -> list[Value]:
        """The values, or the names of the cases, in their order."""
        return self.values or [case.name for case in self.case]

    @property
    def is_numeric(self) -> bool:
        """Whether all values are numbers, so that figures have a number axis."""
        return all(
            isinstance(value, int | float) and not isinstance(value, bool)
            for value in self.coordinates
        )

    @property
    def heading(self) -> str:
        """The heading of a column of this axis."""
        return self.short_label or self.label

    @property
    def argument(self) -> str:
        """The axis as a keyword of an expression."""
        return "".join(letter if letter.isalnum() else "_" for letter in self.key)

    def text(self, value: object) -> str:
        """Name a value of this axis (`packet size 1500 B`)."""
        if self.case and not self.is_numeric:
            return str(value)
        return f"{self.label} {value} {self.unit}".rstrip()

    def settings(self, value: Value) -> dict[str, Setting]:
        """Return the scenario settings of a value."""
        if not self.case:
            return {self.key: value}
        return self._case(value).set

    def scenario(self, value: Value) -> str | None:
        """Return the scenario that a value names, if it does."""
        return self._case(value).scenario if self.case else None

    def cell(self, value: Value) -> Value:
        """Return what the reference table has in this axis' column at a value."""
        if not self.case:
            return value
        reference = self._case(value).reference
        return value if reference is None else reference

    def _case(self, value: Value) -> Case:
        return next(case for case in self.case if case.name == value)
