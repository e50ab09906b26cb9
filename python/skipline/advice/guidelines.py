"""Published guidelines, and whether the user's own numbers bear them out.

Most are about one knob in one direction: their evidence is what that change alone does to the goal.
One is about the load, which no setting changes: its evidence are hit rates now and at less load.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from skipline.advice.evaluation import Candidate
from skipline.advice.knobs import Knob
from skipline.advice.search import Tried, with_value

# Less is within the noise of short runs.
_LEAST_PERCENT = 1.0
# Names by which a user calls a tenant's traffic less important than that of others.
_LOW_PRIORITY = re.compile(r"low.?prio|background|best.?effort|scavenger", re.IGNORECASE)


class Guideline(NamedTuple):
    """A published statement on a knob.

    `applies` decides whether a value follows it, given the present value; `where`, whether a
    resolved scenario, and the tenant of a knob in it, is one of those that it is about.
    """

    claim: str
    source: str
    text: str
    knob: str
    applies: Callable[[str, str], bool]
    where: Callable[[dict[str, Any], str], bool] = lambda *_: True


class Evidence(NamedTuple):
    """A guideline with the value that follows it best here, and the gain from that alone.

    `percent` is of the goal, or in percentage points of the number that `number` names; None if a
    bound breaks.
    """

    guideline: Guideline
    key: str
    value: str
    percent: float | None
    number: str = ""

    @property
    def effect(self) -> str:
        """The value and how it alone changes the goal or the number, in words for people."""
        if self.percent is None:
            return f"{self.key}={self.value}: breaks a bound"
        if self.number:
            return f"{self.key}={self.value}: {self.number} {self.percent:+.1f} pp"
        better = "better" if self.percent >= 0 else "worse"
        return f"{self.key}={self.value}: {abs(self.percent):.1f} % {better}"

    @property
    def verdict(self) -> str:
        """Whether the numbers of this scenario confirm or contradict the guideline."""
        if self.percent is None:
            return "contradicted here"
        if abs(self.percent) < _LEAST_PERCENT:
            return "makes no difference here"
        return "confirmed here" if self.percent > 0 else "contradicted here"


_ATC = "ATC'20, section 9"
_DSA = "ASPLOS'24, guidelines"
# Gbit/s above which the study calls DDIO the bottleneck, and the number that shows it.
BOTTLENECK_GBPS = 75
WRITE_HITS = "pcie_write_hit_rate"


def _is_more(value: str, now: str) -> bool:
    return int(value) > int(now)


def _is_fewer(value: str, now: str) -> bool:
    return int(value) < int(now)


def _turns_off(value: str, now: str) -> bool:
    return int(value) == 0 < int(now)


def _moves_to_engine(value: str, now: str) -> bool:
    return (value, now) == ("dsa", "core")


def _has_low_priority(_resolved: dict[str, Any], tenant: str) -> bool:
    """Return whether the user has said so of a tenant, by its name."""
    return _LOW_PRIORITY.search(tenant) is not None


def _crosses_tiers(resolved: dict[str, Any], _tenant: str) -> bool:
    own, home = resolved["offload"], resolved["memory_node"]
    nodes = {own.get("source_node") or home, own.get("destination_node") or home}
    return nodes != {"local"}


ALL = (
    Guideline("atc-24", _ATC, "more DDIO ways help what is bound by I/O", "ddio_ways", _is_more),
    Guideline("atc-24", _ATC, "more cores help what is bound by the CPU", "cores", _is_more),
    Guideline("atc-24", _ATC, "too many cores hurt", "cores", _is_fewer),
    Guideline("atc-24", _ATC, "balance the load of the cores", "traffic.flow_rules", _is_more),
    Guideline(
        "atc-32", "ATC'20", "fewer descriptors keep packets in the cache", "rx_descriptors",
        _is_fewer,
    ),
    Guideline(
        "atc-24", _ATC, "low-priority traffic should bypass the cache", "tenant.ddio_ways",
        _turns_off, _has_low_priority,
    ),
    Guideline(
        "atc-31", "ATC'20", "throttle memory-hungry neighbours", "co_runner.mba_percent", _is_fewer
    ),
    Guideline("dsa-23", _DSA, "batch small transfers", "offload.batch", _is_more),
    Guideline("dsa-23", _DSA, "go asynchronous", "offload.depth", _is_more),
    Guideline(
        "dsa-23", _DSA, "write to memory what is not read soon", "offload.cache_control", _turns_off
    ),
    Guideline(
        "dsa-23", _DSA, "let engines move data between memory tiers", "offload.by",
        _moves_to_engine, _crosses_tiers,
    ),
    Guideline("dsa-23", _DSA, "use engines in parallel", "dsa.engines", _is_more),
    Guideline("dsa-23", _DSA, "more queues spare their threads a lock", "dsa.queues", _is_more),
    Guideline("dsa-23", _DSA, "few entries of a queue are enough", "dsa.queue_entries", _is_fewer),
)  # fmt: skip
_LOAD = Guideline(
    "atc-24", _ATC, "above 75 Gbit/s DDIO becomes the bottleneck", "offered_gbps", _is_fewer
)


def load_evidence(hits_now: float, hits_below: float) -> Evidence:
    """Return the evidence on the load, from the percentages of device writes that hit.

    The first is that of now, the second that at less load.
    """
    return Evidence(_LOAD, _LOAD.knob, str(BOTTLENECK_GBPS), hits_below - hits_now, WRITE_HITS)


def first_changes(knobs: Sequence[Knob], resolved: dict[str, Any]) -> list[Candidate]:
    """Return what publications advise, for a search that may have no time for more.

    Half of the way first, which is seldom too far: a ring of 512 leaks as little as one of 64.
    """
    half, whole = [], []
    for guideline, knob in _applicable(knobs, resolved):
        if values := _advised(guideline, knob):
            half.append(with_value(knob, (), values[len(values) // 2]))
            whole.append(with_value(knob, (), values[-1]))
    return list(dict.fromkeys([*half, *whole]))


def _advised(guideline: Guideline, knob: Knob) -> list[str]:
    """Return the values that a guideline is for, the nearest to the present one first."""
    at = knob.values.index(knob.now)
    values = [value for value in knob.values if guideline.applies(value, knob.now)]
    return sorted(values, key=lambda value: abs(knob.values.index(value) - at))


def untried_changes(
    knobs: Sequence[Knob], tried: Sequence[Tried], resolved: dict[str, Any]
) -> list[Candidate]:
    """Return the changes alone that are to be tried, so that every guideline has its evidence."""
    known = {one.candidate for one in tried}
    found = []
    for guideline, knob in _applicable(knobs, resolved):
        values = _advised(guideline, knob)
        alone = [with_value(knob, (), value) for value in values]
        if alone and not known & {*alone}:
            # A step may do little or harm where many help.
            found += [with_value(knob, (), value) for value in (values[0], values[-1])]
    return list(dict.fromkeys(found))


def _applicable(
    knobs: Sequence[Knob], resolved: dict[str, Any]
) -> Iterator[tuple[Guideline, Knob]]:
    for guideline in ALL:
        for knob in knobs:
            is_it = _kind(knob.key) == guideline.knob
            if is_it and guideline.where(resolved, _tenant(knob.key, resolved)):
                yield guideline, knob


def _tenant(key: str, resolved: dict[str, Any]) -> str:
    """Return the name of the tenant that a key is of; empty for the main one."""
    parts = key.split(".")
    if parts[0] != "tenant":
        return ""
    return str(resolved["tenant"][int(parts[1])].get("name", ""))


def judge(
    knobs: Sequence[Knob], tried: Sequence[Tried], resolved: dict[str, Any]
) -> Iterator[Evidence]:
    """Yield the guidelines of which a change alone was tried."""
    costs = {one.candidate: one.cost for one in tried}
    now: float | None = costs.get(())
    if now is None:
        return
    for guideline, knob in _applicable(knobs, resolved):
        found = list(_single_changes(guideline, knob, costs, now))
        if found:
            yield max(found, key=lambda one: -math.inf if one.percent is None else one.percent)


def _single_changes(
    guideline: Guideline, knob: Knob, costs: dict[Candidate, float | None], now: float
) -> Iterator[Evidence]:
    for value in knob.values:
        candidate = with_value(knob, (), value)
        if candidate not in costs or not guideline.applies(value, knob.now):
            continue
        cost = costs[candidate]
        percent = 100 * (now - cost) / abs(now) if now and cost is not None else 0.0
        yield Evidence(guideline, knob.key, value, None if cost is None else percent)


def _kind(key: str) -> str:
    """Return a key without numbers of lists: `tenant.0.ddio_ways` is `tenant.ddio_ways`."""
    return ".".join(part for part in key.split(".") if not part.isdigit())
