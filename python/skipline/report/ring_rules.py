"""Where receive rings fill the DDIO ways, along a setting of a sweep: a rule in its figures."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from skipline import _core, resources
from skipline._core import InputError
from skipline.platforms import platform_facts
from skipline.runs import rings
from skipline.runs.rings import Rings
from skipline.store.curves import curve_name
from skipline.store.store import Store
from skipline.text import quantity

# A limit, no advice: people take a bare line in a figure for the best place.
WORDS = "beyond: rings exceed the DDIO ways"
_WAY_FACTS = ("llc.slices", "llc.sets_per_slice")


class Rule(NamedTuple):
    """The value of a setting at which rings fill the ways; `curve` names the curve that it is of.

    Without a curve it is that of all.
    """

    value: float
    curve: str | None


class Rules(NamedTuple):
    """The rules along a setting, and a sentence on curves without one; both may be empty.

    Rings exceed the ways above the rule, or below it if `is_below`. `sizes` says how large both are
    at the last value of the setting.
    """

    rules: list[Rule]
    words: str
    is_below: bool = False
    sizes: str = ""


NONE = Rules([], "")


def read(store: Store, sweep: int, x: str, by: str | None) -> Rules:
    """Return the rules along `x`, for each value of `by`.

    There are none along settings that rings and ways are not proportional to, nor where the
    scenario's file is no longer there.
    """
    key = x.rpartition(".")[2]
    if key not in rings.PROPORTIONAL:
        return NONE
    try:
        by_curve = _rings(store, sweep, x, by)
    except InputError:
        return NONE
    filled = {curve: rings.filled_at(points) for curve, points in by_curve.items()}
    rules = [Rule(value, curve) for curve, value in filled.items() if value is not None]
    if len(rules) == len(by_curve) and len({rule.value for rule in rules}) == 1:
        rules = [Rule(rules[0].value, None)]
    without = [points for curve, points in by_curve.items() if filled[curve] is None]
    words = "" if rules or not without else _everywhere(without)
    sizes = _sizes(next(iter(by_curve.values()))) if len(by_curve) == 1 else ""
    return Rules(rules, words, key in rings.OF_WAYS, sizes)


def _size(size_bytes: float) -> str:
    shown = quantity.text(size_bytes, None, "bytes")
    return f"{float(shown.value):.3g} {shown.unit}"


def _sizes(points: Sequence[tuple[float, Rings]]) -> str:
    last, known = max(points)
    of_rings, of_ways = (_size(one) for one in (known.ring_bytes, known.way_bytes))
    return f"With {last:g}: rings take {of_rings}, the DDIO ways hold {of_ways}."


def _everywhere(curves: Sequence[list[tuple[float, Rings]]]) -> str:
    """Say that rings fit at all points, or at none."""
    every = [known for points in curves for _, known in points]
    if all(known.beyond_bytes < 0 for known in every):
        return "Rings fit the DDIO ways at all points."
    if all(known.beyond_bytes > 0 for known in every):
        return "Rings exceed the DDIO ways at all points."
    return ""


def _rings(
    store: Store, sweep: int, x: str, by: str | None
) -> dict[str | None, list[tuple[float, Rings]]]:
    """Return the rings of each curve along it: those of the first seed of each point."""
    numbers = _numbers(store, sweep)
    resolved: dict[str | None, _Resolved] = {}
    found: dict[str | None, dict[float, Rings]] = {}
    points = store.connection.rows(
        "SELECT ordinal, axes, scenario, settings FROM answers WHERE sweep = ? AND NOT stale "
        "AND settings IS NOT NULL ORDER BY ordinal",
        [sweep],
    )
    for ordinal, axes_text, scenario, settings in points:
        axes = json.loads(axes_text)
        curve = None if by is None else curve_name(axes.get(by))
        own = found.setdefault(curve, {})
        value = axes.get(x)
        if not isinstance(value, int | float) or value in own:
            continue
        if curve not in resolved:
            resolved[curve] = _resolve(scenario, settings)
        keys, way_bytes = resolved[curve]
        _set(keys, x, value)
        of_run = rings.of_run(keys, numbers.get(ordinal, {}), way_bytes)
        if of_run is not None:
            own[float(value)] = of_run
    return {curve: list(own.items()) for curve, own in found.items() if own}


def _numbers(store: Store, sweep: int) -> dict[int, dict[str, float]]:
    """Return what tells sizes of rings, by the ordinal of a point.

    A frame has one column of a name: none for the metric of a setting that is an axis.
    """
    names = [name for name in store.units(sweep) if name.rpartition(":")[2] in rings.METRICS]
    found: dict[int, dict[str, float]] = {}
    for ordinal, metric, value in store.connection.rows(
        "SELECT ordinal, metric, value FROM results WHERE sweep = ? AND NOT stale "
        "AND component IS NULL AND value IS NOT NULL AND metric IN (SELECT unnest(?::VARCHAR[]))",
        [sweep, names],
    ):
        found.setdefault(ordinal, {})[metric] = value
    return found


class _Resolved(NamedTuple):
    """The keys of a point's scenario, and the capacity of a way of its platform."""

    keys: dict[str, Any]
    way_bytes: float


def _resolve(scenario: str, settings: str) -> _Resolved:
    if not resources.exists(scenario):
        raise InputError(f"{scenario}: no such file")
    pairs = [(key, value) for key, value in json.loads(settings)]
    keys: dict[str, Any] = json.loads(_core.check_scenario(scenario, pairs))
    return _Resolved(keys, _way_bytes(keys, scenario))


def _set(keys: dict[str, Any], path: str, value: float) -> None:
    """Replace one key of a resolved scenario, such as `tenant.0.cores`."""
    *tables, last = path.split(".")
    at: Any = keys
    for name in tables:
        at = at[int(name)] if name.isdigit() else at[name]
    at[last] = value


def _way_bytes(keys: Mapping[str, Any], scenario: str) -> float:
    """Return the capacity of one way of the LLC of a scenario's platform."""
    replaced = keys.get("hardware") or {}
    facts = [
        replaced.get(fact) or platform_facts.number(keys["platform"], fact, scenario)
        for fact in _WAY_FACTS
    ]
    return math.prod([float(fact) for fact in facts if fact is not None]) * rings.LINE_BYTES
