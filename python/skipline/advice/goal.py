"""The goal: one number of a machine that becomes smaller as settings become better."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from skipline._core import InputError
from skipline.diff.bound import Bound

P99 = "latency_ns.p99"
THROUGHPUT = "throughput_gbps"
# The number that stands for throughput of applications that forward no packets, and its unit.
_OFFLOADED = "offload_gbytes_per_s"
_ACCESSES = "work_per_s"
_UNITS = {THROUGHPUT: "Gbit/s", _OFFLOADED: "GB/s", _ACCESSES: "accesses per second"}
_DRAM = ("dram_read_gbytes_per_s", "dram_write_gbytes_per_s")
# Share of the throughput that a goal must keep: packets that are not forwarded have no latency.
_KEPT = 0.98
_LATENCY_KEPT = 1.05

Numbers = Mapping[str, float | None]
Settings = Mapping[str, str]


class Goal(StrEnum):
    """The goals that `--goal` takes."""

    P99 = "p99"
    THROUGHPUT = "throughput"
    ISOLATION = "isolation"
    MEMORY_BANDWIDTH = "memory-bandwidth"
    FREE_CORES = "energy-free-cores"


class Target(NamedTuple):
    """A goal for the tenants of a scenario, and the numbers that it is made of.

    `throughputs` are the names of what each tenant moves, that of the main one first.
    """

    goal: Goal
    tenants: tuple[str, ...]
    cores: int
    bounds: tuple[Bound, ...]
    throughputs: tuple[str, ...]

    @classmethod
    def of_scenario(
        cls, goal: Goal, resolved: Mapping[str, Any], bounds: tuple[Bound, ...]
    ) -> "Target":
        """Return the target of a goal for a resolved scenario."""
        others = resolved.get("tenant") or []
        tenants = tuple(str(tenant["name"]) for tenant in others)
        named = zip(("", *(f"{name}:" for name in tenants)), (resolved, *others), strict=True)
        throughputs = tuple(f"{prefix}{_throughput(keys)}" for prefix, keys in named)
        return cls(goal, tenants, int(resolved["cores"]), bounds, throughputs)

    @property
    def metrics(self) -> list[str]:
        """The numbers that goal, bounds and costs of tenants need."""
        latencies = [f"{prefix}{P99}" for prefix in self.prefixes]
        of_tenants = [*latencies, *self.throughputs]
        return list(dict.fromkeys([*of_tenants, *_DRAM, *(bound.name for bound in self.bounds)]))

    @property
    def prefixes(self) -> list[str]:
        """The prefix of each tenant's numbers; empty for the main one."""
        return ["", *(f"{tenant}:" for tenant in self.tenants)]

    @property
    def label(self) -> str:
        """The goal as a number for people."""
        return {
            Goal.P99: f"{P99}, ns",
            Goal.THROUGHPUT: f"{self.throughputs[0]}, {_UNITS[self.throughputs[0]]}",
            Goal.ISOLATION: "p99 of the tenant that suffers most, relative to now",
            Goal.MEMORY_BANDWIDTH: "DRAM reads and writes, GB/s",
            Goal.FREE_CORES: "cores in use",
        }[self.goal]

    def cost(self, settings: Settings, numbers: Numbers, now: Numbers) -> float | None:
        """Return what is to become small; None where a number is missing."""
        match self.goal:
            case Goal.P99:
                return numbers.get(P99)
            case Goal.THROUGHPUT:
                value = numbers.get(self.throughputs[0])
                return None if value is None else -value
            case Goal.MEMORY_BANDWIDTH:
                parts = [numbers.get(name) for name in _DRAM]
                return None if None in parts else sum(part or 0.0 for part in parts)
            case Goal.FREE_CORES:
                return float(settings.get("cores", self.cores))
            case Goal.ISOLATION:
                return _worst(self.prefixes, numbers, now)

    def shown(self, cost: float) -> float:
        """Return the goal's number as people know it."""
        return -cost if self.goal is Goal.THROUGHPUT else cost

    def require(self, now: Numbers) -> None:
        """Refuse a goal or a bound that this scenario has no numbers for."""
        missing = [bound.name for bound in self.bounds if now.get(bound.name) is None]
        if missing:
            raise InputError(f"--constraint {missing[0]}: the scenario has no such number")
        if self.cost({}, now, now) is None:
            raise InputError(
                f"--goal {self.goal.value}: the scenario has no {self.label}; "
                f"goals are {', '.join(Goal)}"
            )


def _worst(prefixes: Iterable[str], numbers: Numbers, now: Numbers) -> float | None:
    ratios = []
    for prefix in prefixes:
        value, before = numbers.get(f"{prefix}{P99}"), now.get(f"{prefix}{P99}")
        if value is not None and before:
            ratios.append(value / before)
    return max(ratios, default=None)


def _throughput(keys: Mapping[str, Any]) -> str:
    application = str(keys.get("application"))
    return {"offload": _OFFLOADED, "memory-kernel": _ACCESSES}.get(application, THROUGHPUT)


def implied(target: Target, now: Numbers) -> list[Bound]:
    """Return the bounds of a goal itself, on numbers about which nothing is stated."""
    goal, known = target.goal, {bound.name for bound in target.bounds}
    found = []
    for prefix, throughput in zip(target.prefixes, target.throughputs, strict=True):
        if goal is not Goal.THROUGHPUT and throughput not in known and now.get(throughput):
            found.append(Bound(throughput, False, _KEPT))
        name = f"{prefix}{P99}"
        if goal is Goal.FREE_CORES and name not in known and now.get(name):
            found.append(Bound(name, True, _LATENCY_KEPT))
    return found
