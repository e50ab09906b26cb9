"""The result of one run, as `skipline run --format json` prints it."""

import dataclasses
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from skipline import extras
from skipline._core import InputError
from skipline.platforms import testbeds
from skipline.platforms.testbeds import FittedParameter, Testbed
from skipline.runs import result_versions
from skipline.scenarios import metrics
from skipline.text import json_record, quantity
from skipline.text.nearest import did_you_mean
from skipline.text.quantity import Number
from skipline.text.table import TextTable, numbers, texts

if TYPE_CHECKING:
    import polars

# Names that a message suggests, components that it lists, components of a metric in a notebook.
_MOST_SUGGESTED, _MOST_LISTED, _MOST_SHOWN = 3, 20, 12


# Figures of a latency among the numbers that matter most. Contents, one per agent, are not.
_KEY_PERCENTILES = ("p50", "p99")
_CONTENTS = "llc_occupancy_bytes"
_MAIN = "main"
# An application that only receives, and its two rates.
_SINK, _SENT, _RECEIVED = "packet-sink", "throughput_gbps", "received_gbps"


class NoSuchNumber(KeyError):
    """A metric or component that a result does not have; prints as the sentence that it is."""

    def __str__(self) -> str:
        return str(self.args[0])


class Entry(NamedTuple):
    """One number of a metric; `component` is its key in a breakdown, None for a scalar."""

    metric: str
    component: str | None
    value: Number
    ci95: Number
    unit: str


class Description(NamedTuple):
    """Group and label of a metric for people; `headline` metrics are shown first."""

    group: str
    label: str
    headline: bool


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A number, or a breakdown of numbers, with the half width of its 95 % interval.

    Results of versions that did not describe their metrics have no group, label and headline.
    """

    value: Number | dict[str, Number]
    ci95: Number | dict[str, Number] = None
    unit: str
    group: str | None = None
    label: str | None = None
    headline: bool = False

    def entries(self, name: str) -> Iterator[Entry]:
        """Yield the metric's numbers, one per component."""
        if not isinstance(self.value, dict):
            ci95 = None if isinstance(self.ci95, dict) else self.ci95
            yield Entry(name, None, self.value, ci95, self.unit)
            return
        intervals = self.ci95 if isinstance(self.ci95, dict) else {}
        for component, value in self.value.items():
            yield Entry(name, component, value, intervals.get(component), self.unit)

    def component(self, name: str) -> "Metric":
        """Return one number of a breakdown as a metric of its own; NoSuchNumber if it has none."""
        if not isinstance(self.value, dict):
            raise NoSuchNumber(f"no component '{name}': the metric is a single number")
        if name not in self.value:
            close = did_you_mean(name, self.value, _MOST_SUGGESTED)
            raise NoSuchNumber(f"no component '{name}'{close}; components: {_listed(self.value)}")
        intervals = self.ci95 if isinstance(self.ci95, dict) else {}
        return dataclasses.replace(self, value=self.value[name], ci95=intervals.get(name))


@dataclass(frozen=True, kw_only=True)
class Eviction:
    """The line that an allocation evicted."""

    address_line: int = 0
    owner: str
    state: str
    read: bool


@dataclass(frozen=True, kw_only=True)
class TraceEvent:
    """One line operation in the story of a traced packet, line or descriptor."""

    time_ns: float
    agent: str
    operation: str
    line: int
    part: str | None = None
    found: str
    evicted: Eviction | None = None


@dataclass(frozen=True, kw_only=True)
class TracePhase:
    """A phase that a traced descriptor has passed."""

    phase: str
    until_ns: float
    took_ns: float


@dataclass(frozen=True, kw_only=True)
class DescriptorTrace:
    """The story of one descriptor of a copy engine."""

    descriptor: int
    begun_ns: float
    phases: list[TracePhase]
    events: list[TraceEvent]
    left_out: int = 0


