"""Claims of a publication in an experiment's TOML, and how they came out."""

from collections.abc import Collection, Sequence
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from skipline.experiment.axis import Setting, Table, Value

# Whether measured values of a point chose a parameter of the model.
Basis = Literal["fitted", "predicted"]
# Of a check also: whether measured values of other testbeds chose a parameter of its points.
CheckBasis = Literal["fitted", "fitted elsewhere", "predicted"]
CHECK_BASES: tuple[CheckBasis, ...] = ("fitted", "fitted elsewhere", "predicted")
# Undecided: the runs with other seeds differ by more than the verdict allows.
Word = Literal["holds", "undecided", "fails"]


class ClaimCheck(Table):
    """One expression over the results and what it must be.

    A number with `expected` holds within its tolerance, with `at_least` or `at_most` within these
    bounds; an expression with neither must be true.
    """

    text: str
    value: str
    expected: float | None = None
    tolerance: float | None = Field(default=None, ge=0)
    tolerance_percent: float | None = Field(default=None, ge=0)
    factor: float | None = Field(default=None, ge=1)
    at_least: float | None = None
    at_most: float | None = None
    unit: str = ""
    source: str | None = None
    basis: Basis = "predicted"

    @model_validator(mode="after")
    def _is_one_kind(self) -> Self:
        tolerances = (self.tolerance, self.tolerance_percent, self.factor)
        given = sum(tolerance is not None for tolerance in tolerances)
        bounded = self.at_least is not None or self.at_most is not None
        if self.expected is None and given:
            raise ValueError("a tolerance needs an expected number")
        if self.expected is not None and given != 1:
            raise ValueError(
                "expected needs exactly one of tolerance, tolerance_percent and factor"
            )
        if self.expected is not None and bounded:
            raise ValueError("give either expected or bounds (at_least, at_most)")
        if self.factor is not None and self.expected is not None and self.expected <= 0:
            raise ValueError("factor needs an expected number above 0")
        return self

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Lowest and highest number that holds; None where a truth is expected."""
        if self.expected is None:
            if self.at_least is None and self.at_most is None:
                return None
            low = -float("inf") if self.at_least is None else self.at_least
            return low, float("inf") if self.at_most is None else self.at_most
        if self.factor is not None:
            return self.expected / self.factor, self.expected * self.factor
        slack = self.tolerance
        if slack is None:
            slack = abs(self.expected) * (self.tolerance_percent or 0.0) / 100
        return self.expected - slack, self.expected + slack

    @property
    def expectation(self) -> str:
        """The expectation as text."""
        if self.expected is not None:
            number = f"{_number(self.expected)}{_unit(self.unit)}"
            if self.factor is not None:
                return f"{number}, within a factor of {_number(self.factor)}"
            if self.tolerance_percent is not None:
                return f"{number} ± {_number(self.tolerance_percent)} %"
            return f"{number} ± {_number(self.tolerance or 0.0)}"
        parts = []
        if self.at_least is not None:
            parts.append(f"at least {_number(self.at_least)}")
        if self.at_most is not None:
            parts.append(f"at most {_number(self.at_most)}")
        return " and ".join(parts) + _unit(self.unit) if parts else "true"


class Null(Table):
    """A null model, in which the claim must fail.

    Each point gives what it gives at the coordinates `as_at`, or what it gives with the settings
    `set`, which are simulated for this; `at` limits these to some points, the others stay.
    """

    name: str
    as_at: dict[str, Value] = Field(default={})
    set: dict[str, Setting] = Field(default={})
    at: dict[str, Value] = Field(default={})

    @model_validator(mode="after")
    def _is_one_kind(self) -> Self:
        if bool(self.as_at) == bool(self.set):
            raise ValueError(f"null '{self.name}': give as_at or set")
        if self.at and not self.set:
            raise ValueError(f"null '{self.name}': at goes with set")
        return self


class Claim(Table):
    """A row of the claims table, the checks that judge it here, and null models that it names."""

    id: str
    note: str | None = None
    check: list[ClaimCheck] = Field(min_length=1)
    null: list[Null] = Field(default=[])


class ClaimCheckVerdict(BaseModel):
    """The verdict on one check.

    `refuted_by` is a null model in which it fails; a check without one holds there too: alone it
    would be weak. It is None where no null model was tried.

    `half_width` is that of the 95 % interval of `value` over the runs with different seeds, None
    below five of them. `decided` is whether the verdict would be the same anywhere within it.
    """

    model_config = ConfigDict(frozen=True)

    text: str
    expression: str
    expected: str
    got: str
    value: float | None
    half_width: float | None = None
    target: float | None
    low: float | None
    high: float | None
    unit: str
    source: str
    basis: CheckBasis
    holds: bool
    decided: bool = True
    refuted_by: str | None = None

    @property
    def is_weak(self) -> bool:
        """Whether it holds in each null model too."""
        return self.word == "holds" and self.refuted_by == ""

    @property
    def word(self) -> Word:
        """The verdict."""
        if not self.decided:
            return "undecided"
        return "holds" if self.holds else "fails"


def join_verdicts(checks: Sequence[ClaimCheckVerdict]) -> Word:
    """Return the verdict on all of them: one that fails decides, whatever the others do."""
    words = {check.word for check in checks}
    if "fails" in words:
        return "fails"
    return "undecided" if "undecided" in words else "holds"


class NullVerdict(BaseModel):
    """A null model that was tried, and whether the claim fails in it, as it should."""

    model_config = ConfigDict(frozen=True)

    name: str
    fails: bool


class ClaimVerdict(BaseModel):
    """The verdict on a claim in one experiment: it holds when all its checks do.

    `nulls` were tried for claims that do not fail.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    note: str | None
    checks: list[ClaimCheckVerdict]
    nulls: list[NullVerdict] = []

    @property
    def word(self) -> Word:
        """The verdict on all checks."""
        return join_verdicts(self.checks)

    @property
    def refuted_by(self) -> str:
        """The null model in which the claim fails; empty if it holds in all that were tried."""
        return next((null.name for null in self.nulls if null.fails), "")

    @property
    def basis(self) -> CheckBasis:
        """Predicted if no check is fitted, here or elsewhere."""
        return join_bases([check.basis for check in self.checks])


def join_bases(bases: Collection[CheckBasis]) -> CheckBasis:
    """Return the basis of all of them: one that is fitted decides, then one fitted elsewhere."""
    return next((basis for basis in CHECK_BASES if basis in bases), "predicted")


def got_text(check: ClaimCheckVerdict) -> str:
    """Write what a check gives, with its interval where one is known."""
    if not check.half_width:
        return check.got
    return f"{check.got} ± {_number(check.half_width)}"


def number_text(value: float, unit: str = "") -> str:
    """Write a number with four digits and its unit."""
    return _number(value) + _unit(unit)


def _number(value: float) -> str:
    if value != 0 and not _SMALL <= abs(value) < _LARGE:
        return f"{value:.3e}"
    return f"{value:.4g}" if abs(value) < _FOUR_DIGITS else f"{value:.0f}"


def _unit(unit: str) -> str:
    return f" {unit}" if unit else ""


# Numbers outside of these are written with an exponent, those above the last without decimals.
_SMALL, _LARGE, _FOUR_DIGITS = 1e-3, 1e7, 1e4
