"""The TOML file of an experiment; docs/how-to/experiments.md explains it to people."""

from typing import Literal, Self

from pydantic import Field, model_validator

from skipline.experiment.axis import Axis, Setting, Table, Value
from skipline.experiment.claim import Basis, Claim
from skipline.experiment.prediction import Prediction, Registered

__all__ = ["Axis", "Basis", "Claim", "Experiment", "Setting", "Value"]


class Stated(Table):
    """Numbers that a text or figure states, along one axis; `at` holds others."""

    metric: str
    unit: str
    at: dict[str, Value] = Field(default={})
    along: str
    points: list[tuple[Value, float]] = Field(min_length=1)


class Reference(Table):
    """Published numbers, stated or a table: mean, sd, min, median, max, runs of each metric."""

    source: str
    file: str | None = None
    where: dict[str, str] = Field(default={})
    inputs: dict[str, str] = Field(default={})
    partial: bool = False
    stated: list[Stated] = Field(default=[])

    @model_validator(mode="after")
    def _has_numbers(self) -> Self:
        if self.file is None and not self.stated:
            raise ValueError("[reference] needs a file or [[reference.stated]] numbers")
        if self.file is None and (self.where or self.inputs):
            raise ValueError("[reference] where and inputs need a file")
        return self


class ComparedMetric(Table):
    """A number of the result, and the metric of the reference that it is compared with.

    `name` is metric, metric.component, or TENANT:metric.component. The simulated number is
    multiplied by `times` and then has `unit`. `bounded_by` is a scenario key which each point takes
    from its measurement: where the measured number is as large, it has been put in.
    """

    name: str
    reference: str | None = None
    label: str
    short_label: str = ""
    times: float = 1.0
    unit: str | None = None
    bounded_by: str | None = None

    @property
    def heading(self) -> str:
        """The heading of a column of this metric."""
        return self.short_label or self.label


class Check(Table):
    """A bound on the distance between predicted and measured.

    The share is that of numbers whose relative error is beyond `within_percent`.
    """

    name: str
    text: str
    metrics: list[str] = Field(min_length=1)
    statistic: Literal["mean_absolute_error", "worst_relative_error", "share_beyond"]
    measured_below: float | None = None
    within_percent: float | None = Field(default=None, gt=0)
    at_most: float
    unit: str

    @model_validator(mode="after")
    def _has_what_its_statistic_needs(self) -> Self:
        if (self.statistic == "share_beyond") != (self.within_percent is not None):
            raise ValueError(
                f"check '{self.name}': within_percent goes with statistic = \"share_beyond\""
            )
        return self


class Trivial(Table):
    """Predictors without a model, judged on the points of one check.

    `way_bytes` lists factors, platform keys or numbers, whose product is the capacity of one way.
    Each number in `backlog_buffers` gives one formula min(1, c x capacity / footprint) with
    footprint = (rx_descriptors + backlog) x lines per packet x 64 B.
    """

    check: str
    way_bytes: list[str | int] = Field(min_length=1)
    backlog_buffers: list[int] = Field(min_length=1)


class Experiment(Table):
    """Question, scenario, points, reference, checks and claims.

    Each point runs `repeats` times with consecutive seeds: pages, flows and victims fall anew, as
    they do between runs of a real machine. As long as that leaves a claim undecided they double, up
    to `most_repeats`.
    `beyond` is the short name of the source beyond which an experiment goes that judges no claim.
    Predictions of what nobody has measured say when they were `registered`.
    """

    title: str
    question: str
    source: str
    beyond: str | None = None
    scenario: str
    repeats: int = Field(default=1, ge=1, le=100)
    most_repeats: int | None = Field(default=None, ge=1, le=100)
    axis: list[Axis] = Field(min_length=1)
    include: list[dict[str, Value]] = Field(default=[])
    skip: list[dict[str, Value]] = Field(default=[])
    fixed: dict[str, Setting] = Field(default={})
    fit_points: list[dict[str, Value]] = Field(default=[])
    reference: Reference | None = None
    metric: list[ComparedMetric] = Field(min_length=1)
    check: list[Check] = Field(default=[])
    trivial: Trivial | None = None
    claim: list[Claim] = Field(default=[])
    registered: Registered | None = None
    prediction: list[Prediction] = Field(default=[])

    @model_validator(mode="after")
    def _names_agree(self) -> Self:
        metrics = [metric.name for metric in self.metric]
        for check in self.check:
            for name in check.metrics:
                _require(name, metrics, f"check '{check.name}' metrics")
        self._check_named_points()
        self._check_trivial()
        if sum(axis.role == "x" for axis in self.axis) != 1:
            raise ValueError('exactly one [[axis]] must have role = "x"')
        inputs = self.reference.inputs if self.reference else {}
        for metric in self.metric:
            if metric.bounded_by is not None:
                _require(metric.bounded_by, list(inputs), f"metric '{metric.name}' bounded_by")
        if self.reference is None:
            for metric in self.metric:
                if metric.reference is not None:
                    raise ValueError(
                        f"metric '{metric.name}' reference: the experiment has no [reference]"
                    )
        _require_once([claim.id for claim in self.claim], "claim")
        if self.most_repeats is not None and self.most_repeats < self.repeats:
            raise ValueError(f"most_repeats: at least the repeats, {self.repeats}")
        if self.beyond is not None and self.claim:
            raise ValueError("beyond: an experiment that judges claims is of their source")
        if (self.registered is None) == bool(self.prediction):
            raise ValueError("[registered] and [[prediction]] go together")
        return self

    def _check_named_points(self) -> None:
        for name in ("include", "skip", "fit_points"):
            for point in getattr(self, name):
                self._check_point(point, name)
        for stated in self.reference.stated if self.reference else []:
            where = f"reference.stated '{stated.metric}'"
            self._check_point(stated.at, f"{where} at")
            for value, _ in stated.points:
                self._check_point({stated.along: value}, f"{where} along, points")

    def _check_point(self, point: dict[str, Value], where: str) -> None:
        axes = {axis.key: axis for axis in self.axis}
        for key, value in point.items():
            _require(key, list(axes), where)
            if value not in axes[key].coordinates:
                known = ", ".join(str(one) for one in axes[key].coordinates)
                raise ValueError(f"{where}: {key} = {value!r} is not one of {known}")

    def _check_trivial(self) -> None:
        if self.trivial is None:
            return
        _require(self.trivial.check, [check.name for check in self.check], "trivial.check")
        known = [*(axis.key for axis in self.axis), *self.fixed]
        for key in ("rx_descriptors", "packet_bytes", "ddio_ways"):
            _require(key, known, "trivial needs an axis or a fixed key; it")

    @property
    def x_axis(self) -> Axis:
        """The axis along the figures."""
        return next(axis for axis in self.axis if axis.role == "x")

    @property
    def panel_axes(self) -> list[Axis]:
        """The axes that make one panel per combination."""
        return [axis for axis in self.axis if axis.role == "panel"]

    def point_name(self, axes: dict[str, Value]) -> str:
        """Name a point for people."""
        return ", ".join(axis.text(axes[axis.key]) for axis in self.axis)


def _require(name: str, known: list[str], where: str) -> None:
    if name not in known:
        raise ValueError(f"{where}: '{name}' is not one of {', '.join(known)}")


def _require_once(names: list[str], what: str) -> None:
    for index, name in enumerate(names):
        if name in names[:index]:
            raise ValueError(f"{what} '{name}' is stated twice")
