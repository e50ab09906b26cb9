"""The TOML file of an experiment."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Value = int | float | str
# Whether measured values of a point chose a parameter of the model.
Basis = Literal["fitted", "predicted"]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Axis(_Table):
    """A scenario key and the values that it takes; points are all combinations of the axes."""

    key: str
    values: list[int | float] = Field(min_length=1)
    label: str
    short_label: str
    unit: str = ""
    scale: Literal["linear", "log2"] = "linear"
    reference: str
    role: Literal["x", "panel"]

    def text(self, value: object) -> str:
        """Name a value of this axis (`packet size 1500 B`)."""
        return f"{self.label} {value} {self.unit}".rstrip()


class Reference(_Table):
    """Measured numbers: one row per point and metric, with columns mean, sd, min, max, runs."""

    file: str
    source: str
    where: dict[str, str] = {}
    inputs: dict[str, str] = {}


class ComparedMetric(_Table):
    """A metric of the result, and the metric of the reference that it is compared with."""

    name: str
    reference: str
    label: str
    short_label: str


class Check(_Table):
    """A bound on the distance between predicted and measured."""

    name: str
    text: str
    metrics: list[str] = Field(min_length=1)
    statistic: Literal["mean_absolute_error", "worst_relative_error"]
    measured_below: float | None = None
    at_most: float
    unit: str


class Trivial(_Table):
    """Predictors without a model, judged on the points of one check.

    `way_bytes` lists factors, platform keys or numbers, whose product is the capacity of one way.
    Each number in `backlog_buffers` gives one formula min(1, c x capacity / footprint) with
    footprint = (rx_descriptors + backlog) x lines per packet x 64 B.
    """

    check: str
    way_bytes: list[str | int] = Field(min_length=1)
    backlog_buffers: list[int] = Field(min_length=1)


class Experiment(_Table):
    """Question, scenario, points, reference and checks.

    Each point runs `repeats` times with consecutive seeds: pages, flows and victims fall anew, as
    they do between runs of a real machine.
    """

    title: str
    question: str
    source: str
    scenario: str
    repeats: int = Field(default=1, ge=1, le=100)
    axis: list[Axis] = Field(min_length=1)
    fixed: dict[str, Value] = {}
    fit_points: list[dict[str, Value]] = []
    reference: Reference
    metric: list[ComparedMetric] = Field(min_length=1)
    check: list[Check] = []
    trivial: Trivial | None = None

    @model_validator(mode="after")
    def _names_agree(self) -> Self:
        metrics = [metric.name for metric in self.metric]
        for check in self.check:
            for name in check.metrics:
                _require(name, metrics, f"check '{check.name}' metrics")
        keys = [axis.key for axis in self.axis]
        for point in self.fit_points:
            for key in point:
                _require(key, keys, "fit_points")
        if self.trivial is not None:
            _require(self.trivial.check, [check.name for check in self.check], "trivial.check")
            for key in ("rx_descriptors", "packet_bytes", "ddio_ways"):
                _require(key, [*keys, *self.fixed], "trivial needs an axis or a fixed key; it")
        if sum(axis.role == "x" for axis in self.axis) != 1:
            raise ValueError('exactly one [[axis]] must have role = "x"')
        return self

    @property
    def x_axis(self) -> Axis:
        """The axis along the figures."""
        return next(axis for axis in self.axis if axis.role == "x")

    @property
    def panel_axes(self) -> list[Axis]:
        """The axes that make one panel per combination."""
        return [axis for axis in self.axis if axis.role == "panel"]


def _require(name: str, known: list[str], where: str) -> None:
    if name not in known:
        raise ValueError(f"{where}: '{name}' is not one of {', '.join(known)}")
