"""Reads a store: sweeps, points and numbers as data frames of polars."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from skipline import extras
from skipline._core import InputError
from skipline.runs import identity
from skipline.scenarios import metrics as declared
from skipline.store import opening, queries
from skipline.store.connection import Connection
from skipline.text import html_card
from skipline.text.nearest import did_you_mean

if TYPE_CHECKING:
    from os import PathLike

    import polars as pl

# Figures of a latency beside the metrics that are one number.
_LATENCIES = ("latency_ns.p50", "latency_ns.p99")
# Columns of points that are no axes.
_STATE = "status, error, stale, settled, wall_s, platform, version, scenario, settings"


class Store:
    """The results of sweeps in a file; several processes may read it while none writes.

    Frames have a column per axis and `seed`, then what they are about; a row per point, in the
    order of the sweep. A sweep is named by its number, the last one if none is. Raises InputError
    for a file that is no store, a number that no sweep has, or a metric that no point has.
    """

    def __init__(self, path: "str | PathLike[str]") -> None:
        extras.require("sweeps", "a store")
        self.path = str(path)
        self.connection = opening.open_store(self.path, write=False)

    @classmethod
    def of(cls, connection: Connection) -> Self:
        """Read with a connection that is open already."""
        found = cls.__new__(cls)
        found.path, found.connection = connection.path, connection
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, so that a sweep can write it."""
        self.connection.close()

    def sql(self, query: str, values: Sequence[object] = ()) -> "pl.DataFrame":
        """Return what a query of DuckDB finds; InputError for one that is refused.

        Tables are points, numbers, sweeps, members; views are answers, results. It is one query,
        which reads this store and changes nothing. Numbers, decimals, truths, dates and times keep
        their types. A column of another type, as of lists, comes as texts; so does one with a value
        that its type in Python lacks, as the year 290000.
        """
        return queries.answer(self.connection, query, values)

    def sweeps(self) -> "pl.DataFrame":
        """Return a row per sweep: what it asks, and how much of that is there."""
        return self._frame(
            "SELECT sweep, any_value(sweeps.scenario) AS scenario, any_value(sweeps.keys) AS axes, "
            "count(*) AS points, "
            "count(*) FILTER (status = 'done' AND NOT stale) AS done, "
            "count(*) FILTER (status = 'failed' AND NOT stale) AS failed, "
            "count(*) FILTER (stale) AS stale, "
            "count(*) FILTER (status IS NULL OR (status = 'lost' AND NOT stale)) AS missing, "
            "any_value(sweeps.title) AS title, any_value(sweeps.started_at) AS started_at "
            "FROM answers JOIN sweeps USING (sweep) GROUP BY sweep ORDER BY sweep"
        )

    def number(self, sweep: int | None = None) -> int:
        """Return the number of a sweep that is there, the last one that began if none is named."""
        known = self.connection.rows("SELECT sweep FROM sweeps ORDER BY started_at, sweep")
        numbers = [number for (number,) in known]
        if not numbers:
            raise InputError(f"{self.path}: this store has no sweep")
        if sweep is None:
            return int(numbers[-1])
        if sweep not in numbers:
            listed = ", ".join(map(str, sorted(numbers)))
            raise InputError(f"{self.path}: sweep {sweep} not found; sweeps: {listed}")
        return sweep

    def keys(self, sweep: int | None = None) -> list[str]:
        """Return the keys of the axes of a sweep."""
        query = "SELECT keys FROM sweeps WHERE sweep = ?"
        found = self.connection.row(query, [self.number(sweep)])
        return [] if found is None else list(self._parsed(found[0]))

    def points(self, sweep: int | None = None) -> "pl.DataFrame":
        """Return the state of each point: status, error, stale, settled, wall_s, and its origin.

        `status` is done, failed, lost, or null for a point that is missing.
        """
        number = self.number(sweep)
        found = self._frame(
            f"SELECT axes, seed, {_STATE} FROM answers WHERE sweep = ? ORDER BY ordinal", [number]
        )
        return self._with_axes(found, number)

    def frame(
        self, metrics: Sequence[str] | None = None, sweep: int | None = None
    ) -> "pl.DataFrame":
        """Return a column per metric (METRIC or METRIC.COMPONENT), in the units of `units`.

        Without names: the metrics that are one number, and p50 and p99 of the latency. Points that
        are not done have nulls.
        """
        import polars as pl

        number = self.number(sweep)
        names = list(metrics) if metrics is not None else self._shown(number)
        self._require(names, number)
        values = self._frame(
            "SELECT ordinal, concat_ws('.', metric, component) AS name, value FROM results "
            "WHERE sweep = ? AND NOT stale AND concat_ws('.', metric, component) IN "
            "(SELECT unnest(?::VARCHAR[]))",
            [number, names],
        )
        heads = self._frame(
            "SELECT axes, seed, ordinal FROM answers WHERE sweep = ? ORDER BY ordinal", [number]
        )
        wide = values.pivot("name", index="ordinal", values="value") if len(values) else values
        joined = heads.join(wide, on="ordinal", how="left").sort("ordinal").drop("ordinal")
        missing = [pl.lit(None, pl.Float64).alias(n) for n in names if n not in joined.columns]
        return self._with_axes(joined.with_columns(missing), number).select(
            *self._names(number), *names
        )

    def numbers(
        self, metrics: Sequence[str] | None = None, sweep: int | None = None
    ) -> "pl.DataFrame":
        """Return a row per number: metric, component, value, ci95 (half width), unit.

        Numbers of a point are in the order of their names, whoever has simulated it and when.
        `metrics` are names of metrics without components; without them: all.
        """
        number = self.number(sweep)
        chosen: str = ""
        values: list[object] = [number]
        if metrics is not None:
            self._require(list(metrics), number)
            chosen = " AND metric IN (SELECT unnest(?::VARCHAR[]))"
            values.append(list(metrics))
        found = self._frame(
            "SELECT axes, seed, metric, component, value, ci95, unit FROM results "
            f"WHERE sweep = ? AND NOT stale{chosen} "
            "ORDER BY ordinal, metric, component NULLS FIRST",
            values,
        )
        return self._with_axes(found, number)

    def units(self, sweep: int | None = None) -> dict[str, str]:
        """Return the unit of each number that some point has, by its name in `frame`."""
        found = self.connection.rows(
            "SELECT concat_ws('.', metric, component) AS name, any_value(unit) FROM results "
            "WHERE sweep = ? AND NOT stale GROUP BY name ORDER BY name",
            [self.number(sweep)],
        )
        return dict(found)

    def _frame(self, query: str, values: Sequence[object] = ()) -> "pl.DataFrame":
        """Return what a query of this module finds: columns of numbers, texts and times."""
        import polars as pl

        frame = pl.from_arrow(self.connection.arrow(query, values))
        return frame if isinstance(frame, pl.DataFrame) else frame.to_frame()

    def _parsed(self, text: str) -> Any:
        """Return a text of a store as JSON, which other programs may have changed."""
        try:
            return json.loads(text)
        except (TypeError, ValueError):
            raise InputError(
                f"{self.path}: axes of its points are not JSON: {text!r}; another program "
                "changed it"
            ) from None

    def _shown(self, number: int) -> list[str]:
        known = self.units(number)
        shown = [name for name, one in declared.declared().items() if one.headline]
        return [name for name in (*shown, *_LATENCIES) if name in known]

    def _require(self, names: list[str], number: int) -> None:
        known = self.units(number)
        # A metric that this version declares may be missing in these points.
        metrics = {*declared.declared(), *(name.split(".")[0] for name in known)}
        for name in names:
            if name not in known and name.rpartition(":")[2].split(".")[0] not in metrics:
                raise InputError(
                    f"{self.path}: metric '{name}' not found in any point"
                    f"{did_you_mean(name, [*known, *metrics], 3)}; "
                    "names are those of `skipline run --format json`, as METRIC.COMPONENT"
                )

    def _names(self, number: int) -> list[str]:
        return [*(_column(key) for key in self.keys(number)), "seed"]

    def _with_axes(self, frame: "pl.DataFrame", number: int) -> "pl.DataFrame":
        """Replace the column `axes` by one for each key."""
        import polars as pl

        axes: list[dict[str, Any]] = [self._parsed(text) for text in frame["axes"].to_list()]
        columns = [_series(key, [one.get(key) for one in axes]) for key in self.keys(number)]
        return pl.DataFrame([*columns, *frame.drop("axes").get_columns()])

    def _repr_html_(self) -> str:
        """Show the sweeps in a notebook."""
        rows = [tuple(map(str, row)) for row in self.sweeps().drop("started_at", "title").rows()]
        header = ("sweep", "scenario", "axes", "points", "done", "failed", "stale", "missing")
        made_here = identity.simulator()[:8]
        notes = (f"{self.path}; .frame() has a row per point; this simulator is {made_here}",)
        return html_card.card("Sweeps", header, rows, notes, numeric=(0, 3, 4, 5, 6, 7))


def _column(key: str) -> str:
    """Return the column of an axis; `seed` has one of its own."""
    return "axis seed" if key == "seed" else key


def _series(key: str, values: list[Any]) -> "pl.Series":
    """Return a column of numbers or truths where all values are such, else of texts."""
    import polars as pl

    types = {type(value) for value in values if value is not None}
    if types <= {int}:
        return pl.Series(_column(key), values, pl.Int64)
    if types <= {int, float}:
        return pl.Series(_column(key), values, pl.Float64, strict=False)
    if types == {bool}:
        return pl.Series(_column(key), values, pl.Boolean)
    texts = [None if value is None else str(value) for value in values]
    return pl.Series(_column(key), texts, pl.String)
