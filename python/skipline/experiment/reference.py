"""Published numbers of an experiment, looked up by point and metric."""

from collections.abc import Iterable, Mapping

from pydantic import BaseModel, ConfigDict, FiniteFloat, ValidationError

from skipline import resources
from skipline._core import InputError
from skipline.experiment.definition import Experiment, Stated, Value
from skipline.text import csv_text
from skipline.text.nearest import did_you_mean


class Measured(BaseModel):
    """One published metric of one point: measured in `runs` runs, or stated (no runs)."""

    model_config = ConfigDict(frozen=True)

    unit: str
    mean: FiniteFloat
    median: FiniteFloat
    sd: FiniteFloat
    min: FiniteFloat
    max: FiniteFloat
    runs: int


class Published:
    """The measured numbers of an experiment's points: from a table, or stated."""

    def __init__(self, experiment: Experiment, path: str | None) -> None:
        self._experiment = experiment
        self._table = None if path is None else ReferenceTable(experiment, path)
        reference = experiment.reference
        self._stated = reference.stated if reference else []
        self._partial = reference.partial if reference else False
        self._inputs = reference.inputs if reference else {}

    def inputs(self, axes: Mapping[str, Value]) -> dict[str, float]:
        """Return the settings that a point takes from the table: the medians of the runs.

        Where a result depends steeply on a setting, one slow run moves the mean setting to a point
        which no run had.
        """
        found = {key: self._find(axes, metric) for key, metric in self._inputs.items()}
        return {key: entry.median for key, entry in found.items() if entry is not None}

    def at(self, axes: Mapping[str, Value]) -> dict[str, Measured]:
        """Return what is published for a point, by name of the compared metric."""
        pairs = [(metric.name, metric.reference) for metric in self._experiment.metric]
        found = {name: self._find(axes, wanted) for name, wanted in pairs if wanted is not None}
        return {name: entry for name, entry in found.items() if entry is not None}

    def value(self, axes: Mapping[str, Value], metric: str) -> float | None:
        """Return one published number, None where there is none; an unknown metric is refused."""
        known = self.metrics
        if metric not in known:
            hint = did_you_mean(metric, known)
            names = ", ".join(known) or "none"
            raise InputError(f"published metric '{metric}': unknown{hint}; known: {names}")
        entry = self._stated_at(axes, metric)
        if entry is None and self._table is not None:
            entry = self._table.find(axes, metric)
        return None if entry is None else entry.mean

    @property
    def metrics(self) -> list[str]:
        """Names of the published metrics."""
        in_table = [] if self._table is None else self._table.metrics
        return list(dict.fromkeys([*(stated.metric for stated in self._stated), *in_table]))

    def _find(self, axes: Mapping[str, Value], metric: str) -> Measured | None:
        stated = self._stated_at(axes, metric)
        if stated is not None or self._is_only_stated(metric):
            return stated
        if self._table is None:
            raise InputError(
                f"metric reference '{metric}': no [[reference.stated]] has it"
                f"{did_you_mean(metric, self.metrics)}"
            )
        found = self._table.find(axes, metric)
        if found is None and not self._partial:
            raise InputError(self._table.absent(axes, metric))
        return found

    def _is_only_stated(self, metric: str) -> bool:
        return any(stated.metric == metric for stated in self._stated)

    def _stated_at(self, axes: Mapping[str, Value], metric: str) -> Measured | None:
        for stated in self._stated:
            if stated.metric == metric and stated.at.items() <= axes.items():
                value = _stated_value(stated, axes)
                if value is not None:
                    return Measured(
                        unit=stated.unit,
                        mean=value,
                        median=value,
                        sd=0.0,
                        min=value,
                        max=value,
                        runs=0,
                    )
        return None


def _stated_value(stated: Stated, axes: Mapping[str, Value]) -> float | None:
    return next((value for at, value in stated.points if at == axes[stated.along]), None)


class ReferenceTable:
    """The rows of a reference file that belong to one experiment."""

    def __init__(self, experiment: Experiment, path: str) -> None:
        self._path = path
        self._axes = [axis for axis in experiment.axis if axis.reference is not None]
        where = experiment.reference.where if experiment.reference else {}
        rows = csv_text.records(resources.read_text(path))
        columns = rows.fieldnames or []
        used = [axis.reference for axis in self._axes if axis.reference is not None]
        needed = {*where, *used, "metric", *Measured.model_fields}
        if missing := sorted(needed - set(columns)):
            raise InputError(
                f"{path}: column '{missing[0]}' is missing; columns: {', '.join(columns)}"
            )
        self._rows: list[dict[str, str]] = []
        for row in rows:
            cells = len(columns) + len(row.get(None, [])) - sum(it is None for it in row.values())
            if cells != len(columns):
                raise InputError(
                    f"{path}: line {rows.line_num} has {cells} columns, "
                    f"the header has {len(columns)}"
                )
            if all(row[column] == value for column, value in where.items()):
                self._rows.append(row)

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics in the rows."""
        return list(dict.fromkeys(row["metric"] for row in self._rows))

    def find(self, axes: Mapping[str, Value], metric: str) -> Measured | None:
        """Return what was measured at a point, None where there is no row."""
        wanted = [("metric", metric), *self._wanted(axes)]
        found = [
            row for row in self._rows if all(_same(row[column], value) for column, value in wanted)
        ]
        if len(found) > 1:
            point = ", ".join(f"{column} = {value}" for column, value in wanted)
            raise InputError(f"{self._path}: {len(found)} rows with {point}; keep one")
        return self._parse(found[0]) if found else None

    def absent(self, axes: Mapping[str, Value], metric: str) -> str:
        """Return the message that a row is missing."""
        point = ", ".join(f"{column} = {value}" for column, value in self._wanted(axes))
        hint = "" if metric in self.metrics else did_you_mean(metric, self.metrics)
        return f"{self._path}: no row with metric '{metric}' at {point}{hint}"

    def _wanted(self, axes: Mapping[str, Value]) -> Iterable[tuple[str, Value]]:
        for axis in self._axes:
            if axis.reference is not None:
                yield axis.reference, axis.cell(axes[axis.key])

    def _parse(self, row: Mapping[str, str]) -> Measured:
        try:
            return Measured.model_validate(row)
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            raise InputError(
                f"{self._path}: column '{fault['loc'][0]}' = {fault['input']!r}: {fault['msg']}"
            ) from error


def _same(cell: str, value: Value) -> bool:
    """Compare a cell with a value of an axis, as numbers where both are."""
    if cell == str(value):
        return True
    one, other = _number(cell), _number(str(value))
    return one is not None and one == other


def _number(text: str) -> float | None:
    try:
        return float(int(text, 16)) if text.lower().startswith("0x") else float(text)
    except ValueError:
        return None
