"""Chooses the combinations of the axes that become points: all of them, or a sample."""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from skipline import resources
from skipline._core import InputError
from skipline.sweeps.axis import Axis
from skipline.text import csv_text

if TYPE_CHECKING:
    import numpy

Settings = tuple[tuple[str, str], ...]
MOST_POINTS = 1_000_000
Sampling = Literal["random", "sobol"]


def count(axes: Sequence[Axis], sample: int | None, repeats: int) -> int:
    """Return how many points there are; InputError if there are too many, or none."""
    if sample is None:
        for axis in axes:
            if axis.spread is not None:
                raise InputError(
                    f"axis {axis.name}: a range without a number of values; "
                    "write lo..hi:lin:8, or sample with --random N or --sobol N"
                )
    combinations = math.prod(len(axis.values) for axis in axes) if sample is None else sample
    points = combinations * repeats
    if points > MOST_POINTS:
        raise InputError(
            f"{_sizes(axes, sample, repeats)} = {points:,} points; allowed: up to {MOST_POINTS:,}; "
            "take fewer values, or sample with --random N or --sobol N"
        )
    return points


def _sizes(axes: Sequence[Axis], sample: int | None, repeats: int) -> str:
    factors = [f"{len(axis.values):,} ({axis.name})" for axis in axes]
    if sample is not None:
        factors = [f"{sample:,} samples"]
    if repeats > 1:
        factors.append(f"{repeats} repeats")
    return " x ".join(factors) or "1"


def combinations(
    axes: Sequence[Axis], sampling: Sampling | None, sample: int | None, seed: int
) -> Iterator[Settings]:
    """Yield the settings of each point: every combination, or `sample` of them."""
    if sampling is None or sample is None:
        for values in itertools.product(*(axis.values for axis in axes)):
            yield _joined(axes, values)
        return
    for shares in _shares(sampling, sample, len(axes), seed):
        values = tuple(_at(axis, float(share)) for axis, share in zip(axes, shares, strict=True))
        yield _joined(axes, values)


def _joined(axes: Sequence[Axis], values: Sequence[tuple[str | None, ...]]) -> Settings:
    pairs = (
        pair
        for axis, own in zip(axes, values, strict=True)
        for pair in zip(axis.keys, own, strict=True)
    )
    return tuple((key, value) for key, value in pairs if value is not None)


def _at(axis: Axis, share: float) -> tuple[str | None, ...]:
    """Return the value at a share (0 to 1, without 1) of an axis."""
    if axis.spread is not None:
        return (axis.spread.at(share),)
    return axis.values[min(int(share * len(axis.values)), len(axis.values) - 1)]


def _shares(sampling: Sampling, sample: int, dimensions: int, seed: int) -> "numpy.ndarray":
    """Return a row of shares per point; the same for the same seed."""
    import numpy

    if dimensions == 0:
        return numpy.empty((sample, 0))
    if sampling == "random":
        return numpy.random.default_rng(seed).random((sample, dimensions))
    from scipy.stats import qmc

    # All 2^m of them, of which a prefix is still spread evenly.
    sequence = qmc.Sobol(dimensions, scramble=True, rng=numpy.random.default_rng(seed))
    power = max(0, math.ceil(math.log2(sample)))
    shares: numpy.ndarray = sequence.random_base2(power)[:sample]
    return shares


def from_table(path: str) -> Axis:
    """Read an axis of several keys from a CSV file: a key per column, a value per row.

    An empty cell leaves the key as the scenario has it.
    """
    rows = list(csv_text.rows(resources.read_text(path)))
    rows = [[cell.strip() for cell in row] for row in rows if any(cell.strip() for cell in row)]
    if len(rows) <= 1:
        raise InputError(
            f"{path}: no points; the first line names keys, each further line is a point"
        )
    keys, *points = rows
    _require_keys(path, keys)
    for number, row in enumerate(points, start=2):
        if len(row) != len(keys):
            raise InputError(f"{path}: row {number}: {len(row)} cells below {len(keys)} keys")
    values = [tuple(cell or None for cell in row) for row in points]
    return Axis(tuple(keys), list(dict.fromkeys(values)))


def _require_keys(path: str, keys: list[str]) -> None:
    for at, key in enumerate(keys):
        if not key:
            raise InputError(f"{path}: column {at + 1} has no key in the first line")
        if key in keys[:at]:
            raise InputError(f"{path}: key '{key}' is stated twice")
