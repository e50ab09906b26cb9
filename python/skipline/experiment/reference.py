"""Measured numbers of an experiment, looked up by point and metric."""

import csv
import io
from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, ValidationError

from skipline import resources
from skipline._core import InputError
from skipline.experiment.definition import Experiment


class Measured(BaseModel):
    """One measured metric of one point, over `runs` repetitions."""

    model_config = ConfigDict(frozen=True)

    unit: str
    mean: float
    sd: float
    min: float
    max: float
    runs: int


class ReferenceTable:
    """The rows of a reference file that belong to one experiment."""

    def __init__(self, experiment: Experiment, path: str) -> None:
        self._path = path
        self._axes = experiment.axis
        where = experiment.reference.where
        rows = csv.DictReader(io.StringIO(resources.read_text(path)))
        columns = rows.fieldnames or []
        needed = {
            *where,
            *(axis.reference for axis in self._axes),
            "metric",
            *Measured.model_fields,
        }
        if missing := sorted(needed - set(columns)):
            raise InputError(
                f"{path}: column '{missing[0]}' is missing; columns: {', '.join(columns)}"
            )
        self._rows = [
            row for row in rows if all(row[column] == value for column, value in where.items())
        ]

    def find(self, settings: Mapping[str, object], metric: str) -> Measured:
        """Return what was measured at the point with these settings."""
        wanted = {axis.reference: float(str(settings[axis.key])) for axis in self._axes}
        for row in self._rows:
            if row["metric"] == metric and all(
                row[column] and float(row[column]) == value for column, value in wanted.items()
            ):
                return self._parse(row)
        point = ", ".join(f"{column} = {value:g}" for column, value in wanted.items())
        raise InputError(f"{self._path}: no row with metric '{metric}' at {point}")

    def _parse(self, row: Mapping[str, str]) -> Measured:
        try:
            return Measured.model_validate(row)
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            raise InputError(
                f"{self._path}: column '{fault['loc'][0]}' = {fault['input']!r}: {fault['msg']}"
            ) from error
