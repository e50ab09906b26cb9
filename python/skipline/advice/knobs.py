"""Settings that can be changed on a real machine: scenario keys and the values to try, in order."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from skipline import _core
from skipline._core import InputError
from skipline.platforms import platform_facts
from skipline.text.nearest import did_you_mean

_RINGS = (64, 128, 256, 512, 1024, 2048, 4096)
_SEND_RINGS = (256, 512, 1024, 2048)
_POOLS = (8191, 16383, 32767, 65535)
_POOL_CACHES = (0, 64, 128, 256, 512)
_PREFETCHED_AHEAD = (0, 1, 2, 4, 8, 16, 32)
_PREFETCHED_LINES = (1, 2, 4)
_WAYS = (0, 1, 2, 4, 6, 8)
_CORES = (1, 2, 4, 6, 8, 12, 16)
_MBA_PERCENT = (10, 20, 40, 60, 80, 100)
_DEPTHS = (1, 2, 4, 8, 16, 32, 64)
_QUEUES = (1, 2, 4, 8)
_QUEUE_ENTRIES = (16, 32, 64, 128)
_THRESHOLDS = (4, 8, 12, 16, 24, 32, 64, 96)
_SLICES = (1, 2, 4, 8)
_NEAR_ITEMS = (1 << 10, 1 << 14, 1 << 18)
_WAYS_KEY = "ddio_ways"
# Present value of a key that is not stated: such a key can be left out, but not set.
ALL, NONE = "all", "none"


class Knob(NamedTuple):
    """A key with the values to try; `now` is what the scenario has, or what is so without the key.

    Values of an `ordered` knob are such that what is best has better neighbours on its way.
    """

    key: str
    values: list[str]
    now: str
    ordered: bool

    @property
    def name(self) -> str:
        """The last part of the key."""
        return self.key.rpartition(".")[2]


def of_scenario(
    scenario: str, fixed: Sequence[tuple[str, str]], resolved: dict[str, Any], wanted: Sequence[str]
) -> list[Knob]:
    """Return the knobs of a scenario, or those that are asked for; InputError if one is unknown."""
    fixed_ways = why_ways_are_fixed(scenario, resolved)
    every = [*_all(resolved)]
    known = [knob for knob in every if not (fixed_ways and knob.name == _WAYS_KEY)]
    names = [knob.key for knob in known]
    chosen = []
    for word in wanted or names:
        found = [knob for knob in known if word in (knob.key, knob.name)]
        if not found:
            if fixed_ways and any(word in (knob.key, knob.name) for knob in every):
                raise InputError(
                    f"--knobs '{word}': no setting of {resolved['platform']}, so it cannot be "
                    f"advised ({fixed_ways}); `skipline sweep` tells what it would bring"
                )
            near = did_you_mean(word, names)
            raise InputError(f"--knobs '{word}': unknown{near}; here are: {', '.join(names)}")
        chosen += [knob for knob in found if knob not in chosen]
    stated = {key for key, _ in fixed}
    possible = (_possible(scenario, fixed, knob) for knob in chosen if knob.key not in stated)
    found = [knob for knob in possible if len(knob.values) > 1]
    if not found:
        raise InputError(f"{scenario}: no knob has another possible value in this scenario")
    return found


def keys(resolved: dict[str, Any]) -> list[str]:
    """Return the keys of a resolved scenario that people can set on a real machine."""
    return [knob.key for knob in _all(resolved)]


def why_ways_are_fixed(scenario: str, resolved: dict[str, Any]) -> str | None:
    """Return the source for DDIO ways that the machine of a scenario cannot change, or None."""
    platform = str(resolved["platform"])
    for fact in platform_facts.facts(platform, scenario):
        if fact.key == "ddio.settable" and not fact.value:
            return fact.source
    return None


def _possible(scenario: str, fixed: Sequence[tuple[str, str]], knob: Knob) -> Knob:
    """Leave out the values that the machine does not take; what is there now stays."""
    values = []
    for value in knob.values:
        if value == knob.now:
            values.append(value)
            continue
        try:
            _core.check_scenario(scenario, [*fixed, (knob.key, value)])
        except InputError:
            continue
        values.append(value)
    return knob._replace(values=values)


def _all(resolved: dict[str, Any]) -> Iterator[Knob]:
    yield from _of_tenant("", resolved)
    yield from _flow_rules(resolved)
    for index, tenant in enumerate(resolved.get("tenant") or []):
        # The number of ways is one for all ports of a socket; a port can only be switched off.
        ways = (0, tenant["ddio_ways"]) if tenant.get("ddio_ways") else ()
        yield from _of_tenant(f"tenant.{index}.", tenant, ways)
    for index, runner in enumerate(resolved.get("co_runner") or []):
        prefix = f"co_runner.{index}."
        yield _knob(f"{prefix}way_mask", _masks(runner["way_mask"]), runner["way_mask"], False)
        yield _knob(f"{prefix}mba_percent", _MBA_PERCENT, runner["mba_percent"])
        yield from _near(prefix, runner)


def _flow_rules(resolved: dict[str, Any]) -> Iterator[Knob]:
    """Yield rules that give flows to queues in turn: without any, or one for each flow."""
    traffic = resolved.get("traffic") or {}
    flows = traffic.get("flows")
    if resolved.get("offered_gbps") is None or flows is None or traffic.get("pcap"):
        return
    # Flows of a list come and go.
    if traffic.get("pattern") == "list":
        return
    if traffic.get("pattern") == "trains":
        flows *= traffic["generator_threads"]
    yield _knob("traffic.flow_rules", (0, flows), traffic["flow_rules"])


def _of_tenant(prefix: str, keys: dict[str, Any], ways: Sequence[int] = _WAYS) -> Iterator[Knob]:
    if keys.get("ddio_ways") is not None and ways:
        yield _knob(f"{prefix}ddio_ways", ways, keys["ddio_ways"])
    if keys.get("rx_descriptors") is not None and keys.get("offered_gbps") is not None:
        yield _knob(f"{prefix}rx_descriptors", _RINGS, keys["rx_descriptors"])
        yield _knob(f"{prefix}tx_descriptors", _SEND_RINGS, keys["tx_descriptors"])
        yield from _of_pool(prefix, keys)
    yield _knob(f"{prefix}cores", _CORES, keys["cores"])
    mask = keys.get("core_way_mask")
    if mask is not None:
        yield _knob(f"{prefix}core_way_mask", _masks(mask), mask, False)
    yield from _of_slices(prefix, keys)
    if keys.get("nic_socket") is not None:
        yield _knob(f"{prefix}nic_socket", (0, 1), keys["nic_socket"], False)
    if keys["application"] == "offload":
        own = keys["offload"]
        yield _knob(f"{prefix}offload.by", ("core", "dsa"), own["by"], False)
        yield _knob(f"{prefix}offload.batch", _DEPTHS, own["batch"])
        yield _knob(f"{prefix}offload.depth", _DEPTHS, own["depth"])
        yield _knob(f"{prefix}offload.cache_control", (0, 1), own["cache_control"], False)
        yield from _of_queues(f"{prefix}dsa.", keys["dsa"])


def _of_pool(prefix: str, keys: dict[str, Any]) -> Iterator[Knob]:
    """Yield the pool of packet buffers, and what is prefetched of received packets."""
    yield _knob(f"{prefix}pool_buffers", _POOLS, keys["pool_buffers"])
    yield _knob(f"{prefix}pool_cache", _POOL_CACHES, keys["pool_cache"])
    prefetch = keys.get("prefetch") or {}
    # Without the key all packets of a burst are prefetched when they come.
    ahead = prefetch.get("packets_ahead", keys["burst"])
    yield _knob(f"{prefix}prefetch.packets_ahead", _PREFETCHED_AHEAD, ahead)
    yield _knob(
        f"{prefix}prefetch.packet_lines", _PREFETCHED_LINES, prefetch.get("packet_lines", 1)
    )


def _of_slices(prefix: str, keys: dict[str, Any]) -> Iterator[Knob]:
    """Yield what may lie in slices near its cores: headers, a working set, popular items."""
    if keys.get("rx_descriptors") is not None:
        now = (keys.get("placement") or {}).get("header_slices", ALL)
        yield _knob(f"{prefix}placement.header_slices", _SLICES, now, False)
    application = keys["application"]
    if application == "memory-kernel":
        yield from _near(f"{prefix}memory_kernel.", keys["memory_kernel"])
    if application == "key-value":
        now = keys["key_value"].get("slice_aware_items", NONE)
        yield _knob(f"{prefix}key_value.slice_aware_items", _NEAR_ITEMS, now, False)


def _near(prefix: str, kernel: dict[str, Any]) -> Iterator[Knob]:
    """Yield how many slices hold a working set, unless the scenario names them."""
    if not kernel.get("slices") and not kernel.get("isolated_slices"):
        now = kernel.get("nearest_slices", ALL)
        yield _knob(f"{prefix}nearest_slices", _SLICES, now, False)


def _of_queues(prefix: str, dsa: dict[str, Any]) -> Iterator[Knob]:
    """Yield the engines and queues of a group."""
    yield _knob(f"{prefix}engines", (1, 2, 4), dsa["engines"])
    yield _knob(f"{prefix}queues", _QUEUES, dsa["queues"])
    yield _knob(f"{prefix}queue_entries", _QUEUE_ENTRIES, dsa["queue_entries"])
    yield _knob(f"{prefix}queue_mode", ("dedicated", "shared"), dsa["queue_mode"], False)
    if dsa["queue_mode"] == "shared":
        yield _knob(f"{prefix}threshold", _THRESHOLDS, dsa.get("threshold", ALL), False)


def _masks(now: int) -> list[str]:
    """Return masks of ways: all, without those that devices use by default, halves."""
    ways = max(now.bit_length(), 2)
    whole = (1 << ways) - 1
    half = whole >> (ways // 2)
    found = (now, whole, whole >> 2, half, whole & ~half)
    return list(dict.fromkeys(f"{mask:#x}" for mask in found))


def _knob(key: str, values: Sequence[object], now: object, ordered: bool = True) -> Knob:
    text = f"{now:#x}" if key.endswith("way_mask") else _setting(now)
    texts = [_setting(value) for value in values]
    if text not in texts:
        texts.append(text)
        if ordered:
            texts.sort(key=float)
    return Knob(key, texts, text, ordered)


def _setting(value: object) -> str:
    return str(value)