@dataclass(frozen=True, kw_only=True)
class ReplayedPhase:
    """A part of a replayed log of descriptors, or all of it; None is what was not run."""

    least_bytes: int | None = None
    from_ns: float
    until_ns: float
    descriptors: int
    bytes: int
    operations: dict[str, int]
    engines_ns: float | None = None
    offloading_ns: float | None = None
    core_ns: float | None = None
    core_by_engines: float | None = None
    freed_cycles: float | None = None
    without_core_cost: int = 0


@dataclass(frozen=True, kw_only=True)
class Replay:
    """A log of descriptors that a tenant replayed: engines beside cores."""

    tenant: str
    core_ghz: float
    phases: list[ReplayedPhase]
    total: ReplayedPhase
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class TimelinePoint:
    """Measurements between the end of the point before and this one."""

    until_ns: float
    metrics: dict[str, float | None]


@dataclass(frozen=True, kw_only=True)
class Limit:
    """A resource that requests queue for."""

    kind: str
    resource: str
    tenant: str | None = None
    utilisation_percent: float


@dataclass(frozen=True, kw_only=True)
class MissKinds:
    """Requests that reached a cache, sorted by a fully associative LRU cache of the same size."""

    hits: int
    anti_conflict_hits: int
    compulsory: int
    capacity: int
    conflict: int
    invalidated: int

    @property
    def misses(self) -> int:
        """Misses of all kinds."""
        return self.compulsory + self.capacity + self.conflict + self.invalidated


