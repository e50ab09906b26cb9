"""`skipline.sweep`: a sweep from Python, in a script or a notebook."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING

from skipline import extras
from skipline._core import InputError, RunError
from skipline.scenarios import settings as of_settings
from skipline.store import opening
from skipline.store.store import Store
from skipline.store.writing import Writer
from skipline.sweeps import axis, definition, drive
from skipline.sweeps.engine import parse_engine
from skipline.text import terminal

if TYPE_CHECKING:
    import polars as pl

Progress = Callable[[float, str], None]


def sweep(  # noqa: PLR0913 - keywords
    scenario: str | PathLike[str],
    axes: Mapping[str, str | Iterable[object]] | None = None,
    overrides: Mapping[str, object] | None = None,
    *,
    repeats: int | None = None,
    seed: int | None = None,
    random: int | None = None,
    sobol: int | None = None,
    metrics: Sequence[str] | None = None,
    store: str | PathLike[str] | None = None,
    engine: str = "local",
    jobs: int | None = None,
    limit: int | None = None,
    progress: Progress | None = None,
) -> "pl.DataFrame":
    """Simulate a scenario, or what a sweep file asks, at many points; return a row per point.

    `axes` has values for each key, or a text such as `"256..4096:log:5"`. `overrides` holds for all
    points. Columns are the axes, `seed`, and `metrics` in their units, as `Store.frame` returns
    them; points that failed have nulls. `store` is the file that keeps all numbers; what is there
    is not simulated again. Without one, nothing is kept. `limit` points are simulated at most.
    `progress` is called with the share that is done and a text; without it, a terminal or a
    notebook shows a bar. Raises InputError for bad input, RunError if all points failed or the
    store cannot be written.

    >>> import skipline
    >>> short = {"run": {"batch_packets": 1024, "max_batches": 10}}
    >>> frame = skipline.sweep(
    ...     "experiments/ddio-bench/l2fwd.toml",
    ...     {"rx_descriptors": [256, 1024]},
    ...     short,
    ...     metrics=["pcie_write_hit_rate"],
    ... )
    >>> frame.columns
    ['rx_descriptors', 'seed', 'pcie_write_hit_rate']
    >>> len(frame)
    2
    """
    extras.require("sweeps", "a sweep")
    requested = _definition(fspath(scenario), axes or {}, overrides or {})
    requested = definition.with_seeds(requested, seed, repeats)
    requested = definition.with_sample(requested, random, sobol, "sweep")
    used = parse_engine(engine, jobs)
    path = None if store is None else fspath(store)
    opening.require_room(path, requested.check())
    with Writer(path) as writer, terminal.progress_bar("sweep") as bar:
        options = drive.Options(used, limit=limit, reckon=bar.reckon)
        summary = drive.run_into(writer, requested, options, progress or bar.update)
        if not summary.new["done"] and not summary.reused and summary.first_error:
            raise RunError(f"no point of the sweep could be simulated: {summary.first_error}")
        return Store.of(writer.connection).frame(metrics, summary.sweep)


def _definition(
    path: str, axes: Mapping[str, str | Iterable[object]], overrides: Mapping[str, object]
) -> definition.Definition:
    found = []
    for key, values in axes.items():
        where = f"axes: '{key}'"
        if isinstance(values, str):
            found.append(axis.from_values(key, values, where))
        elif isinstance(values, Iterable):
            literals = [of_settings.of_python({key: value}, {})[0][1] for value in values]
            found.append(axis.listed(key, literals, where))
        else:
            raise InputError(f"{where}: a list of values, or a text such as '256..4096:log:5'")
    fixed = of_settings.of_python(overrides, {})
    return definition.extend(definition.read(path), found, fixed)
