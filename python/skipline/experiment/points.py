"""The points of an experiment: the combinations of its axes, with all scenario settings."""

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from skipline import resources
from skipline._core import InputError
from skipline.experiment.catalogue import Entry
from skipline.experiment.definition import Basis, Experiment, Setting, Value
from skipline.experiment.reference import Measured, Published
from skipline.scenarios.settings import toml_literal

# Longer names of points are cut, so that the file systems take them with seed and suffix.
_LONGEST_STEM = 160
_SAFE = frozenset("=,.+-_")


@dataclass(frozen=True)
class Point:
    """One simulation to run and the numbers published for it."""

    axes: dict[str, Value]
    scenario: str
    settings: dict[str, Setting]
    basis: Basis
    measured: dict[str, Measured]
    null: str = ""
    """The null model that the point is simulated for; empty for those of the experiment."""

    @property
    def label(self) -> str:
        """Name of the point for people."""
        return ",".join(f"{key}={value}" for key, value in self.axes.items())

    @property
    def stem(self) -> str:
        """Name of the point's file: the label where file systems take it, else with a digest."""
        label = f"{self.label},null={self.null}" if self.null else self.label
        plain = "".join(letter if _is_safe(letter) else "_" for letter in label)
        if plain == label and len(plain) <= _LONGEST_STEM:
            return plain
        digest = hashlib.sha256(label.encode()).hexdigest()[:12]
        return f"{plain[:_LONGEST_STEM]}-{digest}"

    @property
    def overrides(self) -> list[tuple[str, str]]:
        """The settings as the core takes them."""
        return [(key, _override(value)) for key, value in self.settings.items()]


def _override(value: Setting) -> str:
    """Write a setting; a text is what `--set` would be given: "0x600" is a mask."""
    return value if isinstance(value, str) else toml_literal(value)


def _is_safe(letter: str) -> bool:
    return (letter.isascii() and letter.isalnum()) or letter in _SAFE


def points(entry: Entry) -> list[Point]:
    """Return the points in the order of the axes."""
    experiment = entry.experiment
    published = Published(experiment, entry.reference_path)
    found = [_point(entry, published, axes) for axes in combinations(experiment)]
    if not found:
        raise InputError(f"{entry.path}: include and skip leave no point")
    return found


def of_null_models(entry: Entry, own: Sequence[Point]) -> list[Point]:
    """Return the points that null models of the claims simulate, each once."""
    found: dict[tuple[str, str], Point] = {}
    for null in (null for claim in entry.experiment.claim for null in claim.null if null.set):
        for point in own:
            if not matches(point.axes, [null.at]):
                continue
            changed = replace(point, settings=point.settings | null.set, null=null.name)
            known = found.setdefault((null.name, point.label), changed)
            if known.settings != changed.settings:
                raise InputError(
                    f"{entry.path}: null '{null.name}': another one of this name sets other keys"
                )
    return list(found.values())


def combinations(experiment: Experiment) -> list[dict[str, Value]]:
    """Return every combination of the axes that is included and not skipped."""
    keys = [axis.key for axis in experiment.axis]
    product = itertools.product(*(axis.coordinates for axis in experiment.axis))
    every = [dict(zip(keys, values, strict=True)) for values in product]
    return [
        axes
        for axes in every
        if (not experiment.include or matches(axes, experiment.include))
        and not matches(axes, experiment.skip)
    ]


def matches(axes: Mapping[str, Value], patterns: Sequence[Mapping[str, Value]]) -> bool:
    """Return whether one of `patterns` fits; a key that a pattern leaves out means all values."""
    return any(all(axes[key] == value for key, value in p.items()) for p in patterns)


def _point(entry: Entry, published: Published, axes: dict[str, Value]) -> Point:
    experiment = entry.experiment
    settings: dict[str, Setting] = dict(experiment.fixed)
    scenario = experiment.scenario
    for axis in experiment.axis:
        settings |= axis.settings(axes[axis.key])
        scenario = axis.scenario(axes[axis.key]) or scenario
    return Point(
        axes=axes,
        scenario=resources.path_beside(entry.path, scenario),
        settings=settings | published.inputs(axes),
        basis="fitted" if matches(axes, experiment.fit_points) else "predicted",
        measured=published.at(axes),
    )