@dataclass(kw_only=True, repr=False)
class Result:
    """A whole run. Keys that a later version adds are left out."""

    schema_version: int
    scenario: dict[str, Any]
    seed: int
    version: str
    platform: str
    slice_function: str
    simulated_ns: float
    warmup_ns: float
    packets: int
    batches: int
    stopped_by: str
    settled: bool
    wall_s: float
    line_ops: int
    line_ops_per_s: float
    real_time_factor: float
    testbed: Testbed | None = None
    fitted_parameters: list[FittedParameter] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unsettled: list[str] = field(default_factory=list)
    answer: str = ""
    limits: list[Limit] = field(default_factory=list)
    metrics: dict[str, Metric]
    replays: list[Replay] = field(default_factory=list)
    timeline: list[TimelinePoint] = field(default_factory=list)
    trace: list[TraceEvent] | None = None
    trace_address: int | None = None
    line_trace: list[TraceEvent] | None = None
    descriptor_trace: DescriptorTrace | None = None
    miss_kinds: dict[str, MissKinds] | None = None
    device_write_kinds: dict[str, MissKinds] | None = None

    @property
    def chosen_here(self) -> list[FittedParameter]:
        """The fitted parameters that measurements of the scenario's own testbed chose."""
        return testbeds.chosen_here(self.testbed, self.fitted_parameters)

    @property
    def title(self) -> str:
        """The scenario's title, or a plain name if it has none."""
        return str(self.scenario.get("title") or "Skipline run")

    def __getitem__(self, name: str) -> Metric:
        """Return a metric, or one number of it as `METRIC.COMPONENT`: `latency_ns.p99`.

        Raises NoSuchNumber, a KeyError, which names the closest names.
        """
        if name in self.metrics:
            return self.metrics[name]
        for at in (at for at, letter in enumerate(name) if letter == "."):
            metric = self.metrics.get(name[:at])
            if metric is not None:
                return _component(metric, name[:at], name[at + 1 :])
        raise NoSuchNumber(self._unknown(name))

    def __contains__(self, name: object) -> bool:
        try:
            self[str(name)]
        except NoSuchNumber:
            return False
        return True

    def _unknown(self, name: str) -> str:
        known = metrics.declared().get(name)
        if known is not None:
            return f"{name}: this run has no such metric; in others it is: {known.about}"
        plain = [known for known in self.metrics if not known.startswith(f"{_MAIN}:")]
        close = did_you_mean(name, plain, _MOST_SUGGESTED)
        return f"no metric '{name}'{close}; this result has {len(self.metrics)}, in `metrics`"

    def scalar(self, metric: str) -> float:
        """Return the value of a metric that is one number, or of `METRIC.COMPONENT`, in its unit.

        Raises NoSuchNumber, a KeyError, which names the closest names.
        """
        value = self[metric].value
        if isinstance(value, dict):
            names = _listed(f"{metric}.{component}" for component in value)
            raise NoSuchNumber(f"{metric} is not a single number; its components: {names}")
        if value is None:
            raise NoSuchNumber(f"{metric} has no value: nothing was counted for it")
        return float(value)

    def to_frame(self) -> "polars.DataFrame":
        """Return a data frame of polars with a row per number, in the order of tables.

        Its columns are metric, component (null for a single number), value, ci95 (half width),
        unit, group, label; metric and component together are there once.
        """
        extras.require("notebook", "a data frame", ["polars"])
        import polars

        rows = [
            (*entry, *self.description(name)[:2])
            for name in self.in_order()
            for entry in self.by_component(name)
        ]
        names = (*Entry._fields, "group", "label")
        numbers = ("value", "ci95")
        types = {name: polars.Float64 if name in numbers else polars.String for name in names}
        return polars.DataFrame(rows, schema=types, orient="row")

    def description(self, name: str) -> Description:
        """Return how a metric looks: as the result says, else as this version declares it.

        What counts of a tenant that only receives is what it receives, not what it sends.
        """
        found = self._described(name)
        tenant, _, metric = name.rpartition(":")
        if metric in {_SENT, _RECEIVED} and (tenant or _MAIN) in self._receivers():
            return found._replace(headline=metric == _RECEIVED)
        return found

    def is_idle_sender(self, name: str) -> bool:
        """Return whether a metric is what a tenant sends that only receives."""
        tenant, _, metric = name.rpartition(":")
        return metric == _SENT and (tenant or _MAIN) in self._receivers()

    def _receivers(self) -> set[str]:
        """Return the names of the tenants that send nothing."""
        others = self.scenario.get("tenant") or []
        named = [(_MAIN, self.scenario), *((str(one.get("name")), one) for one in others)]
        return {name for name, keys in named if keys.get("application") == _SINK}

    def _described(self, name: str) -> Description:
        metric = self.metrics[name]
        if metric.group is not None and metric.label is not None:
            return Description(metric.group, metric.label, metric.headline)
        known = metrics.declared().get(name.rpartition(":")[2])
        if known is not None:
            return Description(known.group, known.label, known.headline)
        return Description("More", name, headline=False)

    def in_order(self) -> list[str]:
        """Return the names of the metrics as tables show them, those of other tenants last."""
        return sorted(self.metrics, key=lambda name: (":" in name, metrics.rank(name)))

    def headlines(self) -> Iterator[str]:
        """Yield the names of the metrics that are shown first, those of other tenants apart."""
        for name in self.in_order():
            if ":" not in name and self.description(name).headline:
                yield name

    def by_component(self, name: str) -> list[Entry]:
        """Return the numbers of a metric, those of core2 before those of core10."""
        entries = self.metrics[name].entries(name)
        return sorted(entries, key=lambda entry: natural_order(entry.component or ""))

    def tenants(self) -> list[str]:
        """Return the names before metrics, that of the main tenant too, if there are others."""
        named = [name.rpartition(":")[0] for name in self.metrics if ":" in name]
        names = list(dict.fromkeys(named))
        return names if names != [_MAIN] else []

    def tenant_of(self, name: str) -> str:
        """Return the tenant that a metric is of, if there are several; empty for the machine."""
        tenant, _, metric = name.rpartition(":")
        if tenant or not self.tenants():
            return tenant
        known = metrics.declared().get(metric)
        return _MAIN if known is not None and known.of == "tenant" else ""

    def all_headlines(self) -> Iterator[str]:
        """Yield the metrics that are shown first: those of the machine, then tenant by tenant."""
        names = [name for name in self.in_order() if self.description(name).headline]
        tenants = ["", _MAIN, *self.tenants()] if self.tenants() else [""]
        for tenant in dict.fromkeys(tenants):
            yield from (name for name in names if self.tenant_of(name) == tenant)

    def key_numbers(self, tenant: str = "") -> Iterator[Entry]:
        """Yield the numbers of a tenant that matter most; of the main one also the machine's."""
        prefix = f"{tenant}:" if tenant else ""
        own = [name for name in self.metrics if name.rpartition(":")[0] == tenant]
        for name in sorted(own, key=metrics.rank):
            entries = list(self.metrics[name].entries(name))
            if name == f"{prefix}latency_ns":
                known = (entry for entry in entries if entry.value is not None)
                yield from (entry for entry in known if entry.component in _KEY_PERCENTILES)
            elif self.description(name).headline and not name.endswith(_CONTENTS):
                yield from (entry for entry in entries if entry.value is not None)

    def entries(self) -> Iterator[Entry]:
        """Yield every number of every metric, in the order of the result."""
        for name, metric in self.metrics.items():
            yield from metric.entries(name)

    def __repr__(self) -> str:
        shown = (next(self.metrics[name].entries(name), None) for name in self.headlines())
        single = [entry for entry in shown if entry and entry.component is None]
        headlines = (f"{entry.metric} {_text(entry)}" for entry in single[:_MOST_SUGGESTED])
        doubt = "" if self.settled else "NOT SETTLED, "
        return (
            f"<skipline.Result {self.title!r} on {self.platform}, seed {self.seed}: "
            f"{doubt}{', '.join(headlines)}; {len(self.metrics)} metrics>"
        )

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """Show the headline metrics in a notebook."""
        rows = [row for name in self.headlines() for row in self._rows(name)]
        columns = (*texts("", "metric"), *numbers("value", "95 %"))
        return TextTable(columns, rows, title=self.title).as_html(self._remarks())

    def _rows(self, name: str) -> Iterator[tuple[str, str, str, str]]:
        """Yield the rows of a metric, the label in the first."""
        entries = self.by_component(name)
        label = self.description(name).label
        for entry in entries[:_MOST_SHOWN]:
            component = "" if entry.component is None else f".{entry.component}"
            number = quantity.text_beside(name, entry.value, entry.ci95, entry.unit)
            yield label, f"{name}{component}", f"{number.value} {number.unit}", number.ci95
            label = ""
        if len(entries) > _MOST_SHOWN:
            yield "", f"{name}: {len(entries) - _MOST_SHOWN} more", "", ""

    def _remarks(self) -> Iterator[str]:
        if not self.settled:
            yield "It has not settled: the metrics describe how it began; raise run.max_batches."
        yield from (f"{note}." for note in self.notes)
        yield f"Platform {self.platform}, seed {self.seed}, version {self.version}."
        count = sum(1 for _ in self.entries())
        yield f"All {count} numbers: .to_frame(); one of them: .scalar('METRIC.COMPONENT')."


def natural_order(name: str) -> list[tuple[str, int]]:
    """Return what names with numbers are sorted by: core2 before core10."""
    return [(text, int(digits or 0)) for text, digits in re.findall(r"(\D*)(\d*)", name)]


def _component(metric: Metric, name: str, component: str) -> Metric:
    try:
        return metric.component(component)
    except NoSuchNumber as error:
        raise NoSuchNumber(f"{name}: {error}") from None


def _listed(names: Iterable[str]) -> str:
    """List names, of many the first ones."""
    several = list(names)
    more = len(several) - _MOST_LISTED
    rest = f" and {more} more" if more > 0 else ""
    return f"{', '.join(several[:_MOST_LISTED])}{rest}"


def _text(entry: Entry) -> str:
    number = quantity.text(entry.value, None, entry.unit)
    return f"{number.value} {number.unit}"


def parse(text: str, name: str) -> Result:
    """Parse a stored result; `name` is the file that a fault is reported with."""
    try:
        record = json_record.parse(text)
        if isinstance(record, dict):
            record = result_versions.migrate(record, name)
        return json_record.convert(Result, record)
    except ValueError as error:
        raise InputError(f"{name}: not a result of `skipline run`: {error}") from error
