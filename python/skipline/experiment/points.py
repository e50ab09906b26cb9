"""The points of an experiment: every combination of its axes, with all scenario settings."""

import itertools
from dataclasses import dataclass

from skipline.experiment.catalogue import Entry
from skipline.experiment.definition import Basis, Experiment, Value
from skipline.experiment.reference import Measured, ReferenceTable
from skipline.simulation import toml_literal


@dataclass(frozen=True)
class Point:
    """One simulation to run and the numbers measured at the same place."""

    axes: dict[str, Value]
    settings: dict[str, Value]
    basis: Basis
    measured: dict[str, Measured]

    @property
    def label(self) -> str:
        """Name of the point, also of its file."""
        return ",".join(f"{key}={value}" for key, value in self.axes.items())

    @property
    def overrides(self) -> list[tuple[str, str]]:
        """The settings as the core takes them."""
        return [(key, toml_literal(value)) for key, value in self.settings.items()]


def points(entry: Entry) -> list[Point]:
    """Return the points in the order of the axes."""
    experiment = entry.experiment
    reference = ReferenceTable(experiment, entry.reference_path)
    combinations = itertools.product(*(axis.values for axis in experiment.axis))
    keys = [axis.key for axis in experiment.axis]
    return [
        _point(experiment, reference, dict(zip(keys, values, strict=True)))
        for values in combinations
    ]


def _point(experiment: Experiment, reference: ReferenceTable, axes: dict[str, Value]) -> Point:
    inputs: dict[str, Value] = {
        key: reference.find(axes, metric).mean
        for key, metric in experiment.reference.inputs.items()
    }
    fitted = any(
        all(axes[key] == value for key, value in point.items()) for point in experiment.fit_points
    )
    return Point(
        axes=axes,
        settings={**experiment.fixed, **axes, **inputs},
        basis="fitted" if fitted else "predicted",
        measured={
            metric.name: reference.find(axes, metric.reference) for metric in experiment.metric
        },
    )
