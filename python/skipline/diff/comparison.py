"""Compares two sides: every number at every point that both have."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from skipline._core import InputError
from skipline.diff import change, settings
from skipline.diff.bound import Bound
from skipline.diff.change import Change
from skipline.diff.settings import Differing
from skipline.diff.side import Figure, Run, Side
from skipline.scenarios import metrics
from skipline.text.nearest import did_you_mean


class Found(NamedTuple):
    """A change of a number at a point; `significant` is whether it is more than chance."""

    axes: dict[str, Any]
    change: Change
    unit: str
    significant: bool

    @property
    def point(self) -> str:
        """The point for people."""
        return ", ".join(f"{key}={value}" for key, value in self.axes.items())


class Broken(NamedTuple):
    """A bound that does not hold, and where."""

    bound: Bound
    found: Found


class Comparison(NamedTuple):
    """All that differs; points that only one side has are counted."""

    before: Side
    now: Side
    settings: list[Differing]
    found: list[Found]
    only_before: int
    only_now: int
    broken: list[Broken]

    @property
    def is_measured(self) -> bool:
        """Whether a server has counted one of the sides."""
        return self.before.settings is None or self.now.settings is None

    @property
    def changed(self) -> list[Found]:
        """The changes that are more than chance."""
        return [one for one in self.found if one.significant]

    def as_json(self) -> dict[str, Any]:
        """Return everything for programs."""
        return {
            "before": {"name": self.before.name, **self.before.origin},
            "now": {"name": self.now.name, **self.now.origin},
            "settings": [one._asdict() for one in self.settings],
            "points": len({one.point for one in self.found}),
            "only_before": self.only_before,
            "only_now": self.only_now,
            "changes": [_as_json(one) for one in self.found],
            "broken": [{"bound": one.bound.text, **_as_json(one.found)} for one in self.broken],
        }


def _as_json(found: Found) -> dict[str, Any]:
    fields = found.change._asdict()
    more = {"percent": found.change.percent, "unit": found.unit, "significant": found.significant}
    return {"axes": found.axes, **fields, **more}


def compare(before: Side, now: Side, bounds: Sequence[Bound]) -> Comparison:
    """Compare two sides; InputError if they have no point in common, or not what a bound names."""
    if before.is_store != now.is_store:
        raise InputError(
            f"{before.name} and {now.name}: a store is compared with a store, a single result "
            "with a single result, a scenario or windows of `skipline-host monitor`"
        )
    shared = [axes for axes in before.runs if axes in now.runs]
    if not shared:
        raise InputError(
            f"{before.name} and {now.name} have no point in common: their axes or values differ"
        )
    changes = [
        (axes, change.between(name, left, right))
        for axes in shared
        for name, left, right in _numbers(before.runs[axes], now.runs[axes])
    ]
    significance = change.mark_significant([one for _, one in changes])
    found = [
        Found(json.loads(axes), one, now.units[one.name], more_than_chance)
        for (axes, one), more_than_chance in zip(changes, significance, strict=True)
    ]
    return Comparison(
        before,
        now,
        _settings(before, now),
        found,
        len(before.runs) - len(shared),
        len(now.runs) - len(shared),
        list(_broken(before, now, bounds, found)),
    )


def _settings(before: Side, now: Side) -> list[Differing]:
    if before.settings is None or now.settings is None:
        return []
    return settings.differing(before.settings, now.settings)


def _numbers(
    before: dict[int, Run], now: dict[int, Run]
) -> list[tuple[str, dict[int, Figure], dict[int, Figure]]]:
    """Return each number that both have, by seed."""
    left, right = _by_name(before), _by_name(now)
    names = sorted((name for name in left if name in right), key=_rank)
    return [(name, left[name], right[name]) for name in names]


def _by_name(runs: dict[int, Run]) -> dict[str, dict[int, Figure]]:
    found: dict[str, dict[int, Figure]] = {}
    for seed, run in runs.items():
        for name, figure in run.items():
            found.setdefault(name, {})[seed] = figure
    return found


def _rank(name: str) -> tuple[bool, int, str]:
    tenant, colon, rest = name.rpartition(":")
    return bool(colon), metrics.rank(rest.split(".")[0]), tenant


def _broken(
    before: Side, now: Side, bounds: Sequence[Bound], found: Sequence[Found]
) -> list[Broken]:
    broken = []
    names = {one.change.name for one in found}
    for bound in bounds:
        if bound.name not in names:
            near = did_you_mean(bound.name, names, 3)
            raise InputError(f"--gate '{bound.text}': both sides have no such number{near}")
        for one in found:
            if one.change.name != bound.name:
                continue
            axes = json.dumps(one.axes)
            left, right = _by_name(before.runs[axes]), _by_name(now.runs[axes])
            if change.breaks(bound, left[bound.name], right[bound.name]):
                broken.append(Broken(bound, one))
    return broken
