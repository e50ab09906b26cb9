"""Names of a result's agents for people: whose cores and devices they are, and what they built."""

import re
from collections.abc import Iterator
from typing import Any

from skipline.runs.result import Result

_DEVICE = re.compile(r"\b(?:nic|ssd|dsa|cbdma)\d+\b")
_MAIN = "main"
# Before time zero the first core of these builds pool and rings, or fills what it works on.
_WITHOUT_MEMORY_OF_ITS_OWN = {"memory-kernel"}
ABOUT = (
    "What was in the cache at time zero, such as a pool, counts as lines of the core that had "
    "written it."
)


def labels(result: Result, *, with_built: bool = True) -> dict[str, str]:
    """Return how agents are called: with their tenants, if there are several.

    `with_built` names the core that had built a pool before time zero with it: what it holds is
    not what it has taken in the run.
    """
    tenants = list(_tenants(result))
    owners = dict(_device_owners(result)) if len(tenants) > 1 else {}
    found = {device: f"{device} ({tenant})" for device, tenant in owners.items()}
    for tenant, keys, cores in _with_cores(result, tenants):
        for number in cores:
            name = f"core{number}"
            remarks = [tenant] if len(tenants) > 1 else []
            if with_built and number == cores.start and _has_built(keys):
                remarks.append("built the pool" if _has_packets(keys) else "filled its memory")
            if remarks:
                found[name] = f"{name} ({', '.join(remarks)})"
    return found


def _tenants(result: Result) -> Iterator[tuple[str, dict[str, Any]]]:
    yield _MAIN, result.scenario
    for keys in result.scenario.get("tenant") or []:
        yield str(keys.get("name")), keys


def _with_cores(
    result: Result, tenants: list[tuple[str, dict[str, Any]]]
) -> Iterator[tuple[str, dict[str, Any], range]]:
    """Yield each tenant with the numbers of its cores: socket by socket, co-runners last."""
    beside = [("", keys) for keys in result.scenario.get("co_runner") or []]
    all_of_them = [*tenants, *beside]
    first = 0
    for socket in sorted({_number(keys, "socket", 0) for _, keys in all_of_them}):
        for name, keys in all_of_them:
            if _number(keys, "socket", 0) == socket:
                cores = range(first, first + _number(keys, "cores", 1))
                first = cores.stop
                if name:
                    yield name, keys, cores


def _number(keys: dict[str, Any], key: str, otherwise: int) -> int:
    value = keys.get(key)
    return value if isinstance(value, int) else otherwise


def _has_packets(keys: dict[str, Any]) -> bool:
    return "rx_descriptors" in keys


def _has_built(keys: dict[str, Any]) -> bool:
    is_empty = keys.get("initial_content") == "empty"
    return not is_empty and keys.get("application") not in _WITHOUT_MEMORY_OF_ITS_OWN


def _device_owners(result: Result) -> Iterator[tuple[str, str]]:
    for limit in result.limits:
        if limit.tenant:
            yield from ((device, limit.tenant) for device in _DEVICE.findall(limit.resource))
